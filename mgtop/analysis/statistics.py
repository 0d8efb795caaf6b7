"""Order statistics, exact over all that was added."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain
from math import log
from typing import Literal

from mgtop.analysis.summary import Quantiles

CHUNK = 1_024
"""Values are held in sorted pieces of about this length, so that one more is cheap."""
MANY = 64
"""From so many new values of a piece on, sorting it anew is quicker than inserting them."""
SHORT = 1 << 32
"""Whole numbers below this are held in 4 bytes: as nanoseconds, up to 4.29 s."""


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
    return between(ordered[low], ordered[high], position - low)


def between(a: float, b: float, t: float) -> float:
    """The point ``t`` (0 to 1) of the way from ``a`` to ``b``, to numpy's last bit."""
    return b - (b - a) * (1 - t) if t >= 0.5 else a + (b - a) * t


class Samples:
    """Values of one quantity, kept in order: 8 bytes each, 4 for whole numbers that fit.

    New values wait unsorted until somebody asks, so that reading a long log is quick, and
    asking four times a second is, too. Whoever adds many calls :meth:`settle` now and then.

    Args:
        values: the first ones.
        kind: ``q`` for whole numbers (their sums are exact), ``d`` for floats.
    """

    __slots__ = ("_chunks", "_kind", "_maxima", "_new", "_starts", "_sums", "add")

    add: Callable[[float], None]
    """Add a value."""

    def __init__(self, values: Iterable[float] = (), kind: Literal["d", "q"] = "d") -> None:
        self._kind = kind
        self._chunks: list[array[float]] = []
        self._maxima: list[float] = []
        self._sums: list[float] = []
        self._starts: list[int] | None = None
        """Rank of each piece's first value; None: to be counted again."""
        self._new: array[float] = array(kind, values)
        self.add = self._new.append

    def __len__(self) -> int:
        return sum(map(len, self._chunks)) + len(self._new)

    def __iter__(self) -> Iterator[float]:
        """The values, ascending."""
        self.settle()
        return chain.from_iterable(self._chunks)

    def extend(self, values: Iterable[float]) -> None:
        """Add several values."""
        self._new.extend(values)

    def total(self) -> float:
        """Sum of all values."""
        self.settle()
        return sum(self._sums)

    def at(self, rank: int) -> float:
        """The value of a rank, from 0.

        Raises:
            IndexError: there are not so many.
        """
        self.settle()
        starts = self._ranks()
        chunk = bisect_right(starts, rank) - 1
        return self._chunks[chunk][rank - starts[chunk]]

    def below(self, limit: float, divisor: float = 1.0) -> int:
        """How many values divided by ``divisor`` (more than 0) are less than ``limit``."""
        return self._count(bisect_left, limit, divisor)

    def not_above(self, limit: float, divisor: float = 1.0) -> int:
        """How many values divided by ``divisor`` (more than 0) are at most ``limit``."""
        return self._count(bisect_right, limit, divisor)

    def sum_from(self, rank: int) -> float:
        """Sum of the values from a rank on."""
        self.settle()
        starts = self._ranks()
        if not starts:
            return 0
        chunk = bisect_right(starts, rank) - 1
        return sum(self._sums[chunk + 1 :]) + sum(self._chunks[chunk][rank - starts[chunk] :])

    def median(self) -> float | None:
        """P50; None where there is no value."""
        return quantile_of([(self, 1.0, 1)], 0.5)

    def quantiles(self) -> Quantiles:
        """P50, P95, P99, maximum and count."""
        return quantiles_of([(self, 1.0, 1)])

    # --------------------------------------------------------------------------- inside

    def settle(self) -> None:
        """Put what is new in its place."""
        new = self._new
        if not new:
            return
        self._starts = None
        if not self._chunks:
            self._chunks = self._cut(sorted(new))
            self._maxima = [chunk[-1] for chunk in self._chunks]
            self._sums = [sum(chunk) for chunk in self._chunks]
        elif len(new) < MANY:
            for value in new:
                at = min(bisect_left(self._maxima, value), len(self._chunks) - 1)
                self._insert(at, (value,))
        else:
            self._merge(sorted(new))
        del new[:]

    def _merge(self, new: list[float]) -> None:
        """Put ascending values in their places, the last piece first."""
        end = len(new)
        for at in range(len(self._chunks) - 1, -1, -1):
            begin = bisect_right(new, self._maxima[at - 1], 0, end) if at else 0
            if begin < end:
                self._insert(at, new[begin:end])
                end = begin

    def _insert(self, at: int, values: Sequence[float]) -> None:
        """Put values that belong into a piece there."""
        chunk = self._chunks[at]
        if len(values) < MANY and self._code(values) in (chunk.typecode, "I"):
            for value in values:
                insort(chunk, value)
        else:
            ordered = sorted(chain(chunk, values))
            chunk = self._chunks[at] = array(self._code(ordered), ordered)
        if len(chunk) < 2 * CHUNK:
            self._maxima[at] = chunk[-1]
            self._sums[at] += sum(values)
            return
        pieces = self._cut(chunk)
        self._chunks[at : at + 1] = pieces
        self._maxima[at : at + 1] = [piece[-1] for piece in pieces]
        self._sums[at : at + 1] = [sum(piece) for piece in pieces]

    def _cut(self, ordered: Sequence[float]) -> list[array[float]]:
        """Pieces of ascending values."""
        pieces = (ordered[at : at + CHUNK] for at in range(0, len(ordered), CHUNK))
        return [array(self._code(piece), piece) for piece in pieces]

    def _code(self, ordered: Sequence[float]) -> str:
        """How to hold ascending values."""
        short = self._kind == "q" and ordered[0] >= 0 and ordered[-1] < SHORT
        return "I" if short else self._kind

    def _ranks(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *accumulate(map(len, self._chunks))][:-1]
        return self._starts

    def _count(self, bisect: Callable[..., int], limit: float, divisor: float) -> int:
        self.settle()
        starts = self._ranks()

        def divided(value: float) -> float:
            return value / divisor

        at = bisect(self._maxima, limit, key=divided)
        if at == len(starts):
            return len(self)
        return starts[at] + bisect(self._chunks[at], limit, key=divided)


