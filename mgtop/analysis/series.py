"""Readings over time in bounded memory, at several resolutions.

A key keeps five rings of time buckets, from 20 ms for the last minute to two minutes for
two weeks; a bucket holds the lowest, the highest and the last reading in it as 32-bit
floats. That is 420 kB per key, whatever the rate and however long the session.

A reading holds until the next one, or until it is stale: from then on there is a gap, and
nothing is drawn across it. A reading without a period (an event) holds only at its time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, isnan, nan
from typing import NamedTuple

from mgtop.analysis.live import Series

LEVELS: tuple[tuple[int, int], ...] = (
    (20_000_000, 3_000),
    (100_000_000, 6_000),
    (1_000_000_000, 7_200),
    (10_000_000_000, 8_640),
    (120_000_000_000, 10_080),
)
"""Width of a bucket (ns) and number of buckets, finest first."""

STALE_PERIODS = 3
_MOST_WAITING = 128


_EMPTY = array("f", [nan]) * max(size for _, size in LEVELS)


class _Ring:
    """Buckets of one width; those that fall out of the ring are forgotten."""

    __slots__ = ("complete", "high", "last", "low", "newest", "oldest", "size", "width_ns")

    def __init__(self, width_ns: int, size: int) -> None:
        self.width_ns, self.size = width_ns, size
        self.low = array("f", [nan]) * size
        self.high = array("f", [nan]) * size
        self.last = array("f", [nan]) * size
        self.newest = -1
        self.oldest = -1
        self.complete = True
        """Nothing was forgotten yet."""

    def put(self, first: int, last: int, value: float, held: bool = False) -> None:
        """Merge a value into the buckets from number ``first`` to ``last``.

        ``held``: an older reading still in force, not one of these times.
        """
        if self.newest < 0:
            self.newest = self.oldest = first
        elif last > self.newest:
            self._advance(last)
        for bucket in range(max(first, self.newest - self.size + 1), last + 1):
            at = bucket % self.size
            low = self.low[at]
            if isnan(low):
                self.low[at] = self.high[at] = value
            elif value < low:
                self.low[at] = value
            elif value > self.high[at]:
                self.high[at] = value
            if not held:
                self.last[at] = value
        self.oldest = max(min(self.oldest, first), self.newest - self.size + 1)

    def merge(self, before: _Reading | None, readings: Sequence[_Reading]) -> None:
        """Merge readings in the order of time; ``before``: the one that came before them."""
        width, size, lows, highs, lasts = self.width_ns, self.size, self.low, self.high, self.last
        newest = at = -1
        low = high = last = nan
        if before is not None:
            newest = before.t_ns // width
            at = newest % size
            low, high, last = lows[at], highs[at], lasts[at]
        for reading in readings:
            t_ns, value, _, begin_ns = reading
            bucket = t_ns // width
            if begin_ns is not None and begin_ns // width == newest and begin_ns < t_ns:
                low, high, last = min(low, value), max(high, value), value
            if bucket == newest:
                if value < low:
                    low = value
                elif value > high:
                    high = value
                last = value
                before = reading
                continue
            if before is None:
                self.newest = self.oldest = bucket
            else:
                lows[at], highs[at], lasts[at] = low, high, last
                if bucket - newest > 1:
                    self._between(before, reading, newest, bucket)
                elif bucket - size + 1 > self.oldest:
                    self.oldest, self.complete = bucket - size + 1, False
                self.newest = bucket
            newest, at = bucket, bucket % size
            low = high = last = value
            before = reading
        lows[at], highs[at], lasts[at] = low, high, last

    def _between(self, before: _Reading, reading: _Reading, newest: int, bucket: int) -> None:
        """Fill the buckets that two readings leave between them."""
        width = self.width_ns
        self._advance(bucket)
        held = min((before.t_ns + before.hold_ns) // width, bucket - 1)
        if held > newest:
            self.put(newest + 1, held, before.value, held=True)
        if reading.begin_ns is not None:
            first = max(reading.begin_ns // width, newest + 1, self.oldest)
            last = min((reading.t_ns - 1) // width, bucket - 1)
            if first <= last:
                self.put(first, last, reading.value)

    def _advance(self, to: int) -> None:
        number = min(to - self.newest, self.size)
        begin = (to - number + 1) % self.size
        until_end = min(number, self.size - begin)
        for first, count in ((begin, until_end), (0, number - until_end)):
            if count:
                empty = _EMPTY[:count]
                self.low[first : first + count] = empty
                self.high[first : first + count] = empty
                self.last[first : first + count] = empty
        self.newest = to
        if to - self.size + 1 > self.oldest:
            self.oldest = to - self.size + 1
            self.complete = False

    def holds(self, t_ns: int) -> bool:
        """Whether all that there was from ``t_ns`` on is still here."""
        return self.complete or self.oldest * self.width_ns <= t_ns


class _Kept(NamedTuple):
    """Columns as they were the last time, so that only those that changed are gathered again."""

    begin_ns: int
    step_ns: int
    ring: _Ring
    until_ns: int
    """What came in the order of time since then changes nothing before this."""
    low: list[float | None]
    high: list[float | None]


class _Reading(NamedTuple):
    """One that waits to be merged, in the order of time."""

    t_ns: int
    value: float
    hold_ns: int
    begin_ns: int | None
    """Of something that lasted; None: a reading."""


class _Channel:
    """One key.

    Readings wait until somebody looks, or there are many: merging them ring by ring takes a
    fraction of the time that merging one into all rings takes.
    """

    def __init__(self) -> None:
        self.rings = [_Ring(width, size) for width, size in LEVELS]
        self.t_ns: int | None = None
        self.value = nan
        self.period_ns: int | None = None
        self.hold_ns = 0
        self._waiting: list[_Reading] = []
        self._merged: _Reading | None = None
        """The newest one that is in the rings."""
        self._kept: _Kept | None = None
        self._late_ns: int | None = None
        """The earliest time, before the newest reading, that changed since columns were kept."""

    def add(
        self, t_ns: int, value: float, period_ns: int | None, hold_ns: int | None = None
    ) -> None:
        if self.t_ns is not None and t_ns < self.t_ns:
            self.settle()
            for ring in self.rings:
                bucket = t_ns // ring.width_ns
                if bucket > ring.newest - ring.size:  # else: forgotten already
                    ring.put(bucket, bucket, value)
            self._changed(t_ns)
            return
        if hold_ns is None:
            hold_ns = STALE_PERIODS * period_ns if period_ns else 0
        self._take(t_ns, value, period_ns, hold_ns, None)

    def cover(self, begin_ns: int, end_ns: int, value: float) -> None:
        """Something lasted from ``begin_ns`` to ``end_ns``: all buckets under it show it."""
        if self.t_ns is not None and begin_ns < self.t_ns:  # beside another one
            self.add(end_ns, value, None)
            self.settle()
            for ring in self.rings:
                first, last = begin_ns // ring.width_ns, (end_ns - 1) // ring.width_ns
                first = max(first, ring.oldest)
                if first <= last <= ring.newest:
                    ring.put(first, last, value)
        else:
            self._take(end_ns, value, None, 0, begin_ns)
        self._changed(begin_ns)

    def _take(
        self, t_ns: int, value: float, period_ns: int | None, hold_ns: int, begin_ns: int | None
    ) -> None:
        self.t_ns, self.value, self.period_ns, self.hold_ns = t_ns, value, period_ns, hold_ns
        self._waiting.append(_Reading(t_ns, value, hold_ns, begin_ns))
        if len(self._waiting) >= _MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Merge what waits; before anything is read from the rings."""
        if self._waiting:
            for ring in self.rings:
                ring.merge(self._merged, self._waiting)
            self._merged = self._waiting[-1]
            self._waiting = []

    def _changed(self, t_ns: int) -> None:
        if self._late_ns is None or t_ns < self._late_ns:
            self._late_ns = t_ns

    def columns(
        self, begin_ns: int, step_ns: int, n: int
    ) -> tuple[list[float | None], list[float | None]]:
        """Lowest and highest of ``n`` columns of ``step_ns`` each; there is a reading."""
        ends = [begin_ns + step_ns * i for i in range(n + 1)]
        ring = _ring_for(self, begin_ns, ends[1])
        low: list[float | None] = []
        high: list[float | None] = []
        if ring is not _ring_for(self, ends[-2], ends[-1]) or not ring.holds(begin_ns):
            for begin, end in pairwise(ends):
                lowest, highest = _column(self, _ring_for(self, begin, end), begin, end)
                low.append(lowest)
                high.append(highest)
            return low, high
        kept = self._kept
        if kept is not None and kept.step_ns == step_ns and kept.ring is ring:
            ahead, rest = divmod(begin_ns - kept.begin_ns, step_ns)
            if rest == 0 and ahead >= 0:
                until_ns = kept.until_ns
                if self._late_ns is not None:
                    until_ns = min(until_ns, self._late_ns)
                # The bucket of that time began up to its width before.
                number = min(n, max(0, (until_ns - ring.width_ns - begin_ns) // step_ns))
                low, high = kept.low[ahead : ahead + number], kept.high[ahead : ahead + number]
        for begin, end in pairwise(ends[len(low) :]):
            lowest, highest = _column(self, ring, begin, end)
            low.append(lowest)
            high.append(highest)
        assert self.t_ns is not None
        self._kept = _Kept(begin_ns, step_ns, ring, self.t_ns, low, high)
        self._late_ns = None
        return list(low), list(high)


class Store:
    """Readings by key; see :meth:`add` and :meth:`columns`."""

    def __init__(self) -> None:
        self._channels: dict[str, _Channel] = {}
        self._units: dict[str, str] = {}
        self._limits: dict[str, float | None] = {}
        self._reasons: dict[str, str | None] = {}

    def add(
        self,
        key: str,
        t_ns: int,
        value: float,
        period_ns: int | None = None,
        hold_ns: int | None = None,
    ) -> None:
        """Add one reading. ``period_ns``: when the next one was made (None: an event).

        ``hold_ns``: how long it is good for; three periods, unless readings that do not
        change are left out.

        Readings of one key come in the order of time; one that comes late is still merged
        into its bucket, but holds nothing. What is no finite number is left out.
        """
        if not isfinite(value):
            return
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = _Channel()
        channel.add(t_ns, value, period_ns, hold_ns)

    def add_span(self, key: str, begin_ns: int, end_ns: int, value: float) -> None:
        """Add a value of something that lasted, as an interval: it fills its whole time."""
        channel = self._channels.get(key)
        if channel is None:
            channel = self._channels[key] = _Channel()
        channel.cover(begin_ns, end_ns, value)

    def describe(
        self, key: str, unit: str, limit: float | None = None, reason: str | None = None
    ) -> None:
        """Say what a key's numbers are, where their scale ends, and why there are none."""
        self._units[key] = unit
        self._limits[key] = limit
        self._reasons[key] = reason

    def keys(self) -> list[str]:
        """Keys that were described or have readings, in order of appearance."""
        return list(dict.fromkeys([*self._units, *self._channels]))

    def columns(
        self, key: str, begin_ns: int, end_ns: int, n: int, seen_ns: int | None = None
    ) -> Series:
        """``n`` columns of the time from ``begin_ns`` (included) to ``end_ns`` (not).

        The age is that at ``seen_ns``, where that is before the end.

        A column takes the buckets that begin in it, of the coarsest ring that is finer
        than the column and still holds that time. Where only coarser buckets are left,
        all columns under a bucket show its extremes: wider than true, never narrower.
        """
        low: list[float | None] = [None] * n
        high: list[float | None] = [None] * n
        channel = self._channels.get(key)
        last: float | None = None
        age_ns: int | None = None
        stale = False
        period_ns: int | None = None
        if channel is not None and channel.t_ns is not None:
            channel.settle()
            period_ns = channel.period_ns
            if n and (end_ns - begin_ns) % n == 0 and end_ns > begin_ns:
                low, high = channel.columns(begin_ns, (end_ns - begin_ns) // n, n)
            else:
                for i in range(n):
                    begin = begin_ns + (end_ns - begin_ns) * i // n
                    end = begin_ns + (end_ns - begin_ns) * (i + 1) // n
                    ring = _ring_for(channel, begin, end)
                    low[i], high[i] = _column(channel, ring, begin, end)
            last, at_ns = _newest(channel, end_ns)
            if at_ns is not None:
                seen_ns = end_ns if seen_ns is None else min(seen_ns, end_ns)
                age_ns = max(0, seen_ns - at_ns)
                stale = period_ns is not None and age_ns > channel.hold_ns
        return Series(
            name=key,
            unit=self._units.get(key, ""),
            high=high,
            low=low,
            last=last,
            age_ns=age_ns,
            period_ns=period_ns,
            limit=self._limits.get(key),
            reason=self._reasons.get(key) if last is None or stale else None,
            stale=stale,
        )


def _column(
    channel: _Channel, ring: _Ring, begin_ns: int, end_ns: int
) -> tuple[float | None, float | None]:
    low, high = nan, nan
    width = ring.width_ns
    if width <= end_ns - begin_ns:
        first, last = -(-begin_ns // width), -(-end_ns // width) - 1
    else:
        first, last = begin_ns // width, max(begin_ns, end_ns - 1) // width
    for bucket in range(max(first, ring.oldest), min(last, ring.newest) + 1):
        at = bucket % ring.size
        value = ring.low[at]
        if not isnan(value):
            low = value if isnan(low) or value < low else low
            value = ring.high[at]
            high = value if isnan(high) or value > high else high
    assert channel.t_ns is not None
    if isnan(low) and channel.t_ns <= begin_ns < channel.t_ns + channel.hold_ns:
        # The newest reading holds up to now, which no later reading has written down yet.
        low = high = channel.value
    return (None, None) if isnan(low) else (low, high)


def _ring_for(channel: _Channel, begin_ns: int, end_ns: int) -> _Ring:
    holding = [ring for ring in channel.rings if ring.holds(begin_ns)]
    if not holding:
        return channel.rings[-1]
    fine = [ring for ring in holding if ring.width_ns <= end_ns - begin_ns]
    return fine[-1] if fine else holding[0]


def _newest(channel: _Channel, end_ns: int) -> tuple[float | None, int | None]:
    """The newest reading not later than ``end_ns`` and its time (to a bucket's width)."""
    assert channel.t_ns is not None
    if channel.t_ns <= end_ns:
        return channel.value, channel.t_ns
    for ring in channel.rings:
        bucket = end_ns // ring.width_ns - 1
        if not ring.oldest <= bucket:
            continue
        for number in range(min(bucket, ring.newest), ring.oldest - 1, -1):
            value = ring.last[number % ring.size]
            if not isnan(value):
                return value, min(end_ns, (number + 1) * ring.width_ns)
    return None, None
