"""One session, followed: its counters and what it is doing now, as families."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mgtop.analysis.summary import Summary
from mgtop.metrics.counted import Counted
from mgtop.metrics.families import HistogramValue, Labels
from mgtop.metrics.names import COUNTERS, GAUGES
from mgtop.report.follow import Follower
from mgtop.report.page import clean
from mgtop.report.samples import Sample, Sampled

STALE_S = 30.0
"""A reading that was not repeated for so long is no reading any more."""
LONGEST = 255
"""Characters of a label: as long as a name of a folder can be."""
MOST_DEVICES = 16

Value = tuple[str, Labels, float | HistogramValue]
"""Name of a metric, labels, value."""


class Measured:
    """Follows one session.

    Args:
        folder: the session's.

    Attributes:
        caught_up: all of it was read once; before that its counters would rise in a way that
            nothing in the program did.
        ended_ns: when it was first seen to have ended; None: it is live.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.follower = Follower(folder)
        self.counted = Counted(self.follower.model)
        self.caught_up = False
        self.ended_ns: int | None = None
        self._sampled: Sampled | None = None
        self._newest: dict[tuple[str, int | None], Sample] = {}

    @property
    def labels(self) -> Labels:
        """What tells it from other sessions."""
        return (("session", clean(self.folder.name)[:LONGEST]),)

    def poll(self, now_ns: int) -> bool:
        """Read some of what was written since; whether that was all of it."""
        records = self.follower.poll()
        if records:
            if self._sampled is None:
                self._sampled = Sampled(self.follower.model.about.start_ns)
            for sample in self._sampled.rows(records):
                if sample.pid is None and (sample.device or 0) < MOST_DEVICES:
                    self._newest[sample.name, sample.device] = sample
        if not self.follower.at_end:
            return False
        self.caught_up = True
        if self.follower.live:
            self.ended_ns = None
        elif self.ended_ns is None:
            self.ended_ns = now_ns
        return True

    def values(self, now_ns: int) -> Iterator[Value]:
        """What there is to tell at ``now_ns`` (``CLOCK_MONOTONIC``)."""
        own, live = self.labels, self.follower.live
        yield "mgtop_session_live", own, float(live)
        yield "mgtop_session_caught_up", own, float(self.caught_up)
        if not self.caught_up:
            return
        summary = self.follower.summary()
        self.counted.update(summary)
        yield from self._about(summary)
        yield from self._counters()
        if live:
            yield from self._now(summary, now_ns)

    def _about(self, summary: Summary) -> Iterator[Value]:
        start = self.follower.model.about.start
        route = summary.target.route or ""
        told = (("version", summary.environment.mgtop or ""), ("route", route))
        yield "mgtop_session_info", self.labels + told, 1.0
        if start is not None and start.wall_ns:
            yield "mgtop_session_start_time_seconds", self.labels, start.wall_ns / 1e9

    def _counters(self) -> Iterator[Value]:
        own, counted = self.labels, self.counted
        yield "mgtop_interval_seconds", own, counted.intervals.value()
        yield "mgtop_first_frame_seconds", own, counted.first_frames.value()
        for cause, frames in counted.late.items():
            labels = (*own, ("cause", cause))
            yield "mgtop_late_frames_total", labels, float(frames)
            yield "mgtop_late_seconds_total", labels, counted.late_s[cause]
        for name, (metric, label, scale) in COUNTERS.items():
            labels = own if label is None else (*own, ("kind", label))
            yield metric, labels, counted.sums[name] * scale

    def _now(self, summary: Summary, now_ns: int) -> Iterator[Value]:
        own, follower = self.labels, self.follower
        yield "mgtop_recorder_age_seconds", own, max(0.0, (now_ns - follower.end_ns) / 1e9)
        newest = follower.model.traffic.newest
        if newest is not None and newest.newest_ns is not None:
            if newest.ended_ns is None:
                yield "mgtop_frame_age_seconds", own, max(0.0, (now_ns - newest.newest_ns) / 1e9)
                slack_ns = newest.slack_ns(now_ns)
                if slack_ns is not None:
                    yield "mgtop_slack_seconds", own, slack_ns / 1e9
            if newest.fps is not None:
                yield "mgtop_target_frames_per_second", own, newest.fps
        if summary.memory.frames_to_limit is not None:
            yield "mgtop_frames_to_memory_limit", own, float(summary.memory.frames_to_limit)
        begin_ns = follower.model.about.start_ns
        for (name, device), sample in self._newest.items():
            if name not in GAUGES:
                continue
            if now_ns - (begin_ns + sample.t_ms * 1e6) > STALE_S * 1e9:
                continue
            metric, scale = GAUGES[name]
            labels = own if device is None else (*own, ("gpu", str(device)))
            yield metric, labels, sample.value * scale
