"""Counted intervals, added up: by the number of frames of their emit, and in time."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.analysis.statistics import Part, Samples, TimeUnion, quantile_of, quantiles_of
from mgtop.analysis.summary import FrameInterval, Quantiles

MOST_NEW = 4_096
"""So many intervals wait to be sorted at most, though nobody asks."""


class Totals:
    """Intervals of any number of requests.

    Attributes:
        count: intervals that were added.
        frames: frames of their emits.
        time: the time that they cover, overlapping requests counted once.
    """

    __slots__ = ("_by_kind", "count", "frames", "time")

    def __init__(self) -> None:
        self._by_kind: dict[tuple[int, float | None], Samples] = {}
        """Durations (ns) by frames of the emit and target fps."""
        self.count = 0
        self.frames = 0
        self.time = TimeUnion()

    def add(self, end_ns: int, duration_ns: int, count: int, fps: float | None) -> None:
        """Add one interval; what was spent waiting for a person is not in ``duration_ns``."""
        kind = (count, fps)
        samples = self._by_kind.get(kind)
        if samples is None:
            samples = self._by_kind[kind] = Samples(kind="q")
        samples.add(duration_ns)
        self.count += 1
        if not self.count % MOST_NEW:
            samples.settle()
        self.frames += count
        self.time.add(end_ns - duration_ns, end_ns)

    def absorb(self, other: Totals) -> None:
        """Add all that another one holds."""
        for kind, samples in other._by_kind.items():
            mine = self._by_kind.setdefault(kind, Samples(kind="q"))
            mine.extend(samples)
            mine.settle()
        self.count += other.count
        self.frames += other.frames
        for begin, end in other.time.segments():
            self.time.add(begin, end)

    # ------------------------------------------------------------------------- questions

    def commonest(self) -> int | None:
        """The number of frames that most emits have (the larger, where two are even)."""
        sizes = self._sizes()
        if not sizes:
            return None
        return max(sizes, key=lambda size: (sum(map(len, sizes[size])), size))

    def intervals(self) -> Quantiles:
        """Intervals of the commonest size, ms."""
        size = self.commonest()
        return Quantiles() if size is None else quantiles_of(_in_ms(self._sizes()[size]))

    def by_size(self) -> dict[str, Quantiles]:
        """Intervals of every size, ms."""
        return {
            str(size): quantiles_of(_in_ms(found)) for size, found in sorted(self._sizes().items())
        }

    def per_frame(self) -> FrameInterval:
        """Interval / frames, each frame counting once, ms."""
        parts: list[Part] = [(s, count * 1e6, count) for (count, _), s in self._by_kind.items()]
        return FrameInterval(count=self.frames, p50=quantile_of(parts, 0.5))

    def fps(self) -> float | None:
        """Frames per second of counted time."""
        length = self.time.length_ns
        return self.frames * 1e9 / length if length else None

    def pace(self) -> float | None:
        """P50 of interval / (frames / target fps): above 1 is slower than the target."""
        parts: list[Part] = [
            (samples, count * 1e9 / fps, 1)
            for (count, fps), samples in self._by_kind.items()
            if fps is not None
        ]
        return quantile_of(parts, 0.5)

    def time_ns(self) -> int:
        """All intervals, added up."""
        return int(sum(samples.total() for samples in self._by_kind.values()))

    def lost_ns(self) -> float:
        """What all intervals last beyond the median of their size, added up."""
        lost = 0.0
        for found in self._sizes().values():
            median = quantile_of([(samples, 1.0, 1) for samples in found], 0.5)
            assert median is not None
            for samples in found:
                rank = samples.not_above(median)
                lost += samples.sum_from(rank) - (len(samples) - rank) * median
        return lost

    def _sizes(self) -> dict[int, list[Samples]]:
        sizes: dict[int, list[Samples]] = {}
        for (count, _), samples in self._by_kind.items():
            sizes.setdefault(count, []).append(samples)
        return sizes


def _in_ms(found: Sequence[Samples]) -> list[Part]:
    return [(samples, 1e6, 1) for samples in found]
