"""For all tests: no test is timed, so a busy machine makes none of them fail."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
