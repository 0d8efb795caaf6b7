"""The usual interval of a stream, and the rule by which one is too long.

With x = interval / frames of an emit, x is above the rule where it exceeds both ``ratio`` ×
the median of the recent x and that median + ``floor`` / frames. The median is robust: tails
do not drag it. Eight in a row above the rule (or below it by as much) are no tails but a
*level shift*: the baseline starts anew.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from typing import Literal

from mgtop.analysis.statistics import quantile
from mgtop.config.structs import Detect

SHIFT_LENGTH = 8
ENOUGH = 8
"""With fewer recent emits, a baseline says little, and what comes later serves as well."""
FEWEST_OTHERS = 2
"""With one other interval, nobody can say which of the two is the unusual one."""

Side = Literal["usual", "above", "below"]


class RecentMedian:
    """The median of the last ``length`` values, kept in order."""

    __slots__ = ("_length", "_ordered", "_values")

    def __init__(self, length: int) -> None:
        self._length = length
        self._values: deque[float] = deque()
        self._ordered: list[float] = []

    def __len__(self) -> int:
        return len(self._values)

    def add(self, value: float) -> None:
        """Add the newest value; the oldest one goes."""
        self._values.append(value)
        insort(self._ordered, value)
        if len(self._values) > self._length:
            oldest = self._values.popleft()
            del self._ordered[bisect_left(self._ordered, oldest)]

    def clear(self) -> None:
        """Forget all."""
        self._values.clear()
        self._ordered.clear()

    def median(self) -> float | None:
        """None where there is no value."""
        return quantile(self._ordered, 0.5) if self._ordered else None

    def median_without(self, value: float) -> float | None:
        """The median of all but one occurrence of ``value``."""
        at = bisect_left(self._ordered, value)
        rest = self._ordered[:at] + self._ordered[at + 1 :]
        return quantile(rest, 0.5) if rest else None


def side_of(x: float, count: int, median: float, detect: Detect) -> Side:
    """On which side of the rule ``x`` (ns per frame, of ``count`` frames) lies."""
    floor = detect.floor_ms * 1e6 / count
    if x > detect.ratio * median and x > median + floor:
        return "above"
    if x * detect.ratio < median and x + floor < median:
        return "below"
    return "usual"


class Baseline:
    """What is usual in one stream of emits.

    Attributes:
        shifts: level shifts so far.
        since_ns: where the baseline began (after a level shift).
    """

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._recent = RecentMedian(detect.history)
        self._run: list[float] = []
        self._run_side: Side = "usual"
        self._run_begin_ns = 0
        self.shifts = 0
        self.since_ns = 0

    def median(self) -> float | None:
        """The usual interval per frame, ns; the run in progress left out."""
        return self._recent.median()

    @property
    def known(self) -> int:
        """Intervals that the median rests on."""
        return len(self._recent)

    @property
    def settled(self) -> bool:
        """Whether there are enough recent intervals to judge the next one at once."""
        return len(self._recent) >= ENOUGH

    def add(self, x: float, count: int, begin_ns: int) -> Literal["usual", "above", "shift"]:
        """Add the next interval per frame.

        Returns ``above`` where it is too long by what is known now (then it may still turn
        out to be part of a level shift), ``shift`` where it completes one.
        """
        median = self._recent.median()
        side = "usual" if median is None else side_of(x, count, median, self._detect)
        if not self.settled:
            # Too little is known to tell a shift from scatter; the caller judges later.
            self._recent.add(x)
            return "usual"
        if side == "usual" or side != self._run_side:
            self._end_run()
        if side == "usual":
            self._recent.add(x)
            return "usual"
        if not self._run:
            self._run_side, self._run_begin_ns = side, begin_ns
        self._run.append(x)
        if len(self._run) >= SHIFT_LENGTH:
            self.shifts += 1
            self.since_ns = self._run_begin_ns
            self._recent.clear()
            self._end_run()
            return "shift"
        return "above" if side == "above" else "usual"

    def _end_run(self) -> None:
        for x in self._run:
            self._recent.add(x)
        self._run.clear()
        self._run_side = "usual"

    @property
    def in_run(self) -> bool:
        """Whether the last intervals were all above the rule: tails, or a shift to come."""
        return bool(self._run) and self._run_side == "above"

    def early_median(self, x: float) -> float | None:
        """The median of all other intervals known, for one of the first few.

        None where there are too few others to say anything.
        """
        if len(self._recent) <= FEWEST_OTHERS:
            return None
        return self._recent.median_without(x)
