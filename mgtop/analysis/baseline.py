"""The usual interval of a stream, and the rule by which one is too long.

With x = interval / frames of an emit, x is above the rule where it exceeds both ``ratio`` ×
the median of the recent x and that median + ``floor`` / frames. The median is robust: tails
do not drag it. Eight in a row above the rule (or below it by as much) are no tails but a
*level shift*: the baseline starts anew, with those eight.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from statistics import median
from typing import Literal

from mgtop.config.structs import Detect

SHIFT_LENGTH = 8
ENOUGH = 8
"""With fewer recent emits, a baseline says little, and what comes later serves as well."""
FEW = 3
"""So many intervals make a level that a run of others can leave."""

Side = Literal["usual", "above", "below"]


class RecentMedian:
    """The median of the last ``length`` values, kept in order."""

    __slots__ = ("_length", "_oldest", "_ordered", "_values")

    def __init__(self, length: int) -> None:
        self._length = length
        self._values: list[float] = []
        self._oldest = 0
        """Where the oldest value is, once there are ``length``."""
        self._ordered: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: float) -> None:
        """Add the newest value; the oldest one goes."""
        values, ordered = self._values, self._ordered
        if len(values) < self._length:
            values.append(value)
        else:
            at = self._oldest
            del ordered[bisect_left(ordered, values[at])]
            values[at] = value
            self._oldest = (at + 1) % self._length
        insort(ordered, value)

    def __iter__(self) -> Iterator[float]:
        """The values, ascending."""
        return iter(self._ordered)

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self._ordered.clear()
        self._oldest = 0

    def median(self) -> float | None:
        """None where there is no value."""
        ordered = self._ordered
        middle = len(ordered) >> 1
        if len(ordered) & 1:
            return ordered[middle]
        return (ordered[middle - 1] + ordered[middle]) / 2 if ordered else None

    def median_without(self, value: float) -> float | None:
        """The median of all but one of this value (of all, where there is none)."""
        ordered = self._ordered
        at = bisect_left(ordered, value)
        if at == len(ordered) or ordered[at] != value:
            return self.median()
        rest = ordered[:at] + ordered[at + 1 :]
        return median(rest) if rest else None


def side_of(x: float, count: int, median: float, detect: Detect) -> Side:
    """On which side of the rule ``x`` (ns per frame, of ``count`` frames) lies."""
    ratio = detect.ratio
    if x > ratio * median:
        return "above" if x > median + detect.floor_ms * 1e6 / count else "usual"
    if x * ratio < median:
        return "below" if x + detect.floor_ms * 1e6 / count < median else "usual"
    return "usual"


class Baseline:
    """What is usual in one stream of emits.

    Attributes:
        shifts: level shifts so far.
        since_ns: where the present level began (0: with the stream).
        row: the last intervals, as far as they all lie on the same side of the rule.
    """

    __slots__ = ("_detect", "_recent", "_row_begin_ns", "_side", "_withheld", "row", "shifts",
                 "since_ns")  # fmt: skip

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._recent = RecentMedian(detect.history)
        self.row: list[float] = []
        self._side: Side = "usual"
        self._row_begin_ns = 0
        self._withheld = False
        """The run is not among the recent ones yet: while these are few, it would drag them."""
        self.shifts = 0
        self.since_ns = 0

    def median(self) -> float | None:
        """The usual interval per frame, ns; None where nothing is known."""
        return self._recent.median()

    def median_of_level(self, x: float) -> float | None:
        """The median per frame, ns, of the level before a run (but one of this length)."""
        return self._recent.median_without(x)

    def median_of_others(self, x: float | None = None) -> float | None:
        """The median per frame, ns, of all that are held (but one of this length)."""
        if not self._withheld:
            return self._recent.median() if x is None else self._recent.median_without(x)
        held = sorted([*self._recent, *self.row])
        if x in held:
            held.remove(x)
        return median(held) if held else None

    @property
    def known(self) -> int:
        """Intervals that are held."""
        return len(self._recent) + (len(self.row) if self._withheld else 0)

    @property
    def settled(self) -> bool:
        """Whether there are enough recent intervals to judge the next one at once."""
        return len(self._recent) >= ENOUGH

    @property
    def run_above(self) -> int:
        """How many of the last intervals were all above the rule: tails, or a shift to come."""
        return len(self.row) if self._side == "above" else 0

    def completes_shift(self, x: float, count: int) -> bool:
        """Whether this interval, if added next, makes the run long enough for a shift."""
        if len(self.row) < SHIFT_LENGTH - 1:
            return False
        return self._side_of(x, count, self._recent.median()) == self._side

    def add(self, x: float, count: int, begin_ns: int) -> tuple[Side, float | None]:
        """Add the next interval per frame; it began at ``begin_ns``.

        Returns on which side of the rule it lies, and the median that it was compared with.
        """
        usual = self._recent.median()
        side: Side = "usual"
        ratio = self._detect.ratio
        if usual is not None and (x > ratio * usual or x * ratio < usual):
            side = self._side_of(x, count, usual)
        if self.row and side != self._side:
            self.end_run()
        if side == "usual":
            self._recent.add(x)
            return side, usual
        if not self.row:
            self._side, self._row_begin_ns = side, begin_ns
            self._withheld = not self.settled
        self.row.append(x)
        if not self._withheld:
            self._recent.add(x)
        if len(self.row) == SHIFT_LENGTH:
            self.shifts += 1
            self.since_ns = self._row_begin_ns
            self._recent.clear()
            self._withheld = True
            self.end_run()
        return side, usual

    def forget(self) -> None:
        """Let go of all that was recent: nothing more comes."""
        self._recent.clear()
        self.row.clear()
        self._side, self._withheld = "usual", False

    def _side_of(self, x: float, count: int, median: float | None) -> Side:
        if median is None or len(self._recent) < FEW:
            return "usual"
        side = side_of(x, count, median, self._detect)
        # A few long ones at first are no level that the rest has left.
        return "usual" if side == "below" and not self.settled else side

    def end_run(self) -> None:
        """The row of intervals on one side of the rule is over, and was no level shift."""
        if self._withheld:
            for x in self.row:
                self._recent.add(x)
        self.row.clear()
        self._side, self._withheld = "usual", False
