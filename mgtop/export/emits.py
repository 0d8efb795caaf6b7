"""The emits of a session, as the report counts them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping

import msgspec

from mgtop.analysis.model import Model
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import Summary, Tail
from mgtop.analysis.tails import Interval
from mgtop.wire import records as r


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """One emit: ``count`` frames that left together.

    Attributes:
        request: the request's id; ``pid``: its process.
        index: of its first frame; ``emit``: its own number; both from 0 within the request.
        t_ns: when, in ``CLOCK_MONOTONIC``; ``t_ms``: since the session's start.
        interval_ms: since the emit before of the same request; None: not known.
        warmup: it is in no statistic.
        excess_ms, cause: where it was a late frame.
    """

    request: str
    pid: int
    index: int
    emit: int
    count: int
    t_ns: int
    t_ms: float
    interval_ms: float | None
    warmup: bool
    excess_ms: float | None = None
    cause: str | None = None
    proc: int = 0
    """The process for good: pids come again."""


Late = Mapping[tuple[int, str, int], Tail]
"""Late frames by process, request and emit."""


def late_frames(summary: Summary) -> Late:
    """The late frames of a report."""
    return {(tail.proc, tail.request, tail.emit): tail for tail in summary.tails.frames}


class Emits:
    """Collects the emits that a model takes, column by column: a long session has millions.

    Which of them count, and what is warm-up, is known for good only at the end: both are asked
    for when they are read.

    Args:
        model: what is fed; it calls this for every emit.
    """

    def __init__(self, model: Model) -> None:
        self.requests: list[Request] = []
        self.whose, self.count = array("q"), array("q")
        """Places in ``requests``; frames of each emit."""
        self.t_ns, self.index, self.emit = array("q"), array("q"), array("q")
        self.interval_ms = array("d")
        """NaN: not known."""
        self._model = model
        self._places: dict[Request, int] = {}
        model.on_emit = self._add

    def _add(self, request: Request, frame: r.FrameEmit, interval: Interval | None) -> None:
        place = self._places.get(request)
        if place is None:
            place = self._places[request] = len(self.requests)
            self.requests.append(request)
        self.whose.append(place)
        self.t_ns.append(frame.t_ns)
        self.index.append(frame.index)
        self.emit.append(frame.emit)
        self.count.append(frame.count)
        self.interval_ms.append(math.nan if interval is None else interval.duration_ns / 1e6)

    def order(self) -> list[int]:
        """Places of the emits that count, in the order of time."""
        whose, t_ns = self.whose, self.t_ns
        dropped = [request.dropped for request in self.requests]
        return sorted((i for i in range(len(t_ns)) if not dropped[whose[i]]), key=t_ns.__getitem__)

    @property
    def skipped(self) -> int:
        """The first emits of each request are in no statistic: so many."""
        return self._model.settings.warmup.emits

    def is_warmup(self, i: int) -> bool:
        """Whether the emit at a place is in no statistic."""
        return self.emit[i] < self.skipped or self.requests[self.whose[i]].left_out

    def frames(self, begin_ns: int, late: Late) -> Iterator[Frame]:
        """The emits that count, in the order of time; ``begin_ns``: the session's start."""
        for i in self.order():
            request, emit, t_ns = self.requests[self.whose[i]], self.emit[i], self.t_ns[i]
            interval_ms = self.interval_ms[i]
            tail = late.get((request.proc, request.id, emit))
            yield Frame(
                request=request.id,
                pid=r.pid_of(request.proc),
                index=self.index[i],
                emit=emit,
                count=self.count[i],
                t_ns=t_ns,
                t_ms=(t_ns - begin_ns) / 1e6,
                interval_ms=None if math.isnan(interval_ms) else interval_ms,
                warmup=self.is_warmup(i),
                excess_ms=None if tail is None else tail.excess_ms,
                cause=None if tail is None else tail.cause,
                proc=request.proc,
            )
