"""What is offered, before any protocol: families of points with labels."""

from __future__ import annotations

from typing import Literal

import msgspec

Labels = tuple[tuple[str, str], ...]


class HistogramValue(msgspec.Struct, frozen=True):
    """A histogram at a moment, cumulative over time.

    Attributes:
        bounds: upper bounds of the buckets but the last, which has none.
        counts: of each bucket alone.
        exponential: counts by index of base-2 buckets of ``schema``: index i holds what is above
            2^((i−1)/2^schema), up to 2^(i/2^schema).
        zeros: values up to ``zero_threshold``, which are in no exponential bucket.
    """

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float
    schema: int
    exponential: tuple[tuple[int, int], ...]
    zeros: int
    zero_threshold: float

    @property
    def count(self) -> int:
        """All values."""
        return sum(self.counts)


class Point(msgspec.Struct, frozen=True):
    """One value, or one histogram, of a family."""

    labels: Labels
    value: float | HistogramValue


class Family(msgspec.Struct, frozen=True):
    """A metric. Names end in their unit; those of counters in ``_total`` after it."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    unit: str = ""
    points: tuple[Point, ...] = ()
