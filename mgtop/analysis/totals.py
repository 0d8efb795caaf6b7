"""Intervals of requests, added up so that any set of requests can be summarised."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.analysis.statistics import Samples, TimeUnion, merged, quantile, weighted_median
from mgtop.analysis.summary import FrameInterval, Quantiles


class Totals:
    """Counted intervals: by the number of frames of their emit, and the time they cover."""

    def __init__(self) -> None:
        self.by_count: dict[int, Samples] = {}
        self.paces = Samples()
        """Interval / (frames / target fps), where a target is known."""
        self.frames = 0
        self.time = TimeUnion()

    def add(self, begin_ns: int, duration_ns: int, count: int, fps: float | None) -> None:
        """Add one interval; what was spent waiting for a person is not in ``duration_ns``."""
        samples = self.by_count.get(count)
        if samples is None:
            samples = self.by_count[count] = Samples()
        samples.add(duration_ns)
        self.frames += count
        if fps is not None:
            self.paces.add(duration_ns * fps / (count * 1e9))
        self.time.add(begin_ns, begin_ns + duration_ns)

    def absorb(self, other: Totals) -> None:
        """Add all that another one holds."""
        for count, samples in other.by_count.items():
            mine = self.by_count.setdefault(count, Samples())
            for value in samples.ordered():
                mine.add(value)
        for pace in other.paces.ordered():
            self.paces.add(pace)
        self.frames += other.frames
        for begin, end in other.time.segments():
            self.time.add(begin, end)

    @property
    def count(self) -> int:
        """Intervals added."""
        return sum(len(samples) for samples in self.by_count.values())


class Combined:
    """Several :class:`Totals` as one."""

    def __init__(self, parts: Sequence[Totals]) -> None:
        self._parts = [part for part in parts if part.count]
        counts = sorted({count for part in self._parts for count in part.by_count})
        self.by_count = {
            count: merged([p.by_count[count] for p in self._parts if count in p.by_count])
            for count in counts
        }
        self.frames = sum(part.frames for part in self._parts)

    def commonest(self) -> int | None:
        """The number of frames that most emits have (the larger, where two are even)."""
        if not self.by_count:
            return None
        return max(self.by_count, key=lambda count: (len(self.by_count[count]), count))

    def intervals(self) -> Quantiles:
        """Intervals of the commonest size, ms."""
        count = self.commonest()
        return Quantiles() if count is None else self.by_count[count].quantiles(1e-6)

    def by_size(self) -> dict[str, Quantiles]:
        """Intervals of every size, ms."""
        return {str(count): found.quantiles(1e-6) for count, found in self.by_count.items()}

    def per_frame(self) -> FrameInterval:
        """Interval / frames, each frame counting once, ms."""
        if len(self.by_count) == 1:
            ((count, samples),) = self.by_count.items()
            median = samples.median()
            p50 = None if median is None else median / count / 1e6
        else:
            p50 = weighted_median(
                (value / count / 1e6, count)
                for count, samples in self.by_count.items()
                for value in samples.ordered()
            )
        return FrameInterval(count=self.frames, p50=p50)

    def fps(self) -> float | None:
        """Frames per second of counted time, overlapping requests counted once."""
        if len(self._parts) == 1:
            length = self._parts[0].time.length_ns
        else:
            union = TimeUnion()
            for part in self._parts:
                for begin, end in part.time.segments():
                    union.add(begin, end)
            length = union.length_ns
        return self.frames * 1e9 / length if length else None

    def pace(self) -> float | None:
        """P50 of interval / (frames / target fps): above 1 is slower than the target."""
        return merged([part.paces for part in self._parts]).median()

    def time_ns(self) -> float:
        """All counted intervals, added up."""
        return sum(sum(samples.ordered()) for samples in self.by_count.values())

    def lost_ns(self) -> float:
        """What all intervals last beyond the median of their size, added up."""
        lost = 0.0
        for samples in self.by_count.values():
            ordered = samples.ordered()
            above = ordered[len(ordered) // 2 :]
            lost += max(0.0, sum(above) - len(above) * quantile(ordered, 0.5))
        return lost
