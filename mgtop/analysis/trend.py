"""Does memory rise for good, and how fast? Tests that noise and outliers do not sway.

A row of readings is called *rising* only where all of these hold, over the whole row, its last
three quarters or its last half (the first that fits; a cache that fills up first is left out so):

- The *floor* rises: of the lowest readings of eight equal parts, each is higher than the one
  before, at most one neighbouring pair excepted. An allocator that climbs and gives back, a
  request that returns all it had, or a swing of any kind comes down to its floor again.
- It rises to the end: the last quarter by no less than :data:`LASTS` of the whole's slope, and
  the highest floor is the last one. A key-value window that is full has stopped rising.
- The slope's interval lies above 0, at a false-alarm rate of one in 740 for a row without a
  trend, with the correlation of neighbouring readings allowed for.
- It amounts to something: the caller says to how much.

For a random walk, the worst that noise can be, the eight floors alone are passed about once in
fifty rows; for readings that return to a level, hardly ever. ``python -m benchmarks.memory``
prints how often each kind of noise is called rising.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import NamedTuple

MOST = 96
"""Readings are gathered into so many groups at most for slopes; pairs grow with the square."""
Z = 3.0
"""Of rows without any trend, one in 740 is called rising (one-sided normal tail)."""
Z_INTERVAL = 1.96
"""A slope's interval holds the true one 95 times in 100."""
FEWEST = 24
"""Readings below which nothing is said."""
PARTS = 8
MOST_INVERSIONS = 1
"""Pairs of floors that may stand the wrong way round; none in rows shorter than…"""
SHORT = 96
LASTS = 0.4
STARTS = (0.0, 0.25, 0.5)
"""Where the row that is looked at may begin, as a share of all."""
MARGIN = 0.25
"""What was before a later start may reach into the rise by this share of it."""
NEAR = 0.05
FEWEST_ON_THE_WAY = 5
"""A window fills over so many readings at least; less is an allocation."""

Point = tuple[float, float]


class Slope(NamedTuple):
    """A slope and its 95 % interval, in units of y per x."""

    value: float
    low: float
    high: float
    surely_above_zero: bool


class Rise(NamedTuple):
    """A lasting rise, from the point with this number on."""

    since: int
    slope: Slope


class Plateau(NamedTuple):
    """A rise that has ended: by so much, to this level, by the point with this number."""

    amount: float
    level: float
    by: int


def slope(points: Sequence[Point]) -> Slope | None:
    """The Theil-Sen slope (the median over all pairs of points) with an interval.

    Sen (1968), J. Am. Stat. Assoc. 63, 1379: up to 29 % of the points may be anything; the
    interval is that of ranks, after the same paper. Its variance is widened for readings that
    resemble their neighbours (Hamed and Rao 1998, J. Hydrology 204, 182, with the correlation of
    neighbours alone). None: fewer than three points or two different x.
    """
    few = _gathered(points)
    slopes = sorted(
        (y2 - y1) / (x2 - x1)
        for i, (x1, y1) in enumerate(few)
        for x2, y2 in few[i + 1 :]
        if x2 != x1
    )
    n = len(few)
    if n < 3 or not slopes:
        return None
    middle = _at(slopes, 0.5)
    residuals = [y - middle * x for x, y in few]
    spread = sqrt(_variance([y for _, y in few]) * _widening(residuals))
    count = len(slopes)

    def quantile(z: float) -> float:
        return _at(slopes, min(1.0, max(0.0, 0.5 + z * spread / (2 * count))))

    return Slope(middle, quantile(-Z_INTERVAL), quantile(Z_INTERVAL), quantile(-Z) > 0.0)


def lasting_rise(points: Sequence[Point], least: float) -> Rise | None:
    """The rise by at least ``least`` that the points end with; see the module."""
    for share in STARTS:
        since = int(len(points) * share)
        if len(points) - since < FEWEST:
            return None
        found = _rise(points[since:], least)
        if found is not None and _led_up_to(points, since):
            return Rise(since, found)
    return None


