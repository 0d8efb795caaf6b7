"""Where the time of one inter-frame interval went, as quantities that can be compared.

The thread that emits is followed through the interval. Each moment belongs to the innermost
thing that is known of it: a garbage collection, a compilation, the waiting at an empty
queue, a named span. Where it is in no span of its own, and a span of another thread works
for this frame or an earlier one, it waits for that span. What a span spent waiting for a
core is taken out of it. So no nanosecond counts twice.

Quantities (ns unless said; missing: not known):

=============== ==========================================================================
interval        the interval, less waiting for a person and what follows
stopped         the process was stopped by a signal
supply          decode, resize, upload: innermost time, less what lies inside it
compute         the model's steps and decoder, likewise
output          encode and write, likewise
late_ROLE       time spent waiting for a single span of another thread beyond that name's
                usual duration
gc, compile     collections and compilations; another thread's compilation counts where this
                one stood still
starved         waiting at an empty queue
delay           waiting for a core (run-queue delay)
cpu             CPU time of the emitting thread
untold          work of the thread that runs the model, in none of its spans, that this one
                waited for
off             neither running nor waiting for a core, and none of the above
off_compute     that part of it that lies inside compute spans
compute_cpu     CPU time inside the thread's compute spans
faults, involuntary, compiles   counts
=============== ==========================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mgtop.analysis.process import ProcessLog
from mgtop.analysis.spans import (
    Interval,
    Work,
    innermost,
    length,
    merged,
    overlap,
    without,
)
from mgtop.analysis.streams import Quantities
from mgtop.analysis.threads import ThreadLog
from mgtop.wire.records import Compile, FrameEmit

SHORT_SPAN_NS = 2_000_000
"""A span without CPU figures that is shorter than this is taken to have run throughout."""


class Piece(msgspec.Struct, frozen=True):
    """A moment of the interval and the span that it belongs to."""

    begin_ns: int
    end_ns: int
    work: Work
    own: bool
    """Of the emitting thread; else it waited for this work of another one."""


class Split(msgspec.Struct, frozen=True):
    """One interval, taken apart."""

    quantities: Quantities
    pieces: list[Piece]
    collections: list[Interval]
    compilations: list[Interval]
    starved: list[Interval]


def split(log: ProcessLog, frame: FrameEmit, previous: FrameEmit | None, begin_ns: int) -> Split:
    """Take the interval from ``begin_ns`` to ``frame`` apart."""
    end_ns = frame.t_ns
    tids = {frame.tid, 0}
    if previous is not None:
        tids.add(previous.tid)
    works = log.works_in(begin_ns, end_ns)
    own = [work for work in works if work.tid in tids or frame.tid == 0]
    others = [work for work in works if not (work.tid in tids or frame.tid == 0)]

    waits = _events(log.waits.between(begin_ns, end_ns + _LATER_NS), begin_ns, end_ns)
    stopped = without(log.stopped(begin_ns, end_ns), waits)
    whole = without(without([(begin_ns, end_ns)], waits), stopped)
    found = log.collections.between(begin_ns, end_ns + _LATER_NS)
    collections = overlap(_events(found, begin_ns, end_ns), whole)
    foreign = overlap(_events([c for c in found if c.tid not in tids], begin_ns, end_ns), whole)
    compiled = log.compilations.between(begin_ns, end_ns + _LATER_NS)
    if _ran_beside(frame, previous, length(whole), _foreign(compiled, tids, begin_ns, end_ns)):
        compiled = [c for c in compiled if c.tid in tids]
    compilations = without(overlap(_events(compiled, begin_ns, end_ns), whole), collections)
    free = without(without(whole, collections), compilations)

    own_pieces = innermost(own, free)
    covered = [interval for interval, _ in own_pieces]
    gaps = without(free, covered)
    last_index = frame.index + frame.count - 1
    beside = [
        work for work in others if work.request in (frame.request, 0) and work.index <= last_index
    ]
    their_pieces = innermost(beside, gaps)
    worked = [interval for interval, _ in their_pieces]
    in_supply = [interval for interval, work in own_pieces if work.role == "supply"]
    waiting = merged([*gaps, *in_supply], begin_ns, end_ns)
    starved = without(overlap(_starved(log, frame, begin_ns), waiting), worked)
    if starved:
        own_pieces = innermost(own, without(free, starved))

    result = _Tally(log, frame, begin_ns)
    result.quantities["stopped"] = length(stopped)
    result.quantities["interval"] = length(whole)
    result.quantities["compile"] = length(compilations)
    unseen = min(length(free), _unseen_gc(found, frame, previous, begin_ns))
    result.quantities["gc"] = length(collections) + unseen
    result.quantities["starved"] = length(starved)
    mine = [c for c in compiled if c.tid in tids or frame.tid == 0]
    compiled_here = overlap(_events(mine, begin_ns, end_ns), compilations)
    result.own(own, own_pieces, innermost(own, compiled_here), innermost(own, stopped))
    idle_ns = _off_core(frame, previous, length(whole))
    result.beside(beside, their_pieces, innermost(beside, stopped), idle_ns)
    result.take_out(unseen, length(free))
    # Inside supply and output spans a wait is theirs; elsewhere it must not count twice.
    elsewhere = without(whole, [i for i, w in own_pieces if w.role in ("supply", "output")])
    idle = without(without(gaps, worked), starved)
    result.untold(log.model_threads(frame.request, tids), idle)
    elsewhere_ns = (
        length(overlap(foreign, elsewhere))
        + length(compilations)
        - result.compiled_running
        + length(worked)
        - result.off_beside
        + length(overlap(starved, gaps))
        + result.busy_beside
    )
    result.counters(frame, previous, elsewhere_ns)
    pieces = [Piece(begin, end, work, True) for (begin, end), work in own_pieces]
    pieces += [Piece(begin, end, work, False) for (begin, end), work in their_pieces]
    return Split(result.quantities, pieces, collections, compilations, starved)


_LATER_NS = 10_000_000_000
"""How much later than the interval an event may end that began inside it."""


def _events(events: Sequence[object], begin_ns: int, end_ns: int) -> list[Interval]:
    if not events:
        return []
    return merged(
        ((e.t_ns - e.duration_ns, e.t_ns) for e in events),  # type: ignore[attr-defined]
        begin_ns,
        end_ns,
    )


def _foreign(compiled: Sequence[Compile], tids: set[int], begin_ns: int, end_ns: int) -> int:
    """How long other threads compiled."""
    return length(_events([c for c in compiled if c.tid not in tids], begin_ns, end_ns))


def _ran_beside(
    frame: FrameEmit, previous: FrameEmit | None, interval_ns: int, foreign_ns: int
) -> bool:
    """Whether this thread was on a core for most of the time that others compiled."""
    off = _off_core(frame, previous, interval_ns)
    return off is not None and 2 * off < foreign_ns


def _off_core(frame: FrameEmit, previous: FrameEmit | None, interval_ns: int) -> int | None:
    """How long the emitting thread neither ran nor waited for a core; None: not known."""
    if previous is None or previous.tid != frame.tid:
        return None
    cpu = _step(frame.cpu_ns, previous.cpu_ns)
    delay = _step(frame.run_delay_ns, previous.run_delay_ns) or 0
    return None if cpu is None else max(0, interval_ns - cpu - delay)


def _starved(log: ProcessLog, frame: FrameEmit, begin_ns: int) -> list[Interval]:
    empty: list[Interval] = []
    for queue in log.queues.values():
        others = not queue.draining or frame.tid in queue.draining
        if not others and log.serves_others(queue.draining, frame.request):
            continue
        if queue.is_drained_by(frame.tid):
            empty += queue.empty(begin_ns, frame.t_ns)
    return merged(empty, begin_ns, frame.t_ns)


def _unseen_gc(
    found: Sequence[object], frame: FrameEmit, previous: FrameEmit | None, begin_ns: int
) -> int:
    """Collections that the counter holds and that were too short for events of their own."""
    if previous is None or frame.gc_ns is None or previous.gc_ns is None:
        return 0
    seen = sum(
        e.duration_ns  # type: ignore[attr-defined]
        for e in found
        if begin_ns < e.t_ns <= frame.t_ns  # type: ignore[attr-defined]
    )
    return max(0, frame.gc_ns - previous.gc_ns - seen)


class _Tally:
    """Adds up the quantities of one interval."""

    def __init__(self, log: ProcessLog, frame: FrameEmit, begin_ns: int) -> None:
        self._log = log
        self._begin_ns, self._end_ns = begin_ns, frame.t_ns
        self._first_index = frame.index
        self.quantities: Quantities = {"supply": 0, "compute": 0, "output": 0}
        self._delay_in_spans = 0
        self._delay_beside = 0
        self._off_in_work = 0
        self._off_in_compute = 0
        self.off_beside = 0
        """Time in which the thread that was waited for was itself off a core in compute."""
        self.busy_beside = 0
        """Time in which it worked, or waited for a core, in none of its spans."""
        self.compiled_running = 0
        """Of the thread's own compilations, what it spent on a core."""

    def own(
        self,
        works: Sequence[Work],
        pieces: Sequence[tuple[Interval, Work]],
        compiled: Sequence[tuple[Interval, Work]],
        stopped: Sequence[tuple[Interval, Work]],
    ) -> None:
        """Add the thread's own spans.

        ``compiled`` and ``stopped``: its compilations and the process's stops, by the spans
        that they lie in.
        """
        quantities = self.quantities
        time = _time_by_work(pieces)
        compiling, standing = _time_by_work(compiled), _time_by_work(stopped)
        cpu_known = True
        compute_cpu = 0
        for work, off, delay, cpu in _alone(works):
            spent = time.get(id(work), 0)
            share = self._share(work)
            role = work.role
            assert role is not None
            waited = min(spent, int(delay * share))
            self._delay_in_spans += waited
            quantities[role] += spent - waited
            if off is None:
                off = spent if work.end_ns - work.begin_ns >= SHORT_SPAN_NS else 0
                cpu_known = cpu_known and off == 0
            else:
                # Compilers wait for others to compile: what is not known to be work is waiting.
                off = max(0, int(off * share) - standing.get(id(work), 0))
                in_compilations = compiling.get(id(work), 0)
                waiting = min(in_compilations, off)
                self.compiled_running += in_compilations - waiting
                off -= waiting
            off = min(spent, off)
            if role == "compute":
                self._off_in_compute += off
                compute_cpu += int(cpu * share)
            else:
                self._off_in_work += off
        if cpu_known:
            quantities["compute_cpu"] = compute_cpu

    def beside(
        self,
        works: Sequence[Work],
        pieces: Sequence[tuple[Interval, Work]],
        stopped: Sequence[tuple[Interval, Work]],
        idle_ns: int | None,
    ) -> None:
        """Add the spans of other threads that this one waited for.

        ``idle_ns``: how long it ran on no core at all, so at most so long did it wait for work of
        which nobody says what frame it was for. None: not known.
        """
        time, standing = _time_by_work(pieces), _time_by_work(stopped)
        for work, off, delay, _ in _alone(works):
            spent = time.get(id(work), 0)
            role = work.role
            if not spent or role is None:
                continue
            stood = standing.get(id(work), 0)
            duration = work.end_ns - work.begin_ns - stood
            waited = min(spent, int(delay * self._share(work)))
            self._delay_beside += waited
            spent -= waited
            known = work.tid in self._log.explicit and work.index >= self._first_index
            if not known:
                usual = int(self._log.usual_span_ns(work.name))
                spent = min(spent, max(0, duration - delay - usual))
                if idle_ns is not None:
                    spent = min(spent, idle_ns)
                    idle_ns -= spent
            if role == "compute" and off:
                # The model's own thread slept in its step: who judges computing takes it out.
                slept = min(spent, max(0, int(off * self._share(work)) - stood))
                self.off_beside += slept
                self._off_in_compute += slept
            # Where a span is known to be for this very emit, all of it is compared.
            name: str = role if known else f"late_{role}"
            self.quantities[name] = self.quantities.get(name, 0) + spent

    def untold(self, threads: Sequence[ThreadLog], idle: list[Interval]) -> None:
        """Add what the model's threads did between their spans while this one waited."""
        for thread in threads:
            cpu, delay = thread.between(idle)
            self.quantities["untold"] = self.quantities.get("untold", 0) + cpu
            self._delay_beside += delay
            self.busy_beside += cpu + delay

    def take_out(self, unseen_ns: int, free_ns: int) -> None:
        """Short collections lie somewhere; they are taken to be spread evenly."""
        if not unseen_ns:
            return
        for name, value in self.quantities.items():
            if name not in ("interval", "stopped", "gc", "compile", "compute_cpu"):
                self.quantities[name] = value - value * unseen_ns // free_ns

    def counters(self, frame: FrameEmit, previous: FrameEmit | None, elsewhere_ns: int) -> None:
        """Add what the emits' counters tell; they are the emitting thread's."""
        quantities = self.quantities
        same = previous is not None and previous.tid == frame.tid
        cpu = _step(frame.cpu_ns, previous.cpu_ns if previous and same else None)
        delay = _step(frame.run_delay_ns, previous.run_delay_ns if previous and same else None)
        if previous is not None:
            _put(quantities, "compiles", frame.compiles, previous.compiles)
            if same:
                _put(quantities, "faults", frame.major_faults, previous.major_faults)
                _put(quantities, "involuntary", frame.involuntary, previous.involuntary)
        if delay is not None:
            quantities["delay"] = delay + self._delay_beside
        elif self._delay_in_spans or self._delay_beside:
            quantities["delay"] = self._delay_in_spans + self._delay_beside
        if cpu is not None:
            quantities["cpu"] = cpu
        if cpu is not None and delay is not None:
            off = max(0, quantities["interval"] - cpu - delay)
            off = max(0, off - self._off_in_work - elsewhere_ns)
            quantities["off"] = off
            quantities["off_compute"] = min(off, self._off_in_compute)

    def _share(self, work: Work) -> float:
        """Which part of the span lies in the interval; its counters are taken to be even."""
        duration = work.end_ns - work.begin_ns
        inside = min(work.end_ns, self._end_ns) - max(work.begin_ns, self._begin_ns)
        return inside / duration if duration > 0 else 1.0


