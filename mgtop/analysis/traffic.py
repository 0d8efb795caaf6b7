"""The requests of a session: which there are, which route counts, which are warm-up."""

from __future__ import annotations

from collections import deque
from typing import Any

from mgtop.analysis.requests import TOLD_APART, Request
from mgtop.analysis.tails import Interval
from mgtop.analysis.totals import Combined, Totals
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

MOST_WAITS = 64


class Traffic:
    """Takes the events of requests in order.

    Attributes:
        requests: all that count, in order of appearance.
        route: index into ``ROUTES`` of the route that is believed; None before any frame.
    """

    def __init__(self, settings: AnalysisSettings) -> None:
        self._settings = settings
        self.requests: list[Request] = []
        self.route: int | None = None
        self.frames_seen = 0
        self._by_key: dict[tuple[int, int, int], Request] = {}
        self._latest: dict[tuple[int, int], Request] = {}
        self._per_process: dict[int, int] = {}
        self._waits: dict[int, deque[r.Wait]] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._rest = Totals()
        """Intervals of requests that can be no warm-up."""

    # -------------------------------------------------------------------------- records

    def received(self, record: r.RequestReceived) -> None:
        """A request begins."""
        if self._is_outranked(record.route):
            return
        self._open(record.proc, record.request, record.route, record.t_ns).received(record)

    def preprocessed(self, record: r.PreprocessDone) -> None:
        """A request's input is ready."""
        request = self._latest.get((record.proc, record.request))
        if request is not None:
            request.preprocessed(record)

    def named(self, record: r.Name) -> None:
        """A span's number gets its text."""
        self._names[record.proc, record.id] = record.text

    def span(self, record: r.Span) -> None:
        """Work was done for a request."""
        request = self._latest.get((record.proc, record.request))
        if request is None and record.request == TOLD_APART:
            request = self._only_open(record.proc)
        if request is not None:
            request.span(self.span_name(record.proc, record.name), record.duration_ns)

    def waited(self, record: r.Wait) -> None:
        """The program waited for a person."""
        self._waits.setdefault(record.proc, deque(maxlen=MOST_WAITS)).append(record)

    def emitted(self, frame: r.FrameEmit) -> tuple[Request, Interval | None] | None:
        """Frames came; None where a better route tells of them."""
        if self._is_outranked(frame.route):
            return None
        if self.route is None or frame.route < self.route:
            self._switch(frame.route)
        self.frames_seen += frame.count
        request = self._open(frame.proc, frame.request, frame.route, frame.t_ns)
        interval = request.emitted(frame, self._waits.get(frame.proc, ()))
        if interval is not None and not interval.warmup and not self._may_be_warmup(request):
            self._rest.add(interval.begin_ns, interval.duration_ns, frame.count, request.fps)
        return request, interval

    def ended(self, record: r.StreamEnd) -> None:
        """A request is over."""
        request = self._latest.get((record.proc, record.request))
        if request is not None:
            request.ended(record)

    def finish(self) -> None:
        """Nothing more comes."""
        for request in self.requests:
            request.detector.ended = True

    # ------------------------------------------------------------------------ questions

    def span_name(self, proc: int, number: int) -> str:
        """The text of a span's number."""
        if number < len(r.SPAN_NAMES):
            return r.SPAN_NAMES[number]
        return self._names.get((proc, number), f"span {number}")

    def is_warmup(self, request: Request) -> bool:
        """Whether a whole request stays out of the statistics."""
        wanted = self._settings.warmup.requests
        if wanted == "auto":
            return request.process_ordinal == 0 and request.followed
        return request.process_ordinal < int(wanted)

    def counted(self) -> list[Request]:
        """The requests of the statistics."""
        return [request for request in self.requests if not self.is_warmup(request)]

    def combined(self) -> Combined:
        """All counted intervals."""
        parts = [
            request.totals
            for request in self.requests
            if self._may_be_warmup(request) and not self.is_warmup(request)
        ]
        return Combined([self._rest, *parts])

    def params(self) -> dict[str, Any]:
        """Parameters of the first request that has any."""
        return next((request.params for request in self.requests if request.params), {})

    def newest(self) -> Request | None:
        """The request that emitted last."""
        emitting = [request for request in self.requests if request.last is not None]
        return max(emitting, key=lambda request: request.times[-1], default=None)

    # --------------------------------------------------------------------------- inside

    def _is_outranked(self, route: int) -> bool:
        return self.route is not None and route > self.route

    def _may_be_warmup(self, request: Request) -> bool:
        wanted = self._settings.warmup.requests
        return request.process_ordinal < (1 if wanted == "auto" else int(wanted))

    def _open(self, proc: int, number: int, route: int, t_ns: int) -> Request:
        key = (proc, number, route)
        request = self._by_key.get(key)
        if request is not None and request.ended_ns is None:
            return request
        if request is not None and number == TOLD_APART:
            return request
        mine = self._per_process.get(proc, 0)
        self._per_process[proc] = mine + 1
        for earlier in self.requests:
            if earlier.proc == proc and earlier.process_ordinal == 0:
                earlier.followed = earlier.followed or _is_over(earlier, t_ns)
        request = Request(self._settings, proc, number, route, t_ns, len(self.requests), mine)
        self.requests.append(request)
        self._by_key[key] = self._latest[proc, number] = request
        return request

    def _only_open(self, proc: int) -> Request | None:
        found = [q for q in self.requests[-8:] if q.proc == proc and q.ended_ns is None]
        return found[0] if len(found) == 1 else None

    def _switch(self, route: int) -> None:
        """A better route speaks: what the others still had open is told again by it."""
        self.route = route
        outranked = [q for q in self.requests if q.route > route and q.ended_ns is None]
        if not outranked:
            return
        self.requests = [request for request in self.requests if request not in outranked]
        for request in outranked:
            self._by_key.pop((request.proc, request.number, request.route), None)
            if self._latest.get((request.proc, request.number)) is request:
                del self._latest[request.proc, request.number]
        self._rest = Totals()
        for request in self.requests:
            if not self._may_be_warmup(request):
                self._rest.absorb(request.totals)
        self.frames_seen = sum(request.frames for request in self.requests)


def _is_over(request: Request, t_ns: int) -> bool:
    return request.ended_ns is not None and request.ended_ns <= t_ns