def _led_up_to(points: Sequence[Point], since: int) -> bool:
    """Whether what was before lies below the rise: as a filling cache, not as a swing's peak."""
    if not since:
        return True
    before = sorted(y for _, y in points[:since])
    floors = _floors([y for _, y in points[since:]])
    return _at(before, 0.95) <= floors[0] + MARGIN * (floors[-1] - floors[0])


def _rise(points: Sequence[Point], least: float) -> Slope | None:
    floors = _floors([y for _, y in points])
    inversions = sum(later <= floor for i, floor in enumerate(floors) for later in floors[i + 1 :])
    allowed = MOST_INVERSIONS if len(points) >= SHORT else 0
    if inversions > allowed or floors[-1] != max(floors) or floors[-1] <= floors[-2]:
        return None
    if floors[-1] - floors[0] < least * (PARTS - 1) / PARTS:
        return None
    whole = slope(points)
    last = slope(points[-max(FEWEST // 2, len(points) // 4) :])
    if whole is None or last is None or not whole.surely_above_zero:
        return None
    return whole if last.value >= LASTS * whole.value else None


def plateau(points: Sequence[Point], least: float) -> Plateau | None:
    """The rise by at least ``least`` that ended before the last quarter of the points."""
    n = len(points)
    if n < FEWEST:
        return None
    values = [y for _, y in points]
    tail = values[-max(FEWEST // 2, n // 4) :]
    level, first = median(tail), median(values[:3])
    amount = level - first
    if amount < least or max(tail) - min(tail) > 0.5 * amount:
        return None
    last = slope(points[-len(tail) :])
    if (
        last is not None
        and abs(last.value) * (points[-1][0] - points[-len(tail)][0]) > 0.1 * amount
    ):
        return None
    by = next(i for i, y in enumerate(values) if y >= level - NEAR * amount)
    on_the_way = sum(first + 0.1 * amount < y < level - 0.1 * amount for y in values[:by])
    # It filled over several readings, not at once, and did not come down again.
    if min(values[by:]) < level - 0.5 * amount or on_the_way < FEWEST_ON_THE_WAY:
        return None
    return Plateau(amount, level, by)


# ------------------------------------------------------------------------------- parts


def _floors(values: Sequence[float]) -> list[float]:
    n = len(values)
    return [min(values[i * n // PARTS : (i + 1) * n // PARTS]) for i in range(PARTS)]


def _variance(values: Sequence[float]) -> float:
    """Of Kendall's S for values without a trend (Kendall 1975, corrected for ties)."""
    n = len(values)
    ties: dict[float, int] = {}
    for value in values:
        ties[value] = ties.get(value, 0) + 1
    return (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties.values())) / 18


def _widening(residuals: Sequence[float]) -> float:
    """What correlation of neighbours does to the variance of a trend: (1 + r) / (1 − r).

    Never below 1: swings back and forth do not make a trend surer here. The correlation is
    that of deviations from the middle, cut at three times their usual size.
    """
    middle = median(residuals)
    usual = median(abs(e - middle) for e in residuals)
    if usual <= 0.0:
        return 1.0
    cut = [max(-3 * usual, min(3 * usual, e - middle)) for e in residuals]
    power = sum(e * e for e in cut)
    r = sum(a * b for a, b in pairwise(cut)) / power
    r = min(0.95, max(0.0, r))
    return (1 + r) / (1 - r)


def _at(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _gathered(points: Sequence[Point]) -> list[Point]:
    """At most :data:`MOST` points: medians of neighbours."""
    if len(points) <= MOST:
        return list(points)
    groups: list[Point] = []
    for i in range(MOST):
        lot = points[i * len(points) // MOST : (i + 1) * len(points) // MOST]
        groups.append((median(x for x, _ in lot), median(y for _, y in lot)))
    return groups
