"""Long-tail frames: found at their emit, judged finally once nothing can change any more.

A tail is *provisional* at its emit. It is *final* when every living source has reported past
its end, at the latest two seconds later in the log's time, or when the log has ended. Three
things keep it open beyond that, since judging it would be guessing: it stands in a row of
emits above the rule that may yet become a level shift (unless the next emit is overdue: then
the row ends here); the first emits of a stream are compared with later ones too, so they take
the two seconds in full; and where there is nothing to compare with yet, it waits for the
first other intervals.

Only the order of records decides, never the time of day, so that live and replay agree.
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
FEWEST_OTHERS = 2
"""With one other interval, it cannot be told which of the two is the unusual one: while the
request goes on, more are waited for."""
UNCOUNTED = -1
OVERDUE = 2
"""The next emit of a row above the rule is overdue after so many times the last interval, and
after :data:`LATEST_NS` at least: nothing is held up by what may never come."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """One known interval between two emits of a request."""

    frame: FrameEmit
    previous: FrameEmit | None
    """The emit right before; None where the log states the interval."""
    begin_ns: int
    duration_ns: int
    """Without time spent waiting for a person."""
    warmup: bool
    late: bool | None
    """Whether the viewer noticed; None where nothing played yet."""
    axis: int = 0
    """Emits of the session before its own."""
    rank: int = 0
    """Intervals of the statistics before it."""

    @property
    def per_frame_ns(self) -> float:
        """Interval / frames."""
        return self.duration_ns / self.frame.count


class Candidate:
    """An interval that is, or may turn out to be, a tail."""

    __slots__ = ("early", "excess_ns", "interval", "is_tail", "median_ns", "number", "since_ns")

    def __init__(self, interval: Interval, number: int, early: bool, since_ns: int) -> None:
        self.interval = interval
        self.number = number
        """Its place among the counted intervals of the stream."""
        self.early = early
        """Judged against what comes later as well."""
        self.since_ns = since_ns
        """Where the level began that it is judged by."""
        self.is_tail = False
        self.median_ns = 0
        self.excess_ns = 0

    def judge(self, median: float | None, detect: Detect) -> None:
        """Compare with a baseline (ns per frame)."""
        interval = self.interval
        x, count = interval.per_frame_ns, interval.frame.count
        self.is_tail = median is not None and side_of(x, count, median, detect) == "above"
        if median is not None:
            self.median_ns = round(median * count)
            self.excess_ns = interval.duration_ns - self.median_ns


class TailDetector:
    """Finds the tails of one request.

    Attributes:
        baseline: its usual interval.
        open: candidates that are not final yet, oldest first.
        ended: no emits are to be expected any more.
    """

    __slots__ = ("_added", "_detect", "_due_ns", "baseline", "ended", "open")

    def __init__(self, detect: Detect) -> None:
        self._detect = detect
        self._added = 0
        self._due_ns = 0
        """When the emit after the last counted one is overdue."""
        self.baseline = Baseline(detect)
        self.open: list[Candidate] = []
        self.ended = False

    def add(self, interval: Interval) -> None:
        """Take the next interval of the request."""
        if interval.warmup:
            self.open.append(Candidate(interval, UNCOUNTED, True, self.baseline.since_ns))
            return
        baseline = self.baseline
        x, count = interval.per_frame_ns, interval.frame.count
        if baseline.row:
            self._end_overdue_row(interval.frame.t_ns)
            if baseline.completes_shift(x, count):
                self._close_level()
        early, shifts = not baseline.settled, baseline.shifts
        side, median = baseline.add(x, count, interval.begin_ns)
        if baseline.shifts > shifts:
            # What looked like tails was the beginning of another level. Among themselves they
            # are judged like the first emits of a stream.
            early = True
            for candidate in self.open:
                if candidate.number >= self._added - baseline.known + 1:
                    candidate.early, candidate.since_ns = True, baseline.since_ns
        if early or side == "above":
            candidate = Candidate(interval, self._added, early, baseline.since_ns)
            if not early:
                candidate.judge(median, self._detect)
            self.open.append(candidate)
            self._due_ns = interval.frame.t_ns + max(LATEST_NS, OVERDUE * interval.duration_ns)
        self._added += 1

    def provisional(self) -> list[Candidate]:
        """Open candidates that are tails by what is known now."""
        for candidate in self.open:
            if candidate.early:
                self._judge_early(candidate)
        return [candidate for candidate in self.open if candidate.is_tail]

    def take_final(self, passed: Passed, end: bool = False) -> list[Candidate]:
        """Remove and return the tails that are final once everything ``passed`` is known."""
        self._end_overdue_row(passed.latest_ns + LATEST_NS)
        still_open: list[Candidate] = []
        final: list[Candidate] = []
        for candidate in self.open:
            if not end and self._is_open(candidate, passed):
                still_open.append(candidate)
                continue
            if candidate.early:
                self._judge_early(candidate)
            if candidate.is_tail:
                final.append(candidate)
        self.open = still_open
        return final

    def forget(self) -> None:
        """Let go of what is only needed while the request goes on."""
        self.baseline.forget()

    # --------------------------------------------------------------------------- inside

    def _is_open(self, candidate: Candidate, passed: Passed) -> bool:
        end_ns = candidate.interval.frame.t_ns
        if end_ns > passed.all_ns:
            return True
        if self.ended:
            return False
        if candidate.early and (end_ns > passed.latest_ns or not self._can_judge(candidate)):
            return True
        return candidate.number >= self._run_starts

    def _end_overdue_row(self, now_ns: int) -> None:
        """What stands in the row so far are tails: no level shift is coming."""
        if self.baseline.run_above and now_ns > self._due_ns:
            self.baseline.end_run()

    @property
    def _run_starts(self) -> int:
        """Number of the first interval in the row above the rule; the next one's, if none."""
        return self._added - self.baseline.run_above

    def _can_judge(self, candidate: Candidate) -> bool:
        others = self.baseline.known - (candidate.number != UNCOUNTED)
        return others >= FEWEST_OTHERS

    def _judge_early(self, candidate: Candidate) -> None:
        own = None if candidate.number == UNCOUNTED else candidate.interval.per_frame_ns
        candidate.judge(self.baseline.median_of_others(own), self._detect)

    def _close_level(self) -> None:
        """The level ends: the first emits of it are judged by it, not by the next one."""
        for candidate in self.open:
            if candidate.early and candidate.number < self._run_starts:
                median = self.baseline.median_of_level(candidate.interval.per_frame_ns)
                candidate.judge(median, self._detect)
                candidate.early = False


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
