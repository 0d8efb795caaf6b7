"""Memory of one GPU: peaks by stage, readings at turns, quick falls; bounded."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec

from mgtop.analysis.memory_figures import Stage
from mgtop.analysis.memory_points import Points

QUICK_NS = 250_000_000
"""A fall of memory within this time is a release at once, not a slow decline."""

What = str
"""``process``, ``device``, ``allocated`` or ``reserved``."""


class Peak(msgspec.Struct):
    """Highest readings of one stage, each with its time; bytes."""

    process: tuple[int, int] | None = None
    device: tuple[int, int] | None = None
    allocated: tuple[int, int] | None = None
    reserved: tuple[int, int] | None = None

    def copy(self) -> Peak:
        """An independent copy."""
        return Peak(self.process, self.device, self.allocated, self.reserved)


class Sample(msgspec.Struct, frozen=True):
    """A reading that waits for its stage; the stage is that of ``stage_ns``."""

    t_ns: int
    what: What
    value: int
    stage_ns: int


class Reading(NamedTuple):
    """What was in use at a turn; bytes."""

    t_ns: int
    process: int | None
    allocated: int | None
    reserved: int | None


class GpuLog:
    """Memory of one GPU (NVML index, or −1 − CUDA ordinal where NVML is not there)."""

    def __init__(self) -> None:
        self.peaks: dict[Stage, Peak] = {}
        self.pending: deque[Sample] = deque()
        self.points = Points()
        self.falls = 0
        """Quick falls of device memory while requests ran near the limit."""
        self.readings: dict[str, Reading] = {}
        """By turn: what was in force then."""
        self.in_use: dict[What, int] = {}
        """Newest readings by source."""
        self.others_peak: int | None = None
        """The most that other programs had."""
        self._recent: deque[tuple[int, int]] = deque()
        self._fallen_ns = 0

    def wait(self, t_ns: int, what: What, value: int, stage_ns: int | None = None) -> None:
        """Take a reading, whose stage is decided later."""
        self.pending.append(Sample(t_ns, what, value, t_ns if stage_ns is None else stage_ns))

    def note(self, stage: Stage, sample: Sample) -> None:
        """Count a reading in its stage."""
        peak = self.peaks.setdefault(stage, Peak())
        before = getattr(peak, sample.what)
        if before is None or sample.value > before[0]:
            setattr(peak, sample.what, (sample.value, sample.t_ns))

    def fall(self, t_ns: int, used: int, least: float, limit: float | None) -> None:
        """Watch device memory for a quick fall of at least ``least`` bytes from near ``limit``."""
        recent = self._recent
        while recent and recent[0][0] < t_ns - QUICK_NS:
            recent.popleft()
        highest = max((value for _, value in recent), default=used)
        is_fall = highest - used >= least and (limit is None or highest >= limit)
        if is_fall and t_ns - self._fallen_ns > QUICK_NS:
            self.falls += 1
            self._fallen_ns = t_ns
        while recent and recent[-1][1] <= used:
            recent.pop()
        recent.append((t_ns, used))
