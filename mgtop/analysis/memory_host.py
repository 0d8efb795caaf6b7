"""RAM of the target's processes, by the same stages; it is no GPU memory.

Resident memory, summed over the tree: pages that processes share count once for each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from mgtop.analysis.memory_figures import Stage
from mgtop.analysis.memory_points import Point, Points
from mgtop.wire import records as r

MOST_PENDING = 4_096
GOOD_FOR_NS = 5_000_000_000
"""How old a reading may be to stand for an emit."""


class HostLog:
    """Peaks by stage, readings at turns, and points at emits."""

    def __init__(self) -> None:
        self.peaks: dict[Stage, tuple[int, int]] = {}
        self.readings: dict[str, int] = {}
        self.points = Points()
        self.last: r.HostMemory | None = None
        self._pending: deque[tuple[int, int]] = deque(maxlen=MOST_PENDING)
        self._recent: deque[tuple[int, int]] = deque(maxlen=64)

    def read(self, record: r.HostMemory) -> None:
        """Take a reading."""
        self.last = record
        if record.tree_rss_bytes is not None:
            self._pending.append((record.t_ns, record.tree_rss_bytes))
            self._recent.append((record.t_ns, record.tree_rss_bytes))

    def emitted(self, frames: int, t_ns: int) -> None:
        """An emit of the steady stage."""
        used = self._at(t_ns)
        if used is not None:
            self.points.add(Point(frames, t_ns, host=used))

    def turned(self, t_ns: int) -> None:
        """A stage began: what is in use belongs to both."""
        used = self._at(t_ns)
        if used is not None:
            self._pending.append((t_ns, used))

    def all_was(self, stage: Stage) -> None:
        """All that was counted so far belongs to that stage."""
        peaks, self.peaks = self.peaks, {}
        for used, t_ns in peaks.values():
            note(self.peaks, stage, used, t_ns)

    def turn(self, name: str, t_ns: int) -> None:
        """Fix one of the four readings."""
        used = self._at(t_ns)
        if used is not None:
            self.readings[name] = used

    def _at(self, t_ns: int) -> int | None:
        for at_ns, used in reversed(self._recent):
            if at_ns <= t_ns:
                return used if t_ns - at_ns <= GOOD_FOR_NS else None
        return None

    def flush(self, until_ns: int, stage_at: Callable[[int], Stage]) -> None:
        """Count readings up to a time in their stages."""
        while self._pending and self._pending[0][0] <= until_ns:
            t_ns, used = self._pending.popleft()
            note(self.peaks, stage_at(t_ns), used, t_ns)

    def by_stage(self, stage_at: Callable[[int], Stage]) -> dict[Stage, tuple[int, int]]:
        """Peaks, with the readings that still wait for their stage."""
        peaks = dict(self.peaks)
        for t_ns, used in self._pending:
            note(peaks, stage_at(t_ns), used, t_ns)
        return peaks

    def limit_bytes(self) -> int | None:
        """Of the target's cgroup, else of the machine."""
        if self.last is None:
            return None
        limit = self.last.cgroup_limit_bytes
        return min(limit, self.last.total_bytes) if limit else self.last.total_bytes

    def left_bytes(self) -> int | None:
        """What is still free for the target, by the newest reading."""
        last = self.last
        if last is None:
            return None
        left = last.available_bytes
        if last.cgroup_limit_bytes and last.cgroup_bytes is not None:
            left = min(left, max(0, last.cgroup_limit_bytes - last.cgroup_bytes))
        return left


def note(peaks: dict[Stage, tuple[int, int]], stage: Stage, used: int, t_ns: int) -> None:
    """Keep the higher reading of a stage."""
    before = peaks.get(stage)
    if before is None or used > before[0]:
        peaks[stage] = (used, t_ns)
