"""For all tests: no test is timed, so a busy machine makes none of them fail."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

_PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture(autouse=True)
def no_subreaper() -> Iterator[None]:
    """A test that ran ``mgtop run --headless`` in this process leaves it no parent of orphans.

    Those of later tests would stay as zombies, which count as running.
    """
    yield
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
