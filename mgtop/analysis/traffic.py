"""The requests of a session: which there are, which route counts, which are warm-up."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from typing import Any

from mgtop.analysis.outputs import FROM_SINKS, Output
from mgtop.analysis.ranks import FOUND, Ranks
from mgtop.analysis.requests import FROM_A_LOG, NOT_TOLD_APART, Request
from mgtop.analysis.statistics import Samples
from mgtop.analysis.summary import FirstFrame
from mgtop.analysis.tails import Interval
from mgtop.analysis.totals import Totals
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

MOST_WAITS = 64
MOST_NAMES = 4_096


class Traffic:
    """Takes the events of requests in order.

    Args:
        settings: how to judge.
        begin_ns: when the session began; a request from before is known by its name alone.

    Attributes:
        requests: all that count, in order of appearance.
        route: index into ``ROUTES`` of the route that is believed; None before any frame.
        totals: counted intervals of all requests that are no warm-up.
        emits: emits of all of them.
        with_intervals: requests that these are of.
        longest: how many the longest of them has.
        newest: the request that emitted last.
        refused: emits that were told twice.
        turns: grows when a first frame's latency may have changed, or which requests count.
        recounts: grows when requests left the statistics.
    """

    def __init__(self, settings: AnalysisSettings, begin_ns: int = 0) -> None:
        self._settings, self._begin_ns = settings, begin_ns
        self.requests: list[Request] = []
        self.route: int | None = None
        self.totals = Totals()
        self.emits = self.with_intervals = self.longest = 0
        self.newest: Request | None = None
        self.refused = self.turns = self.recounts = 0
        self._by_key: dict[tuple[int, int, int], Request] = {}
        self._best: dict[tuple[int, int], Request] = {}
        """The request of a number by the best route that has it."""
        self._opened: Counter[tuple[int, int]] = Counter()
        """Requests by process and route since its last loading."""
        self._firsts: dict[tuple[int, int], Request] = {}
        self._open: Counter[int] = Counter()
        """Requests by process that have not ended."""
        self._ordinals = 0
        self._log_speaks = False
        self._ranks = Ranks()
        self._waits: dict[int, deque[r.Wait]] = {}
        self._names: dict[tuple[int, int], str] = {}
        self._alone: Request | None = None
        """The only request of the statistics that has intervals."""
        self._counted: list[Request] | None = None
        self._counted_at = (0, 0)
        self._first_frame: FirstFrame | None = None
        self._first_frame_turns = 0

    # -------------------------------------------------------------------------- records

    def met(self, record: r.Hello) -> None:
        """A process introduces itself."""
        self._ranks.meet(record)

    def same_ranks(self) -> list[int]:
        """Ranks whose frames are taken for the same as those that count."""
        return [] if self.route is None else self._ranks.same(self.route)

    def counts_of_sinks(self, proc: int) -> bool:
        """Whether frames that leave a process count: of ranks, those of the lowest do."""
        return not self._ranks.is_above(proc, FROM_SINKS)

    def resumed(self, t_ns: int) -> None:
        """What was before is not in the log: requests from before then are joined."""
        self._begin_ns = max(self._begin_ns, t_ns)

    def received(self, record: r.RequestReceived) -> None:
        """A request begins."""
        self._log_speaks = self._log_speaks or record.route == FROM_A_LOG
        if self._is_outranked(record.route) or not self._ranks.counts(record):
            return
        request = self._request(record.proc, record.request, record.route, record.t_ns)
        if record.t_ns < self._begin_ns:
            request.joined(record)
        elif request.received_ns is None and request.number != NOT_TOLD_APART:
            self.turns += 1
            request.received(record)

    def preprocessed(self, record: r.PreprocessDone) -> None:
        """A request's input is ready."""
        request = self._of(record)
        if request is not None and request.preprocess_done_ns is None:
            self.turns += 1
            request.preprocessed(record)

    def delivered(self, record: r.Delivery) -> None:
        """What became of a request's frames so far."""
        request = self._of(record)
        if request is not None:
            request.delivered(record)

    def named(self, record: r.Name) -> None:
        """A span's number gets its text."""
        if len(self._names) < MOST_NAMES or (record.proc, record.id) in self._names:
            self._names[record.proc, record.id] = record.text

    def span(self, record: r.Span) -> None:
        """Work was done for a request."""
        request = self.worked_for(record)
        if request is not None:
            request.spans.add(self.span_name(record.proc, record.name), record.duration_ns)

    def waited(self, record: r.Wait) -> None:
        """The program waited for a person."""
        waits = self._waits.get(record.proc)
        if waits is None:
            waits = self._waits[record.proc] = deque(maxlen=MOST_WAITS)
        waits.append(record)

    def loaded(self, record: r.Load) -> None:
        """A process has loaded its weights: between requests, its first one follows."""
        if record.done and not self._open[record.proc]:
            for key in [key for key in self._opened if key[0] == record.proc]:
                self._opened[key] = 0
                self._firsts.pop(key, None)

    def emitted(self, frame: r.FrameEmit) -> tuple[Request, Interval | None] | None:
        """Frames came; None where a better route tells of them, or where they came before."""
        if frame.route == FROM_A_LOG:
            self._log_speaks = True
        if self.route != frame.route:
            if self._is_outranked(frame.route):
                return None
            self._switch(frame.route)
        if frame.route in FOUND and not self._is_of_lowest_rank(frame):
            return None
        request = self._by_key.get((frame.proc, frame.request, frame.route))
        if request is None:
            request = self._request(frame.proc, frame.request, frame.route, frame.t_ns)
        if request.has(frame):
            self.refused += 1
            return None
        waits = self._waits.get(frame.proc, ())
        alone = self._open[frame.proc] <= 1
        interval = request.emitted(frame, waits, alone, self.emits, self.totals.count)
        self.emits += 1
        self.newest = request
        if request.emits == 1:
            self.turns += 1
        if request.process_ordinal:
            self._look_back(request, frame.t_ns)
        if interval is not None and not (interval.warmup or request.left_out):
            if self._alone is not request:
                self._count(request, frame, interval)
            count = request.totals.count
            if count > self.longest:
                self.longest = count
            if count == 1:
                self.with_intervals += 1
        return request, interval

    def ended(self, record: r.StreamEnd) -> None:
        """A request is over."""
        request = self._of(record)
        if request is not None:
            if request.ended_ns is None:
                self._open[request.proc] -= 1
            request.ended(record)

    def find(self, proc: int, number: int, route: int) -> Request | None:
        """The request of that number, as a route tells it."""
        return self._by_key.get((proc, number, route))

    def landed(self, request: Request, output: Output) -> None:
        """How the frames of a request have left their output, by what is known now."""
        before = request.left_out
        request.left_by(output.sink, output.params, output.kind)
        if request.left_out != before:
            self._recount()

    def forget(self, request: Request) -> None:
        """Its frames are told anew, in another grouping."""
        mine = (request.proc, request.route)
        self._drop([request])
        self._opened[mine] -= 1
        if self._firsts.get(mine) is request:
            del self._firsts[mine]
        self._recount()

    def finish(self) -> None:
        """Nothing more comes."""
        for request in self.requests:
            request.detector.ended = True

    # ------------------------------------------------------------------------ questions

    def worked_for(self, record: r.Span) -> Request | None:
        """The request that a span belongs to, as far as is known by now."""
        request = self._of(record)
        if request is None and record.request == NOT_TOLD_APART:
            return self._only_open(record.proc)
        return request

    def span_name(self, proc: int, number: int) -> str:
        """The text of a span's number."""
        if 0 <= number < len(r.SPAN_NAMES):
            return r.SPAN_NAMES[number]
        return self._names.get((proc, number), f"span {number}")

    def counted(self) -> list[Request]:
        """The requests of the statistics."""
        known = (self.turns, len(self.requests))
        if self._counted is None or self._counted_at != known:
            self._counted_at = known
            self._counted = [q for q in self.requests if not q.left_out]
        return self._counted

    def first_frame(self) -> FirstFrame:
        """First-frame latency of the requests in the statistics, and its parts."""
        if self._first_frame is None or self._first_frame_turns != self.turns:
            self._first_frame_turns = self.turns
            self._first_frame = _first_frame(self.counted())
        return self._first_frame

    def params(self) -> dict[str, Any]:
        """Parameters of the first request that has any."""
        return next((request.params for request in self.requests if request.params), {})

    # --------------------------------------------------------------------------- inside

    def _is_outranked(self, route: int) -> bool:
        return self.route is not None and route > self.route

    def _of(self, record: r.PreprocessDone | r.Span | r.StreamEnd | r.Delivery) -> Request | None:
        """The request that an event without a route belongs to.

        A text log numbers its requests by itself, and knows no threads.
        """
        if record.tid == 0 and self._log_speaks:
            return self._by_key.get((record.proc, record.request, FROM_A_LOG))
        return self._best.get((record.proc, record.request))

    def _request(self, proc: int, number: int, route: int, t_ns: int) -> Request:
        """The request of that number; made where it is new."""
        key = (proc, number, route)
        request = self._by_key.get(key)
        if request is not None:
            return request
        mine = (proc, route)
        if mine not in self._opened and route != FROM_A_LOG:
            # A process numbers its requests from 1: those before were not recorded.
            self._opened[mine] = max(0, r.nth_of_route(number) - 1)
        request = Request(
            self._settings, proc, number, route, t_ns, self._ordinals, self._opened[mine]
        )
        self._ordinals += 1
        self._opened[mine] += 1
        self._open[proc] += 1
        self._leave_out(request)
        if request.process_ordinal == 0:
            self._firsts[mine] = request
        first = self._firsts.get(mine)
        request.follows = first is not None and first.ended_ns is not None
        self.requests.append(request)
        self._by_key[key] = request
        best = self._best.get((proc, number))
        if best is None or best.route > route:
            self._best[proc, number] = request
        return request

    def _count(self, request: Request, frame: r.FrameEmit, interval: Interval) -> None:
        """Add an interval to the session's. While they are all of one request, they are its."""
        if self.with_intervals == 0:
            self._alone, self.totals = request, request.totals
            return
        if self._alone is not None:
            self._alone, first = None, self.totals
            self.totals = Totals()
            self.totals.absorb(first)
        self.totals.add(frame.t_ns, interval.duration_ns, frame.count, request.fps)

    def _leave_out(self, request: Request) -> None:
        """Say whether a request stays out of the statistics as a whole."""
        wanted = self._settings.warmup.requests
        if wanted == "auto":
            request.is_warmup = request.process_ordinal == 0 and request.followed
        else:
            request.is_warmup = request.process_ordinal < int(wanted)

    def _look_back(self, request: Request, t_ns: int) -> None:
        """Frames of a request are out: one before it may not count any more.

        The first one is over at its end; where that was not told, once it has fallen silent.
        """
        first = self._firsts.get((request.proc, request.route))
        if first is None or first is request or first.followed:
            return
        if request.follows or first.is_silent(t_ns):
            first.followed = True
            self._leave_out(first)
            self.turns += 1
            if first.totals.count and first.is_warmup:
                self._recount()

    def _only_open(self, proc: int) -> Request | None:
        found = [q for q in self.requests[-8:] if q.proc == proc and q.ended_ns is None]
        return found[0] if len(found) == 1 else None

    def _switch(self, route: int) -> None:
        """A better route speaks: what the others still had open is told again by it."""
        before, self.route = self.route, route
        # What was found in a program that tells of its frames itself was no more than a guess.
        found = [q for q in self.requests if q.route > route]
        self._drop([q for q in found if q.ended_ns is None or q.route in FOUND])
        if before is not None:
            self._renumber(route)
            self._recount()

    def _is_of_lowest_rank(self, frame: r.FrameEmit) -> bool:
        """Whether the frame counts; where it is the first of a lower rank, others' are dropped."""
        self._ranks.emits(frame)
        if not self._ranks.counts(frame):
            self.refused += 1
            return False
        if self._ranks.lowers(frame):
            route, is_above = frame.route, self._ranks.is_above
            above = [q for q in self.requests if q.route == route and is_above(q.proc, route)]
            self._drop(above)
            if above:
                self._recount()
        return True

    def _drop(self, dropped: Sequence[Request]) -> None:
        """Let go of requests that are told of better by somebody else."""
        for request in dropped:
            request.dropped = True
            if request.ended_ns is None:
                self._open[request.proc] -= 1
            del self._by_key[request.proc, request.number, request.route]
            if self._best.get((request.proc, request.number)) is request:
                del self._best[request.proc, request.number]
        if dropped:
            self.requests = [request for request in self.requests if not request.dropped]

    def _renumber(self, route: int) -> None:
        """What other routes told to its end came before what the believed one tells."""
        earlier: dict[int, list[Request]] = {}
        for request in self.requests:
            if request.route > route:
                earlier.setdefault(request.proc, []).append(request)
        for proc, others in earlier.items():
            self._opened[proc, route] += len(others)
            self._firsts[proc, route] = others[0]
        for request in self.requests:
            if request.route == route and request.proc in earlier:
                request.process_ordinal += len(earlier[request.proc])
                request.follows = True
                self._leave_out(request)

    def _recount(self) -> None:
        """Add up the intervals anew: requests have left the statistics."""
        self.turns += 1
        self.recounts += 1
        counted = [request for request in self.counted() if request.totals.count]
        self.with_intervals = len(counted)
        self.longest = max((request.totals.count for request in counted), default=0)
        self._alone = counted[0] if len(counted) == 1 else None
        self.totals = Totals() if self._alone is None else self._alone.totals
        if self._alone is None:
            for request in counted:
                self.totals.absorb(request.totals)


def _first_frame(counted: Sequence[Request]) -> FirstFrame:
    latencies = Samples(q.first_frame_ms for q in counted if q.first_frame_ms is not None)
    found = latencies.quantiles()
    return FirstFrame(
        count=found.count,
        p50=found.p50,
        p95=found.p95,
        p99=found.p99,
        max=found.max,
        preprocess_p50=_median(q.preprocess_ms for q in counted),
        sampling_p50=_median(q.sampling_ms for q in counted),
    )


def _median(values: Iterable[float | None]) -> float | None:
    return Samples(v for v in values if v is not None).median()
