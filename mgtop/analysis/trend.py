"""Does a row of readings rise, and how fast? Tests that outliers do not sway."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import median

MOST = 96
"""Readings are gathered into so many groups at most; pairs grow with the square."""
Z = 3.0
"""Of rows without any trend, one in 740 is called rising (one-sided normal tail)."""


def slope(points: Sequence[tuple[float, float]]) -> float | None:
    """The Theil-Sen slope: the median over all pairs of points (x, y).

    Sen (1968), J. Am. Stat. Assoc. 63, 1379. Up to 29 % of the points may be anything.
    None: fewer than two different x.
    """
    few = _gathered(points)
    slopes = [
        (y2 - y1) / (x2 - x1)
        for i, (x1, y1) in enumerate(few)
        for x2, y2 in few[i + 1 :]
        if x2 != x1
    ]
    return median(slopes) if slopes else None


def rises(values: Sequence[float]) -> bool:
    """Whether values rise, by the Mann-Kendall test.

    Mann (1945), Econometrica 13, 245: S is the number of later-is-higher pairs less that
    of later-is-lower ones; its variance is corrected for ties (Kendall 1975). For
    independent readings without a trend, S / √var exceeds :data:`Z` once in 740.
    """
    few = [y for _, y in _gathered([(float(i), value) for i, value in enumerate(values)])]
    n = len(few)
    if n < 8:
        return False
    s = sum(
        (later > value) - (later < value) for i, value in enumerate(few) for later in few[i + 1 :]
    )
    ties: dict[float, int] = {}
    for value in few:
        ties[value] = ties.get(value, 0) + 1
    variance = (
        n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties.values())
    ) / 18
    return variance > 0 and (s - 1) / sqrt(variance) > Z


def _gathered(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most :data:`MOST` points: medians of neighbours."""
    if len(points) <= MOST:
        return list(points)
    groups: list[tuple[float, float]] = []
    for i in range(MOST):
        lot = points[i * len(points) // MOST : (i + 1) * len(points) // MOST]
        groups.append((median(x for x, _ in lot), median(y for _, y in lot)))
    return groups
