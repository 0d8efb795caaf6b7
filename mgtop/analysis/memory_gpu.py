"""Memory of one GPU: peaks by stage, readings at turns, quick falls; bounded."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import msgspec

from mgtop.analysis.memory_figures import Stage
from mgtop.analysis.memory_points import Points

QUICK_NS = 250_000_000
"""A fall of memory within this time is a release at once, not a slow decline."""

REST_NS = 500_000_000
"""A reading so soon after a stage's end still tells what was in use in it."""
POLLED = ("process", "device")

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


class Sample(msgspec.Struct):
    """A reading that waits for its stage; the stage is that of ``stage_ns``."""

    t_ns: int
    what: What
    value: int
    stage_ns: int
    carried: bool = False
    """It is older than its stage: what was in force when that began, or less."""


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
        self.added = 0
        """Readings that ever waited."""
        self.found: tuple[tuple[object, ...], dict[Stage, Peak]] | None = None
        """Peaks with those that wait, and what they were found from."""
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
        self._carried: dict[What, list[Sample]] = {}
        self._resting: dict[What, int] = {}

    def wait(self, t_ns: int, what: What, value: int, stage_ns: int | None = None) -> None:
        """Take a reading, whose stage is decided later."""
        self.added += 1
        self.pending.append(Sample(t_ns, what, value, t_ns if stage_ns is None else stage_ns))
        for sample in self._carried.pop(what, ()):
            sample.value = min(sample.value, value)
        turn = self._resting.pop(what, None)
        if turn is not None and t_ns - turn <= REST_NS:
            self.pending.append(Sample(turn, what, value, turn - 1))

    def turn(self, t_ns: int, at_rest: bool) -> None:
        """A stage begins: what is in use belongs to it, too.

        Readings are old by up to their period: if the next one is lower, that much was surely
        in use when the stage began. ``at_rest``: nothing is allocated in it, so what the next
        reading finds was there when the stage before ended.
        """
        self.added += 1
        for what, value in self.in_use.items():
            sample = Sample(t_ns, what, value, t_ns, carried=True)
            self.pending.append(sample)
            self._carried.setdefault(what, []).append(sample)
        self._resting = dict.fromkeys(POLLED, t_ns) if at_rest else {}

    def all_was(self, stage: Stage) -> None:
        """All that was counted so far belongs to that stage."""
        peaks, self.peaks = self.peaks, {}
        for peak in peaks.values():
            for what in Peak.__struct_fields__:
                found = getattr(peak, what)
                if found is not None:
                    self.note(stage, Sample(found[1], what, found[0], found[1]))

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
