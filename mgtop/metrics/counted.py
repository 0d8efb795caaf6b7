"""What only grows: the counters of one session, from its begin, whoever comes when.

The report's figures can fall: a first request becomes warm-up once another follows, a better
route tells of the same frames. A counter must not, so each thing is counted once, as it is known
at that place of the log (whenever that is read), and sums are kept at the most that they were.
"""

from __future__ import annotations

from collections import Counter

from mgtop.analysis.causes import UNEXPLAINED, all_causes
from mgtop.analysis.judged import Judged
from mgtop.analysis.model import Model
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import Summary
from mgtop.analysis.tails import Interval
from mgtop.metrics.histogram import Histogram
from mgtop.wire import records as r

INTERVAL_S = (
    0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0,
    2.0, 5.0, 10.0,
)  # fmt: skip
FIRST_FRAME_S = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0)
LOOK_BACK = 256
"""Requests of which the first frame is looked for; more do not begin between two looks."""


class Counted:
    """Follows a model.

    Attributes:
        intervals: time between emits, those of the warm-up left out.
        first_frames: from request to first frame.
        late, late_s: late frames by cause, and what they lost.
        sums: other counters by name, each at the most that it was.
    """

    def __init__(self, model: Model) -> None:
        self.intervals = Histogram(INTERVAL_S)
        self.first_frames = Histogram(FIRST_FRAME_S)
        causes = [*(cause.name for cause in all_causes()), UNEXPLAINED]
        self.late: dict[str, int] = dict.fromkeys(causes, 0)
        self.late_s: dict[str, float] = dict.fromkeys(causes, 0.0)
        self.sums: Counter[str] = Counter()
        self._model = model
        self._first_frames: set[int] = set()
        """Ordinals of requests whose first frame was counted."""
        model.on_emit = self._emitted
        model.on_judged = self._tail

    def _emitted(self, request: Request, frame: r.FrameEmit, interval: Interval | None) -> None:
        self.sums["emits"] += 1
        self.sums["frames"] += frame.count
        if interval is not None and not interval.warmup and not request.left_out:
            self.intervals.add(interval.duration_ns / 1e9)

    def _tail(self, judged: Judged) -> None:
        if judged.warmup or judged.request.left_out:
            return
        cause = judged.tail.cause or UNEXPLAINED
        self.late[cause] += 1
        self.late_s[cause] += judged.excess_ns / 1e9

    def update(self, summary: Summary) -> None:
        """Take in what is known by now."""
        for request in self._model.traffic.requests[-LOOK_BACK:]:
            latency_ms = request.first_frame_ms
            if latency_ms is not None and request.ordinal not in self._first_frames:
                self._first_frames.add(request.ordinal)
                self.first_frames.add(latency_ms / 1e3)
        losses, memory = summary.losses, summary.memory
        self._at_least("requests", len(summary.requests))
        self._at_least("events_dropped", losses.events_dropped)
        self._at_least("events_malformed", losses.events_malformed)
        self._at_least("samples_missed", losses.samples_missed)
        self._at_least("log_damaged", losses.log_damaged)
        self._at_least("allocator_retries", memory.retries or 0)
        self._at_least("ooms", len(memory.ooms))
        played = [q.playout for q in summary.requests]
        self._at_least("underruns", sum(p.underruns or 0 for p in played))
        self._at_least("stall_ms", sum(round(p.stall_ms or 0) for p in played))

    def _at_least(self, name: str, value: int) -> None:
        self.sums[name] = max(self.sums[name], value)
