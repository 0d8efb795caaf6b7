"""For processes that work beside a recording: they must never be felt."""

from __future__ import annotations

import contextlib
import os


def give_way() -> None:
    """Run only on a core that nobody else wants."""
    os.nice(19)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
