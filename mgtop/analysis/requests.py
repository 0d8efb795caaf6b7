"""One request: its events in order, its intervals, its player and its tails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mgtop.analysis.emit_times import EmitTimes
from mgtop.analysis.gaps import Gaps
from mgtop.analysis.landing import Kind
from mgtop.analysis.playout import Playout, usable_fps
from mgtop.analysis.span_medians import SpanMedians
from mgtop.analysis.summary import PlayoutSummary, Quantiles, RequestSummary
from mgtop.analysis.tails import Interval, TailDetector
from mgtop.analysis.totals import Totals
from mgtop.analysis.waits import waited_ns, waits_of
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records
from mgtop.wire.records import (
    ROUTES,
    FrameEmit,
    PreprocessDone,
    RequestReceived,
    StreamEnd,
    Wait,
    nth_of_route,
)

DELIVERY = ("delivered", "dropped", "duplicated")
NOT_TOLD_APART = 0
"""Request number of frames of overlapping requests that could not be told apart."""
UNTOLD = "overlapping requests could not be told apart: their intervals are not known"
LATE_START = "its beginning was not recorded"
OUT_OF_ORDER = "times out of order: the intervals beside them are not known"
FROM_A_LOG = ROUTES.index("log")
SILENT_NS = 2_000_000_000
SILENT_INTERVALS = 4
"""A request that emits nothing for so long, in time and in its usual intervals, is over."""
LONGEST_NS = 30 * 86_400 * 1_000_000_000
"""Longer intervals are damage, not time."""


class Request:
    """A request of one process, as told by one route.

    Attributes:
        ordinal: its number in the session, in order of appearance.
        process_ordinal: its number in its process, from 0 after each loading.
        follows: it began after the process's first request had ended.
        followed: such a one has emitted (said of a first request).
        dropped: a better route tells of it.
        is_warmup: it is warm-up as a whole.
        landed: how its frames left their output; None where it is of another route than sinks.
        sink: the name of that output.
        fps: the target rate; None where none is known.
        spans: how long its named work takes.
        totals: its counted intervals.
        last: its emit of the highest number.
        emits, frames: what the log shows.
        tails: final tails outside its warm-up.
    """

    __slots__ = (
        "_changed", "_cpu_ns", "_cpu_time_ns", "_delivery", "_frames_missing", "_gaps",
        "_intervals_missing", "_paused_ns", "_settings", "_summary",
        "_times", "_unknown", "begin_ns", "detector", "dropped", "emits",
        "ended_ns", "first_emit_ns", "followed", "follows", "fps", "frames", "frames_said", "id",
        "is_warmup", "landed", "last", "number", "ordinal", "params", "player",
        "preprocess_done_ns", "proc", "process_ordinal", "received_ns", "route", "sink", "spans",
        "tails", "totals",
    )  # fmt: skip

    def __init__(
        self,
        settings: AnalysisSettings,
        proc: int,
        number: int,
        route: int,
        t_ns: int,
        ordinal: int,
        process_ordinal: int,
    ) -> None:
        self._settings = settings
        self.proc, self.number, self.route = proc, number, route
        self.begin_ns = t_ns
        self.ordinal, self.process_ordinal = ordinal, process_ordinal
        self.follows = self.followed = self.dropped = self.is_warmup = False
        self.landed: Kind | None = None
        self.sink: str | None = None
        self.id = str(nth_of_route(number)) if number != NOT_TOLD_APART else "?"
        self.params: dict[str, Any] = {}
        self.fps = usable_fps(settings.target_fps)
        self.received_ns: int | None = None
        self.preprocess_done_ns: int | None = None
        self.first_emit_ns: int | None = None
        self.ended_ns: int | None = None
        self.last: FrameEmit | None = None
        self.frames = self.emits = self.tails = 0
        self.frames_said: int | None = None
        self._delivery: dict[str, int] = {}
        self.totals = Totals()
        self.detector = TailDetector(settings.detect)
        self.player: Playout | None = None
        self._gaps = Gaps()
        self._intervals_missing = self._frames_missing = self._unknown = 0
        self._times = EmitTimes()
        self.spans = SpanMedians()
        self._paused_ns = self._cpu_ns = self._cpu_time_ns = 0
        self._changed = True
        self._summary: RequestSummary | None = None

    # ------------------------------------------------------------------------- its events

    def received(self, record: RequestReceived) -> None:
        """It arrived, with its parameters."""
        self._changed = True
        self.received_ns = record.t_ns
        self.id = record.id or self.id
        self.params = record.params
        if self.fps is None and self.emits == 0:
            self.fps = usable_fps(record.params.get("fps"))

    def joined(self, record: RequestReceived) -> None:
        """It arrived before the session began: who it is, not when it was to be answered.

        What came of it before then is in no session, so it is not missing here.
        """
        self._changed = True
        self.id = record.id or self.id
        self.params = self.params or record.params
        if self.fps is None and self.emits == 0:
            self.fps = usable_fps(record.params.get("fps"))

    def left_by(self, sink: str, params: dict[str, Any], landed: Kind) -> None:
        """Its frames leave through that output, which tells so much of them."""
        self._changed = True
        self.sink, self.landed = sink or None, landed
        self.params = self.params or params
        if self.fps is None and self.player is None:
            self.fps = usable_fps(params.get("fps"))

    def preprocessed(self, record: PreprocessDone) -> None:
        """Its input is on the device."""
        self._changed = True
        self.preprocess_done_ns = record.t_ns

    def has(self, frame: FrameEmit) -> bool:
        """Whether that emit is here already: told twice, it is not counted twice."""
        if self.number == NOT_TOLD_APART or self.last is None or frame.emit > self.last.emit:
            return False
        return frame.emit not in self._gaps

    def emitted(
        self, frame: FrameEmit, waits: Sequence[Wait], alone: bool, axis: int = 0, rank: int = 0
    ) -> Interval | None:
        """Frames came; the interval to the emit before, where it is known.

        Args:
            frame: an emit that it does not have yet.
            waits: the process's recent waiting for a person.
            alone: no other request of the process is open.
            axis: emits of the session before it.
            rank: intervals of the statistics before it.
        """
        self._changed = True
        previous = self.last
        follows = previous is not None and frame.emit == previous.emit + 1
        in_order = follows or previous is None or frame.emit > previous.emit
        if follows or self.number == NOT_TOLD_APART:
            self.last = frame
        elif in_order:
            self._miss_between(previous, frame)
            self.last = frame
        else:
            self._find(frame)
        self.emits += 1
        self.frames += frame.count
        self._times.add(frame.t_ns, frame.index, frame.count)
        if frame.emit == 0 and self.first_emit_ns is None:
            self.first_emit_ns = frame.t_ns
        warmup = frame.emit < self._settings.warmup.emits
        if self.spans.open:
            self.spans.close(warmup)
        if waits and previous is not None and in_order:
            self._paused_ns += self._waited_ns(waits, alone, previous.t_ns, frame)
        late = self._play(frame)
        begin = self._begin_of(frame, previous if follows else None)
        if begin is None:
            self._unknown += frame.emit > 0 or self.number == NOT_TOLD_APART
            return None
        waited = self._waited_ns(waits, alone, begin, frame) if waits else 0
        duration = frame.t_ns - begin - waited
        if waited and not duration:
            return None  # nothing but waiting
        if duration > LONGEST_NS:
            self._unknown += 1
            return None
        interval = Interval(
            frame=frame,
            previous=previous if follows and frame.interval_ns is None else None,
            begin_ns=begin,
            duration_ns=duration,
            warmup=warmup,
            late=late,
            axis=axis,
            rank=rank,
        )
        if not warmup:
            self.totals.add(frame.t_ns, duration, frame.count, self.fps)
            if follows and frame.cpu_ns is not None:
                self._count_cpu(frame, previous, duration)
        self.detector.add(interval)
        return interval

    def delivered(self, record: records.Delivery) -> None:
        """What became of its frames so far; the counts only grow."""
        told = {name: getattr(record, name) for name in DELIVERY}
        if sum(told.values()) >= sum(self._delivery.values()):
            self._changed, self._delivery = True, told

    def ended(self, record: StreamEnd) -> None:
        """Its last frame is out."""
        self._changed = True
        self.ended_ns = record.t_ns
        if record.frames is not None and record.frames >= 0:
            self.frames_said = record.frames
        self.detector.ended = True

    def has_tail(self) -> None:
        """One more tail of it is final."""
        self._changed = True
        self.tails += 1

    def settle(self) -> None:
        """Let go of what only its judgement needs, once it has ended and nothing is open."""
        if self.ended_ns is not None and not self.detector.open:
            self.detector.forget()

    # ----------------------------------------------------------------------------- parts

    def _begin_of(self, frame: FrameEmit, previous: FrameEmit | None) -> int | None:
        """Begin of its interval: as the log states it, else the emit right before."""
        if self.number == NOT_TOLD_APART or frame.emit == 0:
            return None
        if frame.interval_ns is not None:
            return frame.t_ns - frame.interval_ns if frame.interval_ns >= 0 else None
        if previous is None or previous.t_ns > frame.t_ns:
            return None
        return previous.t_ns

    def _miss_between(self, previous: FrameEmit | None, frame: FrameEmit) -> None:
        """Count the emits that should have come between two; the first may miss some too."""
        if previous is None:
            self._gaps.add(0, frame.emit)
            if self.received_ns is not None:
                self._intervals_missing += max(0, frame.emit - 1)
                self._frames_missing += frame.index if frame.emit else 0
        elif frame.emit > previous.emit + 1:
            self._gaps.add(previous.emit + 1, frame.emit)
            self._intervals_missing += frame.emit - previous.emit - 1
            self._frames_missing += max(0, frame.index - previous.index - previous.count)

    def _find(self, frame: FrameEmit) -> None:
        """An emit that was missing comes late."""
        self._gaps.remove(frame.emit)
        self._intervals_missing = max(0, self._intervals_missing - (frame.emit > 0))
        self._frames_missing = max(0, self._frames_missing - frame.count)

    def _play(self, frame: FrameEmit) -> bool | None:
        player = self.player
        if player is None:
            if self.fps is None or self.number == NOT_TOLD_APART:
                return None
            buffer = self._settings.playout.buffer_frames
            player = Playout(self.fps, None if buffer == "first_block" else int(buffer))
            self.player = player
        return player.add(frame.t_ns - self._paused_ns, frame.index, frame.count)

    def _waited_ns(self, waits: Sequence[Wait], alone: bool, begin: int, frame: FrameEmit) -> int:
        """How much of the time since ``begin`` the program waited for a person."""
        mine = waits_of(waits, frame, begin, alone, self._times.recent)
        return waited_ns(mine, begin, frame.t_ns) if mine else 0

    def _count_cpu(self, frame: FrameEmit, previous: FrameEmit | None, duration: int) -> None:
        if previous is None or previous.tid != frame.tid:
            return
        if frame.cpu_ns is not None and previous.cpu_ns is not None:
            self._cpu_ns += max(0, frame.cpu_ns - previous.cpu_ns)
            self._cpu_time_ns += duration

    # ------------------------------------------------------------------------- questions

    @property
    def left_out(self) -> bool:
        """Whether it stays out of the statistics: warm-up, or not known to be live."""
        return self.is_warmup or self.landed not in (None, "live")

    @property
    def first_frame_ms(self) -> float | None:
        """First-frame latency."""
        return _ms_between(self.received_ns, self.first_emit_ns)

    @property
    def preprocess_ms(self) -> float | None:
        """The part of it before sampling."""
        return _ms_between(self.received_ns, self.preprocess_done_ns)

    @property
    def sampling_ms(self) -> float | None:
        """The part of it after preprocessing."""
        if self.received_ns is None:
            return None
        return _ms_between(self.preprocess_done_ns, self.first_emit_ns)

    @property
    def newest_ns(self) -> int | None:
        """Time of its newest emit."""
        return self._times.newest_ns

    def is_silent(self, now_ns: int) -> bool:
        """Whether nothing came for so long that nothing more is to be expected."""
        newest, usual = self.newest_ns, self.detector.baseline.median()
        if newest is None or usual is None or self.last is None:
            return False
        return now_ns - newest > max(SILENT_NS, SILENT_INTERVALS * usual * self.last.count)

    @property
    def unknown_intervals(self) -> int:
        """Intervals that are not known: emits are missing, or times contradict each other.

        Where a text log ends before the frames do that the program counts, those are missing
        too, in emits of the commonest size.
        """
        rest = 0
        if self.route == FROM_A_LOG and self.last is not None and self.frames_said is not None:
            size = self.totals.commonest() or self.last.count
            rest = max(0, -(-(self.frames_said - self.frames - self._frames_missing) // size))
        return self._unknown + self._intervals_missing + rest

    @property
    def frames_made(self) -> int:
        """Frames, those included that are missing from the log as far as that can be told."""
        return max(self.frames_said or 0, self.frames + self._frames_missing)

    def index_at(self, t_ns: int) -> int | None:
        """Index of the last emit's first frame at a time; None before the first one."""
        return self._times.index_at(t_ns)

    def slack_ns(self, now_ns: int) -> float | None:
        """Video that lies ahead of its viewer; None where nothing plays."""
        return None if self.player is None else self.player.slack_ns(now_ns - self._paused_ns)

    def playout(self) -> PlayoutSummary:
        """What its viewer saw."""
        return self.player.summary() if self.player is not None else PlayoutSummary()

    def note(self) -> str | None:
        """What to know about its figures, in a few words."""
        if self.number == NOT_TOLD_APART:
            return UNTOLD
        notes = []
        if self.received_ns is None and self._gaps and 0 in self._gaps:
            notes.append(LATE_START)
        if self.frames_made > self.frames:
            notes.append(f"{self.frames} of {self.frames_made} frames are in the log")
        elif self.frames_said is not None and self.frames_said < self.frames:
            notes.append(f"the program counts {self.frames_said} frames")
        if self._unknown and not notes:
            notes.append(OUT_OF_ORDER)
        return "; ".join(notes) or None

    def summary(self, start_ns: int, warmup: bool) -> RequestSummary:
        """The request as the report shows it."""
        known = self._summary
        if known is None or self._changed or known.warmup != warmup:
            known = self._summary = self._make_summary(start_ns, warmup)
            self._changed = False
        return known

    def _make_summary(self, start_ns: int, warmup: bool) -> RequestSummary:
        share = self._cpu_ns / self._cpu_time_ns if self._cpu_time_ns else None
        timed = self.landed in (None, "live")
        return RequestSummary(
            id=self.id,
            warmup=warmup,
            received_ms=None if self.received_ns is None else (self.received_ns - start_ns) / 1e6,
            preprocess_ms=self.preprocess_ms,
            first_frame_ms=self.first_frame_ms,
            frames=self.frames_made,
            blocks=self.emits,
            ended=self.ended_ns is not None,
            interval_ms=self.totals.intervals() if timed else Quantiles(),
            tails=self.tails if timed else 0,
            spans=self.spans.medians_ms(),
            cpu_share=share,
            playout=self.playout() if timed else PlayoutSummary(),
            params=self.params,
            proc=self.proc,
            unknown_intervals=self.unknown_intervals if timed else 0,
            produced=None if self.number == NOT_TOLD_APART else self.frames_made,
            **self._delivery,
            note=self.note(),
            sink=self.sink,
            landed=self.landed,
        )


def _ms_between(begin_ns: int | None, end_ns: int | None) -> float | None:
    """None also where the second comes before the first: the order is damaged."""
    if begin_ns is None or end_ns is None or end_ns < begin_ns:
        return None
    return (end_ns - begin_ns) / 1e6
