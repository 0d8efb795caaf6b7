"""How right mgtop was: truth and report in, counts with their uncertainty out. Pure.

Every emit whose interval was struck is judged, and so is every late frame that nothing struck.
Only the truth decides what should have been found: the usual interval is the median of the
emits before that nothing struck, and an emit should be a late frame where its interval, as the
generator measured it, breaks the rule (over 2 × that median, and over it by 8 ms) clearly.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import median
from typing import Any

from benchmarks.truth.expected import (
    CAUSES,
    UNEXPLAINED,
    WHOLE_PROCESS,
    is_seen,
    right_answers,
)
from benchmarks.truth.truth import Emit, Outside, Strike, Truth

RATIO, FLOOR_MS = 2.0, 8.0
"""The rule for late frames (the documented default)."""
HISTORY, ENOUGH = 240, 8
"""Emits of the recent past that make the usual interval, and how many it takes at least."""
DOUBT = 0.05
"""Intervals within this share of the rule are not judged: with struck emits left out or not,
the usual interval differs by as much."""
WARMUP_EMITS = 2
NEAR = 0.25
"""A time explained is right within this share of the time injected."""
FELT = 0.1
"""A strike counts for an interval of which it took at least this share of the excess."""
BUSY_CORES, FREE_CORES = 0.3, 0.2
"""An interval is disturbed where other programs used so much of a core, or where less than this
was free at all: then threads may have waited for a core, whatever was ordered."""
NOT_FOUND = "not found"


@dataclass(frozen=True)
class Judged:
    """One emit that was struck, or late by itself.

    Args:
        faults: what struck it; empty: nothing did.
        injected_ms: how long each fault held this interval up.
        should: whether it should be found as a late frame.
        cause: what the report names; None: not found.
        explained_ms: the report's shares by cause.
        disturbed: cores were short meanwhile, by the kernel's account of the whole machine.
        alone: all strikes were meant for this emit (else another request's struck it too).
    """

    character: str
    level: str
    faults: tuple[str, ...]
    injected_ms: Mapping[str, float]
    interval_ms: float
    usual_ms: float
    should: bool
    cause: str | None
    explained_ms: Mapping[str, float] = field(default_factory=dict)
    disturbed: bool = False
    alone: bool = True


@dataclass(frozen=True)
class Count:
    """So many of so many, with the 95 % interval of the share (Wilson)."""

    hits: int
    n: int

    @property
    def share(self) -> float | None:
        """Hits / n; None where there is nothing to say."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's score interval, z = 1.96 (Wilson 1927)."""
        if not self.n:
            return None
        z = 1.959964
        p, n = self.hits / self.n, self.n
        centre = p + z * z / (2 * n)
        reach = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        scale = 1 + z * z / n
        low = 0.0 if self.hits == 0 else max(0.0, (centre - reach) / scale)
        high = 1.0 if self.hits == self.n else min(1.0, (centre + reach) / scale)
        return low, high

    def as_dict(self) -> dict[str, Any]:
        """For the result file."""
        interval = self.interval
        return {
            "hits": self.hits,
            "n": self.n,
            "share": None if self.share is None else round(self.share, 6),
            "low": None if interval is None else round(interval[0], 6),
            "high": None if interval is None else round(interval[1], 6),
        }


def count(flags: Iterable[bool]) -> Count:
    """Count what is true."""
    all_flags = list(flags)
    return Count(sum(all_flags), len(all_flags))


# ------------------------------------------------------------------------- one run


@dataclass(frozen=True)
class _Interval:
    emit: Emit
    begin_ns: int

    @property
    def end_ns(self) -> int:
        return self.emit.t_ns

    @property
    def ms(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e6


@dataclass(frozen=True)
class RunScore:
    """One run, judged. ``emits`` and ``frames``: how many intervals nothing struck."""

    judged: list[Judged]
    emits: int
    frames: int


def judge(truth: Truth, report: Mapping[str, Any], character: str, level: str) -> RunScore:
    """Judge one run.

    Args:
        truth: what happened.
        report: ``mgtop report --json`` of it.
        character: of the generator.
        level: of evidence.
    """
    tails = {(tail["request"], tail["index"]): tail for tail in report["tails"]["frames"]}
    judged: list[Judged] = []
    emits = frames = 0
    for request, intervals in _intervals(truth.emits).items():
        struck = {i.emit.emit: _felt(i, request, truth.strikes) for i in intervals}
        for at, interval in enumerate(intervals):
            usual = _usual_ms(intervals, struck, at)
            if usual is None:
                continue
            strikes = struck[interval.emit.emit]
            tail = tails.pop((request, interval.emit.index), None)
            if not strikes:
                emits += 1
                frames += interval.emit.count
            if tail is None and (not strikes or not _is_late(interval.ms, usual)):
                continue
            judged.append(_judged(interval, request, strikes, usual, tail, truth, character, level))
    return RunScore(judged, emits, frames)


def _intervals(emits: Sequence[Emit]) -> dict[str, list[_Interval]]:
    found: dict[str, list[_Interval]] = defaultdict(list)
    last: dict[str, Emit] = {}
    for emit in emits:
        before = last.get(emit.request)
        last[emit.request] = emit
        if before is not None and before.emit == emit.emit - 1 and emit.emit >= WARMUP_EMITS:
            found[emit.request].append(_Interval(emit, before.t_ns))
    return found


def _felt(interval: _Interval, request: str, strikes: Sequence[Strike]) -> list[Strike]:
    """The strikes that this interval felt."""
    felt = []
    for strike in strikes:
        if strike.end_ns <= interval.begin_ns or strike.begin_ns >= interval.end_ns:
            continue
        everybodys = strike.request is None or strike.fault in WHOLE_PROCESS
        if everybodys or (strike.request, strike.emit) == (request, interval.emit.emit):
            felt.append(strike)
    return felt


def _is_late(interval_ms: float, usual_ms: float) -> bool:
    margin = 1 + DOUBT
    return interval_ms > margin * RATIO * usual_ms and (interval_ms > usual_ms + margin * FLOOR_MS)


def _usual_ms(
    intervals: Sequence[_Interval], struck: Mapping[int, Sequence[Strike]], at: int
) -> float | None:
    """The median of the unstruck intervals of the recent past; of all where those are few."""
    quiet = [i.ms for i in intervals[max(0, at - HISTORY) : at] if not struck[i.emit.emit]]
    if len(quiet) < ENOUGH:
        quiet = [i.ms for i in intervals if not struck[i.emit.emit]]
    return median(quiet) if quiet else None


def _judged(
    interval: _Interval,
    request: str,
    strikes: Sequence[Strike],
    usual_ms: float,
    tail: Mapping[str, Any] | None,
    truth: Truth,
    character: str,
    level: str,
) -> Judged:
    excess_ms = interval.ms - usual_ms
    injected: dict[str, float] = defaultdict(float)
    for strike in strikes:
        inside = min(strike.end_ns, interval.end_ns) - max(strike.begin_ns, interval.begin_ns)
        injected[strike.fault] += inside / 1e6
    for fault in injected:
        if CAUSES[fault] in ("cpu_contention", "neighbour"):
            # What it takes away is not its duration, but what the emit lost by it.
            injected[fault] = max(0.0, excess_ms)
    faults = tuple(
        sorted(f for f, ms in injected.items() if excess_ms <= 0 or ms >= FELT * excess_ms)
    )
    return Judged(
        character=character,
        level=level,
        faults=faults,
        injected_ms=dict(injected),
        interval_ms=interval.ms,
        usual_ms=usual_ms,
        should=bool(faults) and level != "observe" and _is_late(interval.ms, usual_ms),
        cause=None if tail is None else tail["cause"],
        explained_ms=(
            {} if tail is None else {c["name"]: c["explained_ms"] for c in tail["causes"]}
        ),
        disturbed=disturbed(truth.outside, interval.begin_ns, interval.end_ns),
        alone=all(s.request is None or s.request == request for s in strikes),
    )


def disturbed(outside: Sequence[Outside], begin_ns: int, end_ns: int) -> bool:
    """Whether cores were short in any reading that overlaps an interval."""
    at = bisect_left(outside, begin_ns, key=lambda reading: reading.t_ns)
    for reading in outside[at:]:
        if reading.t_ns - reading.period_ns >= end_ns:
            break
        if reading.cores >= BUSY_CORES or reading.free < FREE_CORES:
            return True
    return False


# ------------------------------------------------------------------------- all runs


def is_right(judged: Judged) -> bool:
    """Whether the one cause named is the right one, or rightly none."""
    (fault,) = judged.faults
    return judged.cause in right_answers(fault, judged.level, judged.character)


def is_right_set(judged: Judged) -> bool:
    """Whether exactly the causes of both faults are named.

    Where cores were short meanwhile, ``cpu_contention`` beside them is true as well.
    """
    right = {CAUSES[fault] for fault in judged.faults}
    also = {"cpu_contention"} if judged.disturbed else set()
    return right <= set(judged.explained_ms) <= right | also


def is_near(judged: Judged) -> bool:
    """Whether the time explained by the right cause is the time injected, within a quarter."""
    (fault,) = judged.faults
    injected = judged.injected_ms[fault]
    explained = judged.explained_ms.get(CAUSES[fault], 0.0)
    return abs(explained - injected) <= NEAR * injected


def is_named(judged: Judged) -> bool:
    """Whether any cause is named."""
    return judged.cause not in (None, UNEXPLAINED)


def singles(judged: Iterable[Judged]) -> list[Judged]:
    """Found emits that a single fault struck."""
    return [j for j in judged if j.should and len(j.faults) == 1 and j.cause is not None]


def metrics(runs: Sequence[RunScore], clean: Sequence[RunScore]) -> dict[str, Any]:
    """The metrics of some runs; ``clean``: those in which no fault was ordered."""
    judged = [j for run in runs for j in run.judged]
    single = singles(judged)
    seen = [j for j in single if is_seen(j.faults[0], j.level, j.character)]
    unseen = [j for j in single if not is_seen(j.faults[0], j.level, j.character)]
    pairs = [
        j
        for j in judged
        if j.should
        and j.cause is not None
        and len({CAUSES[f] for f in j.faults}) == 2
        and j.alone
        and j.level == "spans"
    ]
    right = [j for j in seen if is_right(j)]
    named = [j for run in clean for j in run.judged if is_named(j)]
    honest = [j for j in named if j.cause == "cpu_contention" and j.disturbed]
    emits = sum(run.emits for run in clean)
    return {
        "found": count(j.cause is not None for j in judged if j.should).as_dict(),
        "right": Count(len(right), len(seen)).as_dict(),
        "right_pair": count(is_right_set(j) for j in pairs).as_dict(),
        "near": count(is_near(j) for j in right if CAUSES[j.faults[0]] == j.cause).as_dict(),
        "unseen_named": count(is_named(j) for j in unseen).as_dict(),
        "clean_named": {
            **Count(len(named) - len(honest), emits).as_dict(),
            "frames": sum(run.frames for run in clean),
            "late": sum(len(run.judged) for run in clean),
            "named_for_outside_load": len(honest),
        },
        "found_late_in_fault_runs_unstruck": sum(not j.faults for j in judged),
    }


def confusion(judged: Iterable[Judged]) -> dict[str, dict[str, int]]:
    """Single faults → what was named for them; ``not found`` where no late frame was."""
    matrix: dict[str, dict[str, int]] = {}
    for j in judged:
        if j.should and len(j.faults) == 1:
            row = matrix.setdefault(j.faults[0], {})
            name = NOT_FOUND if j.cause is None else j.cause
            row[name] = row.get(name, 0) + 1
    return {fault: matrix[fault] for fault in sorted(matrix)}
