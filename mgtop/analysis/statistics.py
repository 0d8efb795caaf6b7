"""Order statistics, exact over all that was added."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence

from mgtop.analysis.summary import Quantiles

FEW = 64
"""So many new values are inserted one by one; more are sorted in together."""


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile of ascending values by linear interpolation between order statistics.

    As numpy's default: Hyndman and Fan, *Sample Quantiles in Statistical Packages* (1996),
    definition 7.

    Raises:
        IndexError: there is no value.
    """
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    a, b = ordered[low], ordered[high]
    t = position - low
    # Which end to start from matters in the last bit; this is what numpy does.
    return b - (b - a) * (1 - t) if t >= 0.5 else a + (b - a) * t


class Samples:
    """Values of one quantity, kept in order: 8 bytes each.

    New values wait unsorted until somebody asks, so that reading a long log is quick, and
    asking four times a second is, too.
    """

    __slots__ = ("_new", "_ordered")

    def __init__(self, values: Iterable[float] = ()) -> None:
        self._ordered = array("d", sorted(values))
        self._new: list[float] = []

    def __len__(self) -> int:
        return len(self._ordered) + len(self._new)

    def add(self, value: float) -> None:
        """Add a value."""
        self._new.append(value)

    def ordered(self) -> array[float]:
        """All values, ascending."""
        new = self._new
        if len(new) > FEW:
            self._ordered = array("d", sorted([*self._ordered, *new]))
        else:
            for value in new:
                insort(self._ordered, value)
        new.clear()
        return self._ordered

    def median(self) -> float | None:
        """P50; None where there is no value."""
        ordered = self.ordered()
        return quantile(ordered, 0.5) if ordered else None

    def quantiles(self, scale: float = 1.0) -> Quantiles:
        """P50, P95, P99, maximum and count; values times ``scale``."""
        ordered = self.ordered()
        if not ordered:
            return Quantiles()
        return Quantiles(
            count=len(ordered),
            p50=quantile(ordered, 0.50) * scale,
            p95=quantile(ordered, 0.95) * scale,
            p99=quantile(ordered, 0.99) * scale,
            max=ordered[-1] * scale,
        )


def merged(parts: Sequence[Samples]) -> Samples:
    """The values of several, as one (which is itself, if it is the only one)."""
    filled = [part for part in parts if len(part)]
    if len(filled) == 1:
        return filled[0]
    return Samples(value for part in filled for value in part.ordered())


def weighted_median(values: Iterable[tuple[float, int]]) -> float | None:
    """The median of values that each stand for ``weight`` equal ones; None without any."""
    ordered = sorted(values)
    total = sum(weight for _, weight in ordered)
    if total == 0:
        return None
    position = 0.5 * (total - 1)
    low = math.floor(position)
    a = b = ordered[-1][0]
    passed = 0
    for value, weight in ordered:
        if passed <= low < passed + weight:
            a = value
        if passed <= low + 1 < passed + weight:
            b = value
            break
        passed += weight
    return a + (b - a) * (position - low)


class TimeUnion:
    """Length of the union of time intervals that come roughly in the order of their ends."""

    __slots__ = ("_segments", "length_ns")

    def __init__(self) -> None:
        self._segments: list[tuple[int, int]] = []
        self.length_ns = 0

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Add an interval; touching ones become one, so that few are held."""
        segments = self._segments
        at = bisect_left(segments, (begin_ns, begin_ns))
        if at and segments[at - 1][1] >= begin_ns:
            at -= 1
        last = at
        while last < len(segments) and segments[last][0] <= end_ns:
            begin, end = segments[last]
            self.length_ns -= end - begin
            begin_ns, end_ns = min(begin_ns, begin), max(end_ns, end)
            last += 1
        segments[at:last] = [(begin_ns, end_ns)]
        self.length_ns += end_ns - begin_ns

    def segments(self) -> list[tuple[int, int]]:
        """The disjoint intervals, ascending."""
        return list(self._segments)
