"""One request: its events in order, its intervals, its player and its tails."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from mgtop.analysis.playout import Playout
from mgtop.analysis.statistics import Samples
from mgtop.analysis.summary import PlayoutSummary, RequestSummary
from mgtop.analysis.tails import Interval, TailDetector
from mgtop.analysis.totals import Combined, Totals
from mgtop.config.structs import AnalysisSettings
from mgtop.wire.records import FrameEmit, PreprocessDone, RequestReceived, StreamEnd, Wait

TOLD_APART = 0
"""Request number of frames that could not be told apart."""
UNTOLD = "overlapping requests could not be told apart: their intervals are not known"
LOST = "frames are missing from the log: the intervals beside them are not known"
MOST_WAITS = 64


class Request:
    """A request of one process, as told by one route.

    Attributes:
        totals: its counted intervals.
        ordinal: its number in the session, in order of appearance.
        process_ordinal: its number in its process.
    """

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
        self.id = str(number) if number else "?"
        self.params: dict[str, Any] = {}
        self.received_ns: int | None = None
        self.preprocess_done_ns: int | None = None
        self.first_emit_ns: int | None = None
        self.last: FrameEmit | None = None
        self.frames = self.emits = self.counted = self.unknown = 0
        self.frames_said: int | None = None
        self.ended_ns: int | None = None
        self.followed = False
        """Whether another request of the process began after this one had ended."""
        self.totals = Totals()
        self.detector = TailDetector(settings.detect)
        self.player: Playout | None = None
        self.tails = 0
        """Final tails outside its warm-up."""
        self.times = array("q")
        """Times of its emits; :attr:`indices` beside it."""
        self.indices = array("q")
        self.spans: dict[str, Samples] = {}
        self._open_spans: dict[str, int] = {}
        self._cpu_ns = self._cpu_time_ns = 0

    # ------------------------------------------------------------------------- its events

    def received(self, record: RequestReceived) -> None:
        """It arrived, with its parameters."""
        self.received_ns = record.t_ns
        self.id = record.id or self.id
        self.params = record.params

    def preprocessed(self, record: PreprocessDone) -> None:
        """Its input is on the device."""
        self.preprocess_done_ns = record.t_ns

    def span(self, name: str, duration_ns: int) -> None:
        """Named work was done for it."""
        self._open_spans[name] = self._open_spans.get(name, 0) + duration_ns

    def emitted(self, frame: FrameEmit, waits: Sequence[Wait]) -> Interval | None:
        """Frames came; the interval to the emit before, where it is known."""
        previous, self.last = self.last, frame
        self.emits += 1
        self.frames += frame.count
        self.times.append(frame.t_ns)
        self.indices.append(frame.index)
        if self.first_emit_ns is None and frame.index == 0:
            self.first_emit_ns = frame.t_ns
        self._close_spans()
        late = self._play(frame)
        begin = self._begin_of(frame, previous)
        if begin is None:
            if frame.index > 0 or previous is not None:
                self.unknown += 1
            return None
        duration = frame.t_ns - begin - waited_ns(waits, begin, frame.t_ns)
        if duration <= 0:
            self.unknown += 1
            return None
        self._count_cpu(frame, previous, duration)
        interval = Interval(
            frame=frame,
            previous=previous if frame.interval_ns is None else None,
            begin_ns=begin,
            duration_ns=duration,
            warmup=frame.emit < self._settings.warmup.emits,
            late=late,
        )
        if not interval.warmup:
            self.counted += 1
            self.totals.add(begin, duration, frame.count, self.fps)
        self.detector.add(interval)
        return interval

    def ended(self, record: StreamEnd) -> None:
        """Its last frame is out."""
        self.ended_ns = record.t_ns
        self.frames_said = record.frames
        self.detector.ended = True

    # ----------------------------------------------------------------------------- parts

    @property
    def fps(self) -> float | None:
        """The target rate: the settings', else the request's own."""
        if self._settings.target_fps is not None:
            return self._settings.target_fps
        fps = self.params.get("fps")
        if isinstance(fps, (int, float)) and not isinstance(fps, bool) and fps > 0:
            return float(fps)
        return None

    def _begin_of(self, frame: FrameEmit, previous: FrameEmit | None) -> int | None:
        if self.number == TOLD_APART:
            return None
        if frame.interval_ns is not None:
            return frame.t_ns - frame.interval_ns if frame.interval_ns > 0 else None
        if previous is None or previous.t_ns > frame.t_ns:
            return None
        follows = frame.emit == previous.emit + 1 and frame.index == previous.index + previous.count
        return previous.t_ns if follows else None

    def _play(self, frame: FrameEmit) -> bool | None:
        if self.number == TOLD_APART:
            return None
        if self.player is None:
            fps = self.fps
            if fps is None:
                return None
            buffer = self._settings.playout.buffer_frames
            self.player = Playout(fps, None if buffer == "first_block" else int(buffer))
        return self.player.add(frame.t_ns, frame.index, frame.count)

    def _close_spans(self) -> None:
        for name, duration in self._open_spans.items():
            self.spans.setdefault(name, Samples()).add(duration / 1e6)
        self._open_spans.clear()

    def _count_cpu(self, frame: FrameEmit, previous: FrameEmit | None, duration: int) -> None:
        if previous is None or previous.tid != frame.tid:
            return
        if frame.cpu_ns is not None and previous.cpu_ns is not None:
            self._cpu_ns += max(0, frame.cpu_ns - previous.cpu_ns)
            self._cpu_time_ns += duration

    # --------------------------------------------------------------------------- summary

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
        return _ms_between(self.preprocess_done_ns, self.first_emit_ns)

    def index_at(self, t_ns: int) -> int | None:
        """Index of the last emit's first frame at a time; None before the first one."""
        at = bisect_right(self.times, t_ns)
        return self.indices[at - 1] if at else None

    def playout(self) -> PlayoutSummary:
        """What its viewer saw."""
        return self.player.summary() if self.player is not None else PlayoutSummary()

    def note(self) -> str | None:
        """Why some of its intervals are not known."""
        if self.number == TOLD_APART:
            return UNTOLD
        return LOST if self.unknown else None

    def summary(self, start_ns: int, warmup: bool) -> RequestSummary:
        """The request as the report shows it."""
        share = self._cpu_ns / self._cpu_time_ns if self._cpu_time_ns else None
        return RequestSummary(
            id=self.id,
            warmup=warmup,
            received_ms=None if self.received_ns is None else (self.received_ns - start_ns) / 1e6,
            preprocess_ms=self.preprocess_ms,
            first_frame_ms=self.first_frame_ms,
            frames=self.frames,
            blocks=self.emits,
            ended=self.ended_ns is not None,
            interval_ms=Combined([self.totals]).intervals(),
            tails=self.tails,
            spans={name: found.median() or 0.0 for name, found in self.spans.items()},
            cpu_share=share,
            playout=self.playout(),
            params=self.params,
            proc=self.proc,
            unknown_intervals=self.unknown,
            note=self.note(),
        )


def waited_ns(waits: Sequence[Wait], begin_ns: int, end_ns: int) -> int:
    """How much of begin … end was spent waiting for a person (overlaps counted once)."""
    covered = 0
    reached = begin_ns
    for wait in sorted(waits, key=lambda wait: wait.t_ns - wait.duration_ns):
        begin = max(wait.t_ns - wait.duration_ns, reached)
        end = min(wait.t_ns, end_ns)
        if end > begin:
            covered += end - begin
            reached = end
    return covered


def _ms_between(begin_ns: int | None, end_ns: int | None) -> float | None:
    return None if begin_ns is None or end_ns is None else (end_ns - begin_ns) / 1e6
