"""Long-tail frames: found at their emit, judged finally once nothing can change any more.

A tail is *provisional* at its emit. It is *final* when every living source has reported past
its end (or two seconds of the log's time have gone by, or the log has ended) and it is
decided whether it was the beginning of a level shift. Only the order of records decides,
never the time of day, so that live and replay agree.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mgtop.analysis.baseline import Baseline, side_of
from mgtop.analysis.summary import CauseShare, Evidence, Tail
from mgtop.config.structs import Detect
from mgtop.wire.records import FrameEmit

LATEST_NS = 2_000_000_000
"""A tail is judged at the latest when the log is this far past its end."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """One known interval between two emits of a request."""

    frame: FrameEmit
    previous: FrameEmit | None
    begin_ns: int
    duration_ns: int
    """Without time spent waiting for a person."""
    warmup: bool
    late: bool | None
    """Whether the viewer noticed; None where nothing played yet."""

    @property
    def per_frame_ns(self) -> float:
        """Interval / frames."""
        return self.duration_ns / self.frame.count


class Candidate:
    """An interval that is, or may turn out to be, a tail."""

    __slots__ = ("early", "excess_ns", "interval", "is_tail", "median_ns", "stream")

    def __init__(self, interval: Interval, stream: TailDetector, early: bool) -> None:
        self.interval = interval
        self.stream = stream
        self.early = early
        """Judged against what comes later as well."""
        self.is_tail = False
        self.median_ns = 0.0
        self.excess_ns = 0.0

    def judge(self, median: float | None, detect: Detect) -> None:
        """Compare with a baseline (ns per frame)."""
        interval = self.interval
        x = interval.per_frame_ns
        self.is_tail = (
            median is not None and side_of(x, interval.frame.count, median, detect) == "above"
        )
        if median is not None:
            self.median_ns = median * interval.frame.count
            self.excess_ns = interval.duration_ns - self.median_ns


class TailDetector:
    """Finds the tails of one request.

    Attributes:
        open: candidates that are not final yet, oldest first.
    """

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self.baseline = Baseline(detect)
        self.open: list[Candidate] = []
        self.ended = False

    def add(self, interval: Interval) -> None:
        """Take the next interval of the request."""
        baseline = self.baseline
        x = interval.per_frame_ns
        if interval.warmup or not baseline.settled:
            self.open.append(Candidate(interval, self, early=True))
            if not interval.warmup:
                baseline.add(x, interval.frame.count, interval.begin_ns)
            return
        median = baseline.median()
        verdict = baseline.add(x, interval.frame.count, interval.begin_ns)
        if verdict == "above":
            candidate = Candidate(interval, self, early=False)
            candidate.judge(median, self._detect)
            self.open.append(candidate)
        elif verdict == "shift":
            # What looked like tails was the beginning of another level.
            since = baseline.since_ns
            self.open = [c for c in self.open if c.early or c.interval.begin_ns < since]

    def provisional(self) -> list[Candidate]:
        """Open candidates that are tails by what is known now."""
        for candidate in self.open:
            if candidate.early:
                self._judge_early(candidate)
        return [candidate for candidate in self.open if candidate.is_tail]

    def take_final(self, passed: Passed, end: bool = False) -> list[Candidate]:
        """Remove and return the tails that are final once everything ``passed`` is known."""
        final: list[Candidate] = []
        while self.open:
            candidate = self.open[0]
            if not end and self._is_open(candidate, passed):
                break
            del self.open[0]
            if candidate.early:
                self._judge_early(candidate)
            if candidate.is_tail:
                final.append(candidate)
        return final

    def _is_open(self, candidate: Candidate, passed: Passed) -> bool:
        end_ns = candidate.interval.frame.t_ns
        if end_ns > passed.all_ns:
            return True
        if self.ended:
            return False
        if candidate.early:
            # What comes later is part of its baseline: wait as long as may be.
            return end_ns > passed.latest_ns
        return self.baseline.in_run

    def _judge_early(self, candidate: Candidate) -> None:
        interval = candidate.interval
        if interval.warmup:
            median = self.baseline.median() if self.baseline.known > 1 else None
        else:
            median = self.baseline.early_median(interval.per_frame_ns)
        candidate.judge(median, self._detect)


class Passed(msgspec.Struct, frozen=True):
    """How far the log has come: all living sources (``all_ns``), and two seconds ago."""

    all_ns: int
    latest_ns: int

    @classmethod
    def of(cls, newest_ns: int, covered_ns: Mapping[str, int]) -> Passed:
        """From the newest time in the log and the sources' watermarks."""
        latest = newest_ns - LATEST_NS
        return cls(max(latest, min(covered_ns.values())) if covered_ns else latest, latest)


def make_tail(
    candidate: Candidate,
    request: str,
    start_ns: int,
    final: bool,
    cause: str | None = None,
    causes: list[CauseShare] | None = None,
    evidence: list[Evidence] | None = None,
) -> Tail:
    """The tail as the report and the screen show it."""
    frame = candidate.interval.frame
    return Tail(
        request=request,
        index=frame.index,
        emit=frame.emit,
        t_ms=(frame.t_ns - start_ns) / 1e6,
        interval_ms=candidate.interval.duration_ns / 1e6,
        excess_ms=candidate.excess_ns / 1e6,
        visible=candidate.interval.late,
        cause=cause,
        causes=causes or [],
        evidence=evidence or [],
        count=frame.count,
        final=final,
        proc=frame.proc,
    )
