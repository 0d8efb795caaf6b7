"""Spill: at the limit, frames take a multiple of before, and no error was raised.

Drivers move GPU memory to system memory on Windows and under WSL2. The first frames of it are
late ones (the cause ``spill``); when it lasts, that is the pace, and no frame is late any more.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Any

from mgtop.analysis.memory_figures import SpillSummary
from mgtop.wire import records as r

MULTIPLE = 2.0
FEWEST = 4
KEEP = 240


def spills(environment: dict[str, Any]) -> bool | None:
    """Whether drivers of such a system move memory; None: the system is not known."""
    system = " ".join(str(environment.get(key, "")) for key in ("os", "kernel")).lower()
    if not system.strip():
        return None
    return any(word in system for word in ("microsoft", "wsl", "windows"))


class SpillWatch:
    """Compares the pace at the limit with that below it."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._spills = False
        self._below: deque[float] = deque(maxlen=KEEP)
        self._full: deque[float] = deque(maxlen=KEEP)
        self._last: dict[tuple[int, int], int] = {}
        self._slow = 0
        self._since_ns = 0

    def session(self, record: r.SessionStart) -> None:
        """Learn the system."""
        self._spills = bool(spills(record.environment))

    def ended(self, record: r.StreamEnd) -> None:
        """A request is over: no interval leads on from it."""
        self._last.pop((record.proc, record.request), None)

    def emitted(self, record: r.FrameEmit, share: float | None) -> None:
        """An emit, and the share of the fullest GPU in use then."""
        key = (record.proc, record.request)
        before = self._last.pop(key, None)
        self._last[key] = record.t_ns
        if len(self._last) > KEEP:
            del self._last[next(iter(self._last))]
        if not self._spills or share is None or before is None or record.emit < 2:
            return
        interval = (record.t_ns - before) / max(1, record.count)
        if share < self._share:
            self._below.append(interval)
            return
        self._full.append(interval)
        if len(self._below) >= FEWEST and interval >= MULTIPLE * median(self._below):
            self._slow += 1
            self._since_ns = self._since_ns or record.t_ns

    def found(self, start_ns: int) -> SpillSummary | None:
        """The spill, if frames at the limit are slow by the multiple; times since ``start_ns``."""
        if self._slow < FEWEST or len(self._below) < FEWEST:
            return None
        slower = median(self._full) / median(self._below)
        if slower < MULTIPLE:
            return None
        return SpillSummary(
            frames=self._slow, t_ms=(self._since_ns - start_ns) / 1e6, slower=slower
        )

    @property
    def since_ns(self) -> int:
        """When the first slow frame at the limit ended; 0: never."""
        return self._since_ns
