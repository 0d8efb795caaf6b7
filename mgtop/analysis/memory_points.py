"""What was in use at emits, thinned evenly, and how it rises."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import msgspec

from mgtop.analysis.memory_figures import Curve, Filled, Growth
from mgtop.analysis.trend import FEWEST, lasting_rise, plateau, slope

MIB = 1 << 20
MOST = 512
"""Points that are kept; beyond, every other one is dropped."""
AT_ONCE = 8
"""Long rows are judged anew at every eighth point only: a judgement takes a millisecond."""
PACE_OVER, PACE_APART = 40, 8

LEAST_MIB: dict[Curve, tuple[float, float]] = {
    "allocated": (8.0, 0.001),
    "process": (16.0, 0.0025),
    "reserved": (16.0, 0.0025),
    "host": (16.0, 0.01),
}
"""A rise counts from so many MiB on, and from this share of what is in use."""
CURVES: tuple[Curve, ...] = ("allocated", "process", "reserved")
"""The order in which curves are asked: the allocator's changes with each tensor."""


class Point(msgspec.Struct, frozen=True):
    """What was in use at an emit in the steady stage; bytes."""

    frames: int
    """Frames of the whole session up to and with this emit."""
    t_ns: int
    process: int | None = None
    allocated: int | None = None
    reserved: int | None = None
    host: int | None = None


class Points:
    """Points in the order of time, at most :data:`MOST`, evenly spread."""

    def __init__(self) -> None:
        self.open: Point | None = None
        """The newest emit, to which readings may still come."""
        self._kept: list[Point] = []
        self._stride = 1
        self._emits = 0
        self._judged: dict[tuple[Curve, ...], tuple[tuple[int, int], Trend]] = {}

    def add(self, point: Point) -> None:
        """Take what was in use at an emit; two of the same time are one."""
        last = self.open
        if last is not None and last.t_ns == point.t_ns:
            self.open = Point(
                point.frames,
                point.t_ns,
                *(
                    new if new is not None else old
                    for new, old in (
                        (point.process, last.process),
                        (point.allocated, last.allocated),
                        (point.reserved, last.reserved),
                        (point.host, last.host),
                    )
                ),
            )
            return
        self.open = point
        if last is None:
            return
        self._emits += 1
        if self._emits % self._stride:
            return
        self._kept.append(last)
        if len(self._kept) >= MOST:
            self._kept = self._kept[1::2]
            self._stride *= 2

    def all(self) -> list[Point]:
        """All points that are kept, the newest with them."""
        return [*self._kept, self.open] if self.open is not None else list(self._kept)

    def frame_ns(self) -> float | None:
        """Time for a frame at the present pace: the median over the last points.

        Points eight apart are compared: several requests at once emit at nearly the same times.
        """
        paces = [
            (b.t_ns - a.t_ns) / (b.frames - a.frames)
            for a, b in self._apart()
            if b.frames > a.frames and b.t_ns > a.t_ns
        ]
        return median(paces) if paces else None

    def emit_ns(self) -> float | None:
        """Time from emit to emit, of all requests: the median over the last points."""
        times = [
            (b.t_ns - a.t_ns) / (PACE_APART * self._stride)
            for a, b in self._apart()
            if b.t_ns > a.t_ns
        ]
        return median(times) if times else None

    def _apart(self) -> list[tuple[Point, Point]]:
        recent = self._kept[-PACE_OVER:]
        return list(zip(recent, recent[PACE_APART:], strict=False))

    def trend(self, curves: tuple[Curve, ...] = CURVES) -> Trend:
        """How the curves rise: of the first one that rises for good, else of the first known."""
        n = len(self._kept)
        key = (self._stride, n if n < 64 else n - n % AT_ONCE)
        known = self._judged.get(curves)
        if known is None or known[0] != key:
            points = self.all() if n < 64 else self._kept[: key[1]]
            known = self._judged[curves] = (key if n >= 64 else (0, 0), judge(points, curves))
        return known[1]


class Trend(msgspec.Struct, frozen=True):
    """What a row of points says; both None: too few, or it does neither."""

    growth: Growth | None = None
    filled: Filled | None = None


def judge(points: list[Point], curves: tuple[Curve, ...]) -> Trend:
    """Growth and plateau of the curves, each asked in turn."""
    rows = {curve: _row(points, curve) for curve in curves}
    rows = {curve: row for curve, row in rows.items() if len(row) >= FEWEST}
    for curve, row in rows.items():
        found = lasting_rise(row, _least(curve, row))
        if found is not None:
            return Trend(
                growth=Growth(
                    mib_per_frame=found.slope.value / MIB,
                    low_mib=found.slope.low / MIB,
                    high_mib=found.slope.high / MIB,
                    of=curve,
                    rising=True,
                    since_frame=int(row[found.since][0]) - 1,
                    frames=int(row[-1][0] - row[found.since][0]) + 1,
                )
            )
    growth: Growth | None = None
    filled: Filled | None = None
    for curve, row in rows.items():
        if growth is None:
            usual = slope(row)
            if usual is not None:
                growth = Growth(
                    mib_per_frame=usual.value / MIB,
                    low_mib=usual.low / MIB,
                    high_mib=usual.high / MIB,
                    of=curve,
                    rising=False,
                    since_frame=int(row[0][0]) - 1,
                    frames=int(row[-1][0] - row[0][0]) + 1,
                )
    # Of the first curve alone: what others do when it is flat is the allocator's cache.
    for curve, row in list(rows.items())[:1]:
        flat = plateau(row, _least(curve, row))
        if flat is not None:
            filled = Filled(
                mib=flat.amount / MIB,
                by_frame=int(row[flat.by][0]) - 1,
                level_mib=flat.level / MIB,
                of=curve,
            )
    return Trend(growth, filled)


_VALUE: dict[Curve, Callable[[Point], int | None]] = {
    "allocated": lambda point: point.allocated,
    "process": lambda point: point.process,
    "reserved": lambda point: point.reserved,
    "host": lambda point: point.host,
}


def _row(points: list[Point], curve: Curve) -> list[tuple[float, float]]:
    value = _VALUE[curve]
    found = ((point.frames, value(point)) for point in points)
    return [(float(frames), float(used)) for frames, used in found if used is not None]


def _least(curve: Curve, row: list[tuple[float, float]]) -> float:
    mib, share = LEAST_MIB[curve]
    return max(mib * MIB, share * max(used for _, used in row))
