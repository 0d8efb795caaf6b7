"""Where the tails stand: that is evidence of its own.

The same index in every request, or a fixed period, points to per-frame work or allocation;
random places to CPU supply and scheduling; only the start of the session to warm-up.

All three tests ask one question: T tails stand among N emits. If every set of T places were
equally likely, how often would a certain class of s places hold h of them or more? That is the
tail of a hypergeometric distribution, exact. The classes are one index in all requests, one
phase of one period, and the first tenth of the session; what was tried is corrected for
(Bonferroni), so that random places are called a pattern in at most 1 % of sessions.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Sequence

import msgspec

from mgtop.analysis.summary import Placement

FALSE_ALARMS = 0.01
"""Random places are called a pattern at most this often."""
TESTS = 3
FEWEST_TAILS = 5
FEWEST_REQUESTS = 3
LONGEST_PERIOD = 500
NEWEST = 200
"""A period is looked for in the newest tails, so many at most."""
FILLED = 0.6
"""A pattern must be there most of the time: in this share of its places, and of the tails."""
START_SHARE = 0.1
START_FILLED = 0.8
"""Of the tails, for a stutter of the start alone."""


class Place(msgspec.Struct, frozen=True):
    """One tail: its request (ordinal in the session), emit and frame index in the request.

    ``axis`` is the number of the emit in the session, ``rank`` how many intervals of the
    statistics came before it.
    """

    request: int
    emit: int
    index: int
    axis: int
    rank: int


class Field(msgspec.Struct, frozen=True):
    """Where tails could have stood.

    ``intervals``: those of the statistics; ``requests``: how many they are of; ``longest``:
    intervals of the longest one.
    """

    intervals: int
    requests: int
    longest: int


class Period(msgspec.Struct, frozen=True):
    """Tails that stand ``period`` emits apart, or multiples of it."""

    period: int
    hits: int
    in_requests: bool
    """Counted from each request's beginning; else from the session's."""


class Places:
    """Tails by place; cheap to ask again while the session goes on."""

    def __init__(self) -> None:
        self._by_index: dict[int, tuple[int, int]] = {}
        """Requests with a tail at an index, and the last of them."""
        self._commonest = (0, 0)
        """Requests, and minus the index."""
        self._ranks = array("q")
        self._newest: deque[Place] = deque(maxlen=NEWEST)
        self._periods: tuple[list[Period], int] | None = None
        """What was found among the newest, and how many classes were tried."""

    def __len__(self) -> int:
        return len(self._ranks)

    def add(self, tail: Place) -> None:
        """Add a tail."""
        requests, last = self._by_index.get(tail.index, (0, -1))
        if tail.request != last:
            self._by_index[tail.index] = (requests + 1, tail.request)
            self._commonest = max(self._commonest, (requests + 1, -tail.index))
        insort(self._ranks, tail.rank)
        self._newest.append(tail)
        self._periods = None

    def judge(self, field: Field, warmup_tails: int = 0) -> Placement:
        """Which pattern the tails show; of several, the one that explains most of them.

        Args:
            field: where they could have stood.
            warmup_tails: tails in the warm-up, which are not among them.
        """
        if not self._ranks and warmup_tails:
            return Placement(kind="start")
        if len(self) < FEWEST_TAILS:
            return Placement()
        found = [*self._fixed(field), *self._periodic(field), *self._start(field)]
        lowest = min((p for p, _, _ in found), default=1.0)
        sure = [(-share, p, made) for p, share, made in found if p * TESTS <= FALSE_ALARMS]
        if sure:
            _, p, made = min(sure, key=lambda item: item[:2])
            return msgspec.structs.replace(made, p_value=p * TESTS)
        return Placement(kind="random", p_value=min(1.0, lowest * TESTS))

    # Each test: (chance of such a pattern by random places, share of the tails that are in
    # it, the pattern), or nothing where it is not there at all.

    def _fixed(self, field: Field) -> list[tuple[float, float, Placement]]:
        """One frame index that is a tail in most requests."""
        hits, index = self._commonest[0], -self._commonest[1]
        if hits < max(FEWEST_REQUESTS, FILLED * field.requests):
            return []
        chance = at_least(hits, field.intervals, field.requests, len(self))
        p = min(1.0, field.longest * chance)
        return [(p, hits / len(self), Placement(kind="fixed", index=index))]

    def _periodic(self, field: Field) -> list[tuple[float, float, Placement]]:
        """A distance in emits at which the tails come again and again."""
        if self._periods is None:
            self._periods = _periods(list(self._newest))
        found, tried = self._periods
        drawn = len(self._newest)
        since = 0 if drawn == len(self) else min(tail.rank for tail in self._newest)
        intervals = field.intervals - since
        result = []
        for period in found:
            extra = field.requests if period.in_requests else 1
            slots = intervals // period.period + extra
            p = min(1.0, tried * at_least(period.hits, intervals, slots, drawn))
            made = Placement(kind="periodic", period=period.period)
            result.append((p, period.hits / drawn, made))
        return result

    def _start(self, field: Field) -> list[tuple[float, float, Placement]]:
        """Most tails in the first tenth of the session."""
        first = math.ceil(START_SHARE * field.intervals)
        early = bisect_left(self._ranks, first)
        if early < START_FILLED * len(self):
            return []
        p = at_least(early, field.intervals, first, len(self))
        return [(p, early / len(self), Placement(kind="start"))]


def _periods(tails: Sequence[Place]) -> tuple[list[Period], int]:
    """Periods that fill most of their places and hold most of the tails; classes tried."""
    by_request: dict[int, list[int]] = {}
    for tail in tails:
        by_request.setdefault(tail.request, []).append(tail.emit)
    ways = [(True, [sorted(emits) for emits in by_request.values()])]
    if len(by_request) > 1:
        ways.append((False, [sorted(tail.axis for tail in tails)]))
    found: list[Period] = []
    tried = 0
    for in_requests, rows in ways:
        longest = max(row[-1] - row[0] for row in rows)
        if len(rows) == 1:
            longest //= FEWEST_TAILS - 1
        longest = min(LONGEST_PERIOD, longest)
        tried += sum(range(2, longest + 1))  # every phase of every period
        for period in _worth_trying(rows, longest):
            hits = _hits(rows, period, len(tails))
            if hits:
                found.append(Period(period, hits, in_requests))
    return found, tried


def _worth_trying(rows: list[list[int]], longest: int) -> range:
    """Periods that can be found in rows of places at all (this saves time, and no more).

    In one row, h hits stand in h / :data:`FILLED` slots or fewer, and are at least as far
    apart as the closest h places.
    """
    if len(rows) > 1:
        return range(2, longest + 1)
    (row,) = rows
    hits = math.ceil(FILLED * len(row))
    closest = min(last - first for first, last in zip(row, row[hits - 1 :], strict=False))
    shortest = math.floor(FILLED * closest / len(row))
    return range(max(2, shortest), min(longest, (row[-1] - row[0]) // max(1, hits - 1)) + 1)


def _hits(rows: list[list[int]], period: int, total: int) -> int:
    """Tails in the fullest phase of a period; 0 where that is no pattern."""
    phases = Counter(place % period for row in rows for place in row)
    phase, hits = max(phases.items(), key=lambda item: item[1])
    if hits < max(FEWEST_TAILS, FILLED * total):
        return 0
    slots = streams = 0
    for row in rows:
        mine = [place for place in row if place % period == phase]
        if mine:
            streams += 1
            slots += (mine[-1] - mine[0]) // period + 1
    # Two equal distances make a period; less is the same few places in each request.
    return hits if hits >= 3 * streams and hits >= FILLED * slots else 0


def at_least(hits: int, places: int, marked: int, drawn: int) -> float:
    """P(at least ``hits`` of ``drawn`` different places are among the ``marked`` ones).

    The upper tail of the hypergeometric distribution, summed from its exact terms; numbers
    that contradict each other are brought into range.
    """
    places = max(places, drawn, 1)
    marked = min(marked, places)
    lowest, highest = max(0, drawn + marked - places), min(drawn, marked)
    if hits <= lowest:
        return 1.0
    if hits > highest:
        return 0.0
    term = math.exp(
        _log_choose(marked, hits)
        + _log_choose(places - marked, drawn - hits)
        - _log_choose(places, drawn)
    )
    total = 0.0
    for k in range(hits, highest + 1):
        total += term
        if term < total * 1e-17:
            break
        term *= (marked - k) * (drawn - k) / ((k + 1) * (places - marked - drawn + k + 1))
    return min(1.0, total)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