Part = tuple[Samples, float, int]
"""Values, what each is divided by, and how many equal ones it stands for."""


def quantile_of(parts: Sequence[Part], q: float) -> float | None:
    """A quantile of the values of several :class:`Samples` as if they were one.

    Each value is divided by its part's divisor and counts as often as its part's weight
    says. None where there is no value. Nothing is merged: time grows with the logarithm of
    the number of values.
    """
    parts = [part for part in parts if len(part[0])]
    total = sum(len(samples) * weight for samples, _, weight in parts)
    if not total:
        return None
    position = q * (total - 1)
    low = math.floor(position)
    if len(parts) == 1:
        ((samples, divisor, weight),) = parts
        a = samples.at(low // weight) / divisor
        b = samples.at(min(low + 1, total - 1) // weight) / divisor
        return between(a, b, position - low)
    a = _select(parts, low)
    passed = sum(samples.not_above(a, d) * weight for samples, d, weight in parts)
    if low + 1 < passed or low + 1 >= total:
        b = a
    else:
        ranks = [(samples, d, samples.not_above(a, d)) for samples, d, _ in parts]
        b = min(samples.at(rank) / d for samples, d, rank in ranks if rank < len(samples))
    return between(a, b, position - low)


def quantiles_of(parts: Sequence[Part]) -> Quantiles:
    """P50, P95, P99, maximum and count of several :class:`Samples` as if they were one."""
    return Quantiles(
        count=sum(len(samples) * weight for samples, _, weight in parts),
        p50=quantile_of(parts, 0.50),
        p95=quantile_of(parts, 0.95),
        p99=quantile_of(parts, 0.99),
        max=quantile_of(parts, 1.0),
    )


def _select(parts: Sequence[Part], rank: int) -> float:
    """The value of a rank (from 0) among all; each step halves what is left of one part."""
    windows = [(0, len(samples)) for samples, _, _ in parts]
    while True:
        sizes = [(high - low) * part[2] for (low, high), part in zip(windows, parts, strict=True)]
        widest = max(range(len(parts)), key=sizes.__getitem__)
        samples, divisor, _ = parts[widest]
        pivot = samples.at(sum(windows[widest]) // 2) / divisor
        below = [samples.below(pivot, d) for samples, d, _ in parts]
        upto = [samples.not_above(pivot, d) for samples, d, _ in parts]
        less = sum(n * part[2] for n, part in zip(below, parts, strict=True))
        passed = sum(n * part[2] for n, part in zip(upto, parts, strict=True))
        if rank < less:
            windows = [(lo, min(hi, n)) for (lo, hi), n in zip(windows, below, strict=True)]
        elif rank < passed:
            return pivot
        else:
            windows = [(max(lo, n), hi) for (lo, hi), n in zip(windows, upto, strict=True)]


class TimeUnion:
    """Length of the union of time intervals; quick where they come in the order of time."""

    __slots__ = ("_begins", "_ends", "length_ns")

    def __init__(self) -> None:
        self._begins = array("q")
        self._ends = array("q")
        self.length_ns = 0

    def add(self, begin_ns: int, end_ns: int) -> None:
        """Add an interval; touching ones become one, so that few are held."""
        begins, ends = self._begins, self._ends
        if end_ns <= begin_ns:
            return
        if not ends or begin_ns > ends[-1]:
            begins.append(begin_ns)
            ends.append(end_ns)
            self.length_ns += end_ns - begin_ns
            return
        if begin_ns >= begins[-1]:  # the usual case, kept short
            if end_ns > ends[-1]:
                self.length_ns += end_ns - ends[-1]
                ends[-1] = end_ns
            return
        first = bisect_left(ends, begin_ns)
        last = bisect_right(begins, end_ns)
        if first < last:
            begin_ns, end_ns = min(begin_ns, begins[first]), max(end_ns, ends[last - 1])
        self.length_ns -= sum(ends[first:last]) - sum(begins[first:last])
        self.length_ns += end_ns - begin_ns
        begins[first:last] = array("q", [begin_ns])
        ends[first:last] = array("q", [end_ns])

    def segments(self) -> Iterator[tuple[int, int]]:
        """The disjoint intervals, ascending."""
        return zip(self._begins, self._ends, strict=True)


EXACT = 1_024
STEP = 0.01
"""Steps of the coarse medians of :class:`Typical`; half of it is their relative error."""
_STEPS_PER_E = 1 / math.log1p(STEP)


class Typical:
    """The median of many values in little memory.

    Exact up to :data:`EXACT` values; beyond, values are counted in steps of 1 %, so that the
    median is right to 0.5 %. Values below 1 count as 0.
    """

    __slots__ = ("_count", "_exact", "_steps")

    def __init__(self) -> None:
        self._exact: array[int] | None = array("q")
        self._steps: dict[int, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, value: int) -> None:
        """Add a value (0 or more)."""
        self._count += 1
        if self._exact is None:
            step = round(log(value) * _STEPS_PER_E) if value >= 1 else -1
            self._steps[step] = self._steps.get(step, 0) + 1
            return
        self._exact.append(value)
        if len(self._exact) > EXACT:
            known, self._exact, self._count = self._exact, None, 0
            for old in known:
                self.add(old)

    def median(self) -> float | None:
        """The median; None where there is no value."""
        if not self._count:
            return None
        if self._exact is not None:
            return quantile(sorted(self._exact), 0.5)
        passed = 0
        for step in sorted(self._steps):
            passed += self._steps[step]
            if 2 * passed >= self._count:
                break
        return 0.0 if step < 0 else math.exp(step / _STEPS_PER_E)
