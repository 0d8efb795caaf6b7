"""The model of a session: records in, summaries and pictures out.

Pure: no input or output, no clock. The result depends on the sequence of records alone, not
on how they were batched nor on when somebody asked; only ages need a time from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mgtop.analysis.about import About
from mgtop.analysis.assemble import assemble
from mgtop.analysis.causes import attribute
from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import TailWindow
from mgtop.analysis.live import LiveView
from mgtop.analysis.picture import picture
from mgtop.analysis.requests import Request
from mgtop.analysis.settings import settings_of
from mgtop.analysis.summary import Summary, Tail
from mgtop.analysis.tails import Candidate, Passed, make_tail
from mgtop.analysis.traffic import Traffic
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r


class Model:
    """Feed it records in the order of the log; ask it whenever you like.

    Args:
        settings: how to judge, where the log does not say (its first record does).
    """

    def __init__(self, settings: AnalysisSettings | None = None) -> None:
        self.settings = settings or AnalysisSettings()
        self.about = About()
        self.channels = Channels(self.settings)
        self.traffic = Traffic(self.settings)
        self.marks: list[r.Mark] = []
        self.loading: bool | None = None
        self.tails: list[tuple[Request, bool, Tail]] = []
        """Final ones in the order of judgement: request, whether in its warm-up, tail."""
        self._finished = False
        self._pending: dict[int, Request] = {}
        self._takes: dict[type, Callable[[Any], None]] = {
            r.SessionStart: self._session_start,
            r.FrameEmit: self._frame,
            r.RequestReceived: lambda record: self.traffic.received(record),
            r.PreprocessDone: lambda record: self.traffic.preprocessed(record),
            r.StreamEnd: self._stream_end,
            r.Span: lambda record: self.traffic.span(record),
            r.Name: lambda record: self.traffic.named(record),
            r.Wait: lambda record: self.traffic.waited(record),
            r.Load: self._load,
            r.Mark: self.marks.append,
            r.SourceState: lambda record: self._judge(),
        }

    # --------------------------------------------------------------------------- records

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next record of the log."""
        self.about.feed(record)
        if isinstance(record, r.SessionStart):
            self._session_start(record)
            return
        if not (isinstance(record, r.Mark) and record.proc == 0):
            # A viewer's mark comes from beside the log: it must not move its time.
            self.channels.feed(record)
        take = self._takes.get(type(record))
        if take is not None:
            take(record)

    def feed_all(self, records: Iterable[r.AnyRecord]) -> None:
        """Take several."""
        for record in records:
            self.feed(record)

    def finish(self) -> None:
        """Say that nothing more comes: judge what is still open."""
        if not self._finished:
            self._finished = True
            self.traffic.finish()
            self._judge(end=True)

    def _session_start(self, record: r.SessionStart) -> None:
        if self.traffic.requests:
            return  # a second start in one log: a recorder that took over
        self.settings = settings_of(record, self.settings)
        self.channels = Channels(self.settings)
        self.traffic = Traffic(self.settings)
        self.channels.feed(record)

    def _load(self, record: r.Load) -> None:
        self.loading = not record.done

    def _frame(self, frame: r.FrameEmit) -> None:
        taken = self.traffic.emitted(frame)
        if taken is None:
            return
        request, interval = taken
        store = self.channels.store
        if interval is not None:
            lasted_ms = interval.duration_ns / 1e6
            store.add_span("interval", interval.begin_ns, frame.t_ns, lasted_ms)
        slack = request.player.slack_ns(frame.t_ns) if request.player is not None else None
        if slack is not None:
            store.add("slack", frame.t_ns, slack / 1e6)
        if request.detector.open:
            self._pending[id(request)] = request
        self._judge()

    def _stream_end(self, record: r.StreamEnd) -> None:
        self.traffic.ended(record)
        self._judge()

    # -------------------------------------------------------------------------- judgement

    def _judge(self, end: bool = False) -> None:
        if not self._pending:
            return
        passed = Passed.of(self.channels.newest_ns, self.channels.covered_ns())
        for key, request in list(self._pending.items()):
            for candidate in request.detector.take_final(passed, end):
                self._conclude(request, candidate)
            if not request.detector.open:
                del self._pending[key]

    def _conclude(self, request: Request, candidate: Candidate) -> None:
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
            excess_ns=round(candidate.excess_ns),
            median_ns=round(candidate.median_ns),
            frame=frame,
            previous=interval.previous,
            since_ns=request.detector.baseline.since_ns,
        )
        found = attribute(window, self.channels, self.settings)
        tail = make_tail(
            candidate,
            request.id,
            self.about.start_ns,
            final=True,
            cause=found.cause or "unexplained",
            causes=found.causes,
            evidence=found.evidence,
        )
        if not interval.warmup:
            request.tails += 1
        self.tails.append((request, interval.warmup, tail))

    def open_tails(self) -> list[tuple[Request, bool, Tail]]:
        """Tails that are not final yet, as they look now."""
        return [
            (
                request,
                candidate.interval.warmup,
                make_tail(candidate, request.id, self.about.start_ns, final=False),
            )
            for request in self._pending.values()
            for candidate in request.detector.provisional()
        ]

    # ---------------------------------------------------------------------------- answers

    def summary(self) -> Summary:
        """Everything that is known so far."""
        return assemble(self)

    def view(self, now_ns: int, begin_ns: int, end_ns: int, columns: int) -> LiveView:
        """The picture of a window of time, in so many columns, as seen at ``now_ns``."""
        return picture(self, now_ns, begin_ns, end_ns, columns)
