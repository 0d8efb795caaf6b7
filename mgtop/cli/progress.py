"""How far something long has come, and how long it will take, on a terminal's error stream."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mgtop.report.page import clean

_SILENT_S = 1.5
"""What takes no longer than this is not told of."""
_EVERY_S = 0.25


@contextmanager
def reading_of(session: Path) -> Iterator[Callable[[float], None] | None]:
    """Show how far the reading of a session has come, where somebody sees it.

    Gives what to call with the share that is done, 0 to 1; None where nobody sees it. The line is
    wiped away at the end.
    """
    if not sys.stderr.isatty():
        yield None
        return
    began = told_at = time.monotonic()
    shown = False

    def told(share: float) -> None:
        nonlocal told_at, shown
        now = time.monotonic()
        if now - began < _SILENT_S or now - told_at < _EVERY_S:
            return
        told_at, shown = now, True
        left = ""
        if share > 0.02:
            left = f", {_duration((now - began) * (1 - share) / share)} left"
        sys.stderr.write(f"\r\x1b[Kmgtop: reading {clean(session.name)}: {100 * share:.0f} %{left}")
        sys.stderr.flush()

    try:
        yield told
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min"
