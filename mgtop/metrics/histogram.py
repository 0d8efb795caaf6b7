"""A histogram in two forms at once: fixed buckets, and exponential ones that need no choice."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

from mgtop.metrics.families import HistogramValue

SCHEMA = 3
"""Eight exponential buckets for each doubling: a quantile is off by 4.4 % at the most."""
ZERO_THRESHOLD = 1e-4
LARGEST = 1e5
"""Seconds; what is outside of both counts at the border: 30 doublings, 240 buckets at most."""


class Histogram:
    """Counts values that are seen once; nothing is ever taken back.

    Args:
        bounds: upper bounds of the fixed buckets, ascending.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0
        self._exponential: dict[int, int] = {}
        self._zeros = 0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value
        if value <= ZERO_THRESHOLD:
            self._zeros += 1
            return
        index = math.ceil(math.log2(min(value, LARGEST)) * (1 << SCHEMA))
        self._exponential[index] = self._exponential.get(index, 0) + 1

    def value(self) -> HistogramValue:
        """What was counted so far."""
        return HistogramValue(
            bounds=self._bounds,
            counts=tuple(self._counts),
            total=self._total,
            schema=SCHEMA,
            exponential=tuple(sorted(self._exponential.items())),
            zeros=self._zeros,
            zero_threshold=ZERO_THRESHOLD,
        )
