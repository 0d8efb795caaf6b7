"""The model of a session: records in, summaries and pictures out.

Pure: no input or output, no clock. The result depends on the sequence of records alone, not
on how they were batched nor on when somebody asked; only ages need a time from outside.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any

from mgtop.analysis.about import About
from mgtop.analysis.actions import Actions
from mgtop.analysis.assemble import assemble
from mgtop.analysis.causes import attribute
from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import TailWindow
from mgtop.analysis.judged import Judged, JudgedTails
from mgtop.analysis.lanes import Lanes
from mgtop.analysis.live import LiveView
from mgtop.analysis.notices import Notices
from mgtop.analysis.outputs import FROM_SINKS, Output, Outputs
from mgtop.analysis.picture import picture
from mgtop.analysis.placement import Place
from mgtop.analysis.possible import LONGEST_NS, is_possible
from mgtop.analysis.requests import Request
from mgtop.analysis.settings import settings_of
from mgtop.analysis.spans import role_of
from mgtop.analysis.summary import Summary, Tail
from mgtop.analysis.tails import Candidate, Interval, Passed, make_tail
from mgtop.analysis.traffic import Traffic
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

OF_NO_SINK = frozenset(
    number for number, name in enumerate(r.SPAN_NAMES) if role_of(name) != "output"
)
"""Spans that are no call of a sink: before the first of those they tell nothing of requests."""
MOST_UNDRAWN = 4_096
SLACK_STEP_NS, MOST_SLACK_STEPS = 100_000_000, 100
"""Between two emits, the slack is drawn anew so often, up to so many times."""


class Model:
    """Feed it records in the order of the log; ask it whenever you like.

    Args:
        settings: how to judge, where the log does not say (its first record does).
        judge: False takes in the requests alone, for those who want frames without causes:
            no readings, no tails, a tenth of the time.
    """

    def __init__(self, settings: AnalysisSettings | None = None, judge: bool = True) -> None:
        self.judges = judge
        self.settings = settings or AnalysisSettings()
        self.about = About()
        self.channels = Channels(self.settings)
        self.traffic = Traffic(self.settings)
        self.lanes = Lanes(self.channels.store)
        self.outputs = Outputs()
        self.marks: list[r.Mark] = []
        self.notices = Notices()
        self.actions = Actions(self.settings.warmup.emits)
        self.loading: bool | None = None
        self.refused = 0
        """Records that cannot be true."""
        self.on_interval: Callable[[Request, Interval], None] | None = None
        """Called with every known interval as it comes, those of the warm-up among them."""
        self.on_emit: Callable[[Request, r.FrameEmit, Interval | None], None] | None = None
        """Called with every emit that is taken, and its interval where that is known. A request
        that a better route tells of is ``dropped`` later, and its emits with it."""
        self.on_judged: Callable[[Judged], None] | None = None
        """Called with every tail once its judgement is final."""
        self.judged = JudgedTails()
        self._fed = 0
        self._known: tuple[int, Summary] | None = None
        """The last summary, and how much had been fed then."""
        self._undrawn: dict[Request, deque[tuple[int, int, float]]] = {}
        """Intervals of outputs of which it is not known yet whether they are live."""
        self._pending: dict[Request, None] = {}
        """Requests with tails that are not final yet, in order."""
        own: dict[type, Callable[[Any], None]] = {
            r.FrameEmit: self._frame,
            r.RequestReceived: lambda record: self.traffic.received(record),
            r.PreprocessDone: lambda record: self.traffic.preprocessed(record),
            r.StreamEnd: self._stream_end,
            r.Delivery: lambda record: self.traffic.delivered(record),
            r.Span: self._span,
            r.Name: lambda record: self.traffic.named(record),
            r.Sink: lambda record: self.outputs.told(record),
            r.Wait: self._wait,
            r.Action: lambda record: self.actions.acted(record),
            r.Load: self._load,
            r.Hello: self._hello,
            r.Notice: self.notices.add,
            r.Mark: self.marks.append,
            r.SourceState: lambda record: self._judge(),
            r.SessionEnd: lambda record: self.finish(),
            r.LogGap: lambda record: self.traffic.resumed(record.until_ns),
        }
        self._takes: dict[type, list[Callable[[Any], None]]] = {}
        for takes in (self.about.takes(), own):
            for kind, take in takes.items():
                self._takes.setdefault(kind, []).append(take)

    # --------------------------------------------------------------------------- records

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next record of the log (or a viewer's mark from beside it, at any time)."""
        self._fed += 1
        if not is_possible(record):
            self.refused += 1
            return
        if isinstance(record, r.Mark) and record.proc == 0:
            self.marks.append(record)  # it must not move the log's time
            return
        self.about.seen(record.t_ns)
        if isinstance(record, r.SessionStart):
            self._session_start(record)
        for output, frames in self.outputs.passed(record.t_ns):
            self._left(output, frames)
        if isinstance(record, r.FrameEmit) and record.route == FROM_SINKS:
            self._left(*self.outputs.emitted(record))
        else:
            self._take(record)

    def _take(self, record: r.AnyRecord) -> None:
        if self.judges:
            self.channels.feed(record)
        for take in self._takes.get(type(record), ()):
            take(record)

    def feed_all(self, records: Iterable[r.AnyRecord]) -> None:
        """Take several: all that came since the last time."""
        if self.judges:
            for record in records:
                self.feed(record)
        else:
            self._feed_requests(records)

    def _feed_requests(self, records: Iterable[r.AnyRecord]) -> None:
        """Take what says something of requests, and of the rest the newest time.

        Once frames are seen to leave by sinks, everything: what is one block is a matter of time.
        """
        newest_ns: int | None = None
        for record in records:
            plain = type(record) not in self._takes or (
                isinstance(record, r.Span) and record.name in OF_NO_SINK
            )
            if not plain or self.about.first_ns is None or self.outputs.all:
                self.feed(record)
            elif newest_ns is None or newest_ns < record.t_ns < LONGEST_NS:
                newest_ns = record.t_ns
        if newest_ns is not None:
            self.passed(newest_ns)

    @property
    def needed(self) -> Collection[type]:
        """The kinds of records that say something of requests.

        Where it does not judge, only the time is taken of all others.
        """
        return self._takes

    def passed(self, t_ns: int) -> None:
        """Say that something was recorded then which is not fed."""
        if -LONGEST_NS < t_ns < LONGEST_NS:
            self.about.seen(t_ns)

    def finish(self) -> None:
        """Say that nothing more comes: judge what is still open."""
        self._fed += 1
        for output, frames in self.outputs.finish():
            self._left(output, frames)
        self.traffic.finish()
        self._judge(end=True)

    def _session_start(self, record: r.SessionStart) -> None:
        if self.about.start is not None or self.traffic.requests:
            return  # a recorder that took over: its settings came too late
        self.settings = settings_of(record, self.settings)
        self.channels = Channels(self.settings)
        resumed = [gap.until_ns for gap in self.about.gaps]
        self.traffic = Traffic(self.settings, max([record.t_ns, *resumed]))
        self.outputs = Outputs(record.t_ns)
        self.actions = Actions(self.settings.warmup.emits)
        self.lanes = Lanes(self.channels.store)

    def _span(self, record: r.Span) -> None:
        name = self.traffic.span_name(record.proc, record.name)
        if not self.judges:
            self.outputs.worked(record, name)  # which emits of an output are one block
            return
        self.traffic.span(record)
        self.actions.worked(record, name)
        self.outputs.worked(record, name)

    def _wait(self, record: r.Wait) -> None:
        self.traffic.waited(record)
        self.actions.waited(record)

    def _hello(self, record: r.Hello) -> None:
        self.traffic.met(record)
        self.lanes.hello(record)

    def _load(self, record: r.Load) -> None:
        self.loading = not record.done
        self.traffic.loaded(record)

    def _frame(self, frame: r.FrameEmit) -> None:
        taken = self.traffic.emitted(frame)
        if taken is None:
            return
        request, interval = taken
        if self.on_emit is not None:
            self.on_emit(request, frame, interval)
        if not self.judges:
            return
        self.actions.emitted(request, frame)
        if interval is not None:
            if self.on_interval is not None:
                self.on_interval(request, interval)
            self._draw_interval(request, interval)
        self.lanes.emitted(request, frame, None if interval is None else interval.begin_ns)
        self._draw_slack(request, frame.t_ns, interval)
        if request.detector.open:
            self._pending[request] = None
        self._judge()

    def _draw_interval(self, request: Request, interval: Interval) -> None:
        """Put it on the chart; of an output that is not known to be live, once it is."""
        drawn = (interval.begin_ns, interval.frame.t_ns, interval.duration_ns / 1e6)
        if request.landed is not None and request.landed != "live":
            self._undrawn.setdefault(request, deque(maxlen=MOST_UNDRAWN)).append(drawn)
            return
        for begin_ns, end_ns, lasted_ms in (*self._undrawn.pop(request, ()), drawn):
            self.channels.store.add_span("interval", begin_ns, end_ns, lasted_ms)

    def _draw_slack(self, request: Request, t_ns: int, interval: Interval | None) -> None:
        """The viewer's slack falls until frames come, and jumps up then.

        It falls by as much as time passes, so between emits that are far apart it is known too.
        """
        slack = request.slack_ns(t_ns)
        if slack is None or request.player is None:
            return
        store, before = self.channels.store, request.player.arrival_slack_ns
        if before is not None and interval is not None:
            since_ns = t_ns - interval.begin_ns
            if SLACK_STEP_NS < since_ns == interval.duration_ns <= MOST_SLACK_STEPS * SLACK_STEP_NS:
                for ago_ns in range(since_ns // SLACK_STEP_NS * SLACK_STEP_NS, 0, -SLACK_STEP_NS):
                    if before + ago_ns > 0:
                        store.add("slack", t_ns - ago_ns, (before + ago_ns) / 1e6)
        if before is not None and before < 0:
            store.add_span("slack", t_ns + round(before), t_ns, 0.0)
        elif before is not None:
            store.add("slack", t_ns, before / 1e6)
        store.add("slack", t_ns, slack / 1e6)

    def _left(self, output: Output, frames: list[r.FrameEmit]) -> None:
        """Emits of an output are complete, as single frames or as blocks of it."""
        proc, number = output.key
        request = self.traffic.find(proc, number, FROM_SINKS)
        if output.regrouped:
            output.regrouped = False
            self.channels.streams.forget(proc, number, FROM_SINKS)
            if request is not None:
                self.traffic.forget(request)
        for frame in frames:
            self._take(frame)
        request = self.traffic.find(proc, number, FROM_SINKS)
        if request is not None:
            self.traffic.landed(request, output)

    def _stream_end(self, record: r.StreamEnd) -> None:
        left = self.outputs.ended(record.proc, record.request)
        if left is not None:
            self._left(*left)
        self.traffic.ended(record)
        self._judge()

    # -------------------------------------------------------------------------- judgement

    def _judge(self, end: bool = False) -> None:
        if not self._pending:
            return
        passed = Passed.of(self.channels.newest_ns, self.channels.covered_ns())
        for request in list(self._pending):
            for candidate in request.detector.take_final(passed, end):
                self._conclude(request, candidate)
            if not request.detector.open:
                del self._pending[request]
                request.settle()

    def _conclude(self, request: Request, candidate: Candidate) -> None:
        if request.dropped:
            return
        interval = candidate.interval
        frame = interval.frame
        window = TailWindow(
            proc=frame.proc,
            tid=frame.tid,
            request=frame.request,
            index=frame.index,
            emit=frame.emit,
            count=frame.count,
            begin_ns=interval.begin_ns,
            end_ns=frame.t_ns,
            excess_ns=candidate.excess_ns,
            median_ns=candidate.median_ns,
            frame=frame,
            previous=interval.previous,
            since_ns=candidate.since_ns,
        )
        found = attribute(window, self.channels, self.settings)
        tail = make_tail(
            candidate,
            request.id,
            self.about.start_ns,
            final=True,
            cause=found.cause or "unexplained",
            causes=found.causes,
            evidence=self.judged.shared(found.evidence),
        )
        place = Place(request.ordinal, frame.emit, frame.index, interval.axis, interval.rank)
        if not interval.warmup:
            request.has_tail()
        judged = Judged(request, interval.warmup, tail, candidate.excess_ns, place)
        self.judged.add(judged)
        if self.on_judged is not None:
            self.on_judged(judged)

    def open_tails(self) -> list[tuple[Request, bool, Tail]]:
        """Tails that are not final yet, as they look now: whose, whether in its warm-up."""
        return [
            (
                request,
                candidate.interval.warmup,
                make_tail(candidate, request.id, self.about.start_ns, final=False),
            )
            for request in self._pending
            if not request.dropped
            for candidate in request.detector.provisional()
        ]

    # ---------------------------------------------------------------------------- answers

    def summary(self) -> Summary:
        """Everything that is known so far."""
        if self._known is None or self._known[0] != self._fed:
            self._known = (self._fed, assemble(self))
        return self._known[1]

    def view(self, now_ns: int, begin_ns: int, end_ns: int, columns: int) -> LiveView:
        """The picture of a window of time, in so many columns, as seen at ``now_ns``."""
        return picture(self, now_ns, begin_ns, end_ns, columns)