def _step(now: int | None, before: int | None) -> int | None:
    return None if now is None or before is None or now < before else now - before


def _put(quantities: Quantities, name: str, now: int | None, before: int | None) -> None:
    step = _step(now, before)
    if step is not None:
        quantities[name] = step


def _time_by_work(pieces: Sequence[tuple[Interval, Work]]) -> dict[int, int]:
    time: dict[int, int] = {}
    for (begin, end), work in pieces:
        time[id(work)] = time.get(id(work), 0) + end - begin
    return time


def _alone(works: Sequence[Work]) -> list[tuple[Work, int | None, int, int]]:
    """Each span with a role, with time off a core, run-queue delay and CPU of itself alone.

    What its inner spans measured is taken out. Time off a core is None where not measured.
    """
    by_thread: dict[int, list[Work]] = {}
    for work in works:
        if work.role is not None:
            by_thread.setdefault(work.tid, []).append(work)
    result: list[tuple[Work, int | None, int, int]] = []
    for mine in by_thread.values():
        mine.sort(key=lambda work: (work.begin_ns, -work.end_ns))
        found: list[list[int | None]] = []
        stack: list[int] = []
        for i, work in enumerate(mine):
            off: int | None = None
            if work.cpu_ns is not None:
                off = max(0, work.end_ns - work.begin_ns - work.cpu_ns - (work.delay_ns or 0))
            found.append([off, work.delay_ns or 0, work.cpu_ns or 0])
            while stack and mine[stack[-1]].end_ns < work.end_ns:
                stack.pop()
            if stack:
                outer = found[stack[-1]]
                for part, inner in enumerate((off, work.delay_ns, work.cpu_ns)):
                    value = outer[part]
                    if value is not None and inner is not None:
                        outer[part] = max(0, value - inner)
            stack.append(i)
        for work, (off, delay, cpu) in zip(mine, found, strict=True):
            result.append((work, off, delay or 0, cpu or 0))
    return result
