"""A hand-built generator: frames of 40 ms, of which one is made late on purpose.

Every helper adds the records that the real thing would write, with the counters it would
move, so a test says only what happened and asks what the analysis makes of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from mgtop.analysis.causes import attribute
from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Attribution, TailWindow
from mgtop.analysis.summary import CauseShare, Evidence
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

MS = 1_000_000
MIB = 1 << 20
PROC = r.proc_of(4242, 1000)
MAIN = 11
WORKER = 12
START = 1_000_000_000_000
SPAN_NUMBERS = {name: number for number, name in enumerate(r.SPAN_NAMES)}


class Bench:
    """Builds records; ``now`` is the time, all in ns. Spans are by name, times in ms."""

    def __init__(
        self,
        counters: bool = True,
        schedstat: bool = True,
        count: int = 1,
        proc: int = PROC,
        settings: AnalysisSettings | None = None,
    ) -> None:
        self.settings = settings or AnalysisSettings()
        self.records: list[r.AnyRecord] = []
        self.now = START
        self.counters, self.schedstat = counters, schedstat
        self.count, self.proc = count, proc
        self.request = 1
        self.emits: list[r.FrameEmit] = []
        self.cpu = self.delay = self.gc = self.faults = self.involuntary = self.compiles = 0
        self._seq = 0
        self._names: dict[str, int] = {}

    def add(self, record: r.AnyRecord) -> None:
        self.records.append(record)

    def event(self, kind: Callable[..., r.AnyRecord], *fields: Any, **named: Any) -> None:
        """An event of the main thread, now (or at ``t_ns``, by ``tid``)."""
        self._seq += 1
        t_ns = named.pop("t_ns", self.now)
        tid = named.pop("tid", MAIN)
        self.add(kind(t_ns, self._seq, self.proc, tid, *fields, **named))

    # ----------------------------------------------------------------- what the thread does

    def run(self, ms: float) -> None:
        """On a core."""
        self.now += int(ms * MS)
        self.cpu += int(ms * MS)

    def sleep(self, ms: float) -> None:
        """Neither running nor wanting to."""
        self.now += int(ms * MS)

    def wait_for_core(self, ms: float) -> None:
        self.now += int(ms * MS)
        self.delay += int(ms * MS)
        self.involuntary += 1

    def collect(self, ms: float, tid: int = MAIN) -> None:
        """A garbage collection; in another thread this one stands still."""
        self.now += int(ms * MS)
        if tid == MAIN:
            self.cpu += int(ms * MS)
        self.gc += int(ms * MS)
        if ms >= 1:
            self.event(r.GarbageCollection, int(ms * MS), 2, tid=tid)

    def compile(self, ms: float, event: bool = True) -> None:
        self.run(ms)
        self.compiles += 1
        if event:
            self.event(r.Compile, int(ms * MS), "forward")

    def span(self, name: str, *work: Callable[[], None], index: int | None = None) -> None:
        """Do the work inside a span of the main thread."""
        begin, cpu, delay = self.now, self.cpu, self.delay
        for part in work:
            part()
        known = self.counters and self.now - begin >= MS
        self.event(
            r.Span,
            self.request,
            self.next_index if index is None else index,
            self.number(name),
            self.now - begin,
            self.cpu - cpu if known else None,
            self.delay - delay if known and self.schedstat else None,
        )

    def foreign_span(
        self,
        name: str,
        begin_ns: int,
        ms: float,
        index: int = -1,
        cpu_ms: float | None = None,
        delay_ms: float = 0.0,
        tid: int = WORKER,
    ) -> None:
        """A span of another thread."""
        cpu = ms - delay_ms if cpu_ms is None else cpu_ms
        self.event(
            r.Span,
            self.request,
            index,
            self.number(name),
            int(ms * MS),
            int(cpu * MS),
            int(delay_ms * MS),
            t_ns=begin_ns + int(ms * MS),
            tid=tid,
        )

    def number(self, name: str) -> int:
        if name in SPAN_NUMBERS:
            return SPAN_NUMBERS[name]
        if name not in self._names:
            self._names[name] = r.FIRST_FREE_NAME + len(self._names)
            self.event(r.Name, self._names[name], name)
        return self._names[name]

    @property
    def next_index(self) -> int:
        return self.emits[-1].index + self.emits[-1].count if self.emits else 0

    def emit(self, count: int | None = None, tid: int = MAIN) -> r.FrameEmit:
        known, told = self.counters, self.counters and self.schedstat
        self._seq += 1
        frame = r.FrameEmit(
            self.now,
            self._seq,
            self.proc,
            tid,
            self.request,
            self.next_index,
            len(self.emits),
            count or self.count,
            cpu_ns=self.cpu if known else None,
            run_delay_ns=self.delay if told else None,
            major_faults=self.faults if known else None,
            voluntary=0 if known else None,
            involuntary=self.involuntary if known else None,
            gc_ns=self.gc if known else None,
            compiles=self.compiles if known else None,
        )
        self.emits.append(frame)
        self.add(frame)
        return frame

    def frame(
        self,
        *,
        before: Callable[[], None] | None = None,
        resize: Callable[[], None] | None = None,
        forward: Callable[[], None] | None = None,
        write: Callable[[], None] | None = None,
    ) -> r.FrameEmit:
        """A usual frame, 40 ms: resize 6, forward 24, write 8, between spans 2 of sleep."""
        self.sleep(2)
        if before is not None:
            before()
        self.span("resize", lambda: self.run(6), *([resize] if resize else []))
        self.span("forward", lambda: self.run(24), *([forward] if forward else []))
        self.span("write", lambda: self.run(8), *([write] if write else []))
        return self.emit()

    def frames(self, n: int) -> None:
        for _ in range(n):
            self.frame()

    # -------------------------------------------------------------------------- judgement

    def window(self, number: int) -> TailWindow:
        """The emit as a tail, judged against the median of the others."""
        emits = self.emits
        steps = [
            (b.t_ns - a.t_ns) / b.count
            for i, (a, b) in enumerate(itertools.pairwise(emits))
            if i + 1 != number
        ]
        frame, previous = emits[number], emits[number - 1]
        usual = int(median(steps) * frame.count)
        return TailWindow(
            proc=frame.proc,
            tid=frame.tid,
            request=frame.request,
            index=frame.index,
            emit=frame.emit,
            count=frame.count,
            begin_ns=previous.t_ns,
            end_ns=frame.t_ns,
            excess_ns=frame.t_ns - previous.t_ns - usual,
            median_ns=usual,
            frame=frame,
            previous=previous,
        )

    def channels(self) -> Channels:
        channels = Channels(self.settings)
        for record in self.records:
            channels.feed(record)
        return channels

    def judge(self, number: int = 20) -> Answer:
        window = self.window(number)
        return Answer(window, attribute(window, self.channels(), self.settings))


class Answer:
    """An attribution, with short ways to ask it."""

    def __init__(self, window: TailWindow, attribution: Attribution) -> None:
        self.window, self.attribution = window, attribution

    @property
    def cause(self) -> str | None:
        return self.attribution.cause

    @property
    def names(self) -> list[str]:
        return [share.name for share in self.attribution.causes]

    def share(self, name: str) -> CauseShare:
        return next(share for share in self.attribution.causes if share.name == name)

    def ms(self, name: str) -> float:
        return sum(s.explained_ms for s in self.attribution.causes if s.name == name)

    def evidence(self, channel: str) -> Evidence:
        found = [e for e in self.attribution.evidence if e.channel == channel]
        assert len(found) == 1, f"{len(found)} rows for {channel}"
        return found[0]

    def state(self, channel: str) -> str:
        return self.evidence(channel).state


def late_frame(
    make_late: Callable[[Bench], None], bench: Bench | None = None, others: int = 20
) -> Answer:
    """Frame 20 is made by ``make_late`` (which emits it), the others are as usual."""
    bench = bench or Bench()
    bench.frames(others)
    make_late(bench)
    bench.frames(5)
    return bench.judge(others)


def judge_each(bench: Bench, numbers: Sequence[int]) -> list[Answer]:
    channels = bench.channels()
    return [
        Answer(window, attribute(window, channels, bench.settings))
        for window in map(bench.window, numbers)
    ]
