"""What one process of the target said about itself, as far back as a judgement may look."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Mapping
from statistics import median

import msgspec

from mgtop.analysis.recent import Recent
from mgtop.analysis.spans import Interval, Work, merged
from mgtop.analysis.threads import ThreadLog
from mgtop.wire.records import (
    SPAN_NAMES,
    Compile,
    Failure,
    GarbageCollection,
    Name,
    Pulse,
    Queue,
    Span,
    TargetStopped,
    TorchMemory,
    Wait,
)

MOST_SPANS = 16_384
MOST_EVENTS = 4_096
MOST_NAMES = 256
USUAL_SPANS = 240
KEEP_NS = 30_000_000_000


class QueueState(msgspec.Struct, frozen=True):
    """A change of a queue."""

    t_ns: int
    tid: int
    depth: int
    capacity: int
    dropped: int


class QueueLog:
    """One named queue, and which threads fill and drain it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.changes: Recent[QueueState] = Recent(MOST_EVENTS)
        self.filling: set[int] = set()
        """Threads whose reports showed more than before."""
        self.draining: set[int] = set()
        self._depth: int | None = None

    def add(self, record: Queue) -> None:
        """Take the next report."""
        if self._depth is not None and len(self.filling | self.draining) < MOST_NAMES:
            if record.depth > self._depth:
                self.filling.add(record.tid)
            elif record.depth < self._depth:
                self.draining.add(record.tid)
        self._depth = record.depth
        self.changes.add(
            record.t_ns,
            QueueState(record.t_ns, record.tid, record.depth, record.capacity, record.dropped),
        )

    def is_drained_by(self, tid: int) -> bool:
        """Whether that thread takes from the queue, as far as can be told.

        A thread that only ever adds does not wait on an empty queue. With a single
        reporter the direction cannot be told from the reports; then the name decides.
        """
        reporters = self.filling | self.draining
        if len(reporters) > 1 and tid in reporters:
            return tid in self.draining
        if len(reporters) > 1 or not reporters:
            return True
        return not any(word in self.name.lower() for word in ("out", "write", "encod", "send"))

    def empty(self, begin_ns: int, end_ns: int) -> list[Interval]:
        """When it was empty, inside [begin, end]."""
        before = self.changes.at(begin_ns)
        states = [before] if before is not None else []
        states += self.changes.between(begin_ns, end_ns)
        spans: list[Interval] = []
        for i, state in enumerate(states):
            if state.depth <= 0:
                until = states[i + 1].t_ns if i + 1 < len(states) else end_ns
                spans.append((state.t_ns, until))
        return merged(spans, begin_ns, end_ns)

    def dropped(self, begin_ns: int, end_ns: int) -> int:
        """How many were dropped inside (begin, end]."""
        before, last = self.changes.at(begin_ns), self.changes.at(end_ns)
        if last is None:
            return 0
        return max(0, last.dropped - (before.dropped if before is not None else 0))


class ProcessLog:
    """The recent events of one process."""

    def __init__(self, proc: int) -> None:
        self.proc = proc
        self.works: Recent[Work] = Recent(MOST_SPANS)
        self.collections: Recent[GarbageCollection] = Recent(MOST_EVENTS)
        self.compilations: Recent[Compile] = Recent(MOST_EVENTS)
        self.waits: Recent[Wait] = Recent(MOST_EVENTS)
        self.failures: Recent[Failure] = Recent(256)
        self.stops: Recent[TargetStopped] = Recent(1_024)
        self.queues: dict[int, QueueLog] = {}
        self.torch: dict[int, Recent[TorchMemory]] = {}
        self.threads: dict[int, ThreadLog] = {}
        """By thread id: those that work for requests."""
        self.explicit: set[int] = set()
        """Threads whose spans named frames ahead of the next one: their index is meant."""
        self.pulse: Pulse | None = None
        self.has_cuda = False
        self.longest_ns = 0
        """Longest span so far: how far back one that is open at a time can begin."""
        self._names: dict[int, str] = dict(enumerate(SPAN_NAMES))
        self._durations: dict[str, deque[int]] = {}

    @property
    def names(self) -> Mapping[int, str]:
        """What the numbers in spans and queues mean."""
        return self._names

    def name(self, record: Name) -> None:
        """Learn a name."""
        if len(self._names) < MOST_NAMES or record.id in self._names:
            self._names[record.id] = record.text
            if record.id in self.queues:
                self.queues[record.id].name = record.text

    def span(self, record: Span, next_index: int | None) -> None:
        """Take a span. ``next_index``: the frame its request produces next, if known."""
        name = self._names.get(record.name, f"#{record.name}")
        work = Work.of(record, name)
        self.works.add(record.t_ns, work)
        self.thread(record.tid).add(work)
        if record.duration_ns > self.longest_ns:
            self.longest_ns = record.duration_ns
        durations = self._durations.get(name)
        if durations is None:
            if len(self._durations) >= MOST_NAMES:
                return
            durations = self._durations[name] = deque(maxlen=USUAL_SPANS)
        durations.append(record.duration_ns)
        if next_index is not None and record.index > next_index and len(self.explicit) < MOST_NAMES:
            self.explicit.add(record.tid)

    def thread(self, tid: int) -> ThreadLog:
        """The log of a thread; made when it is first heard of."""
        log = self.threads.get(tid)
        if log is None:
            if len(self.threads) >= MOST_NAMES:
                del self.threads[next(iter(self.threads))]
            log = self.threads[tid] = ThreadLog()
        return log

    def model_threads(self, request: int, but: Container[int]) -> list[ThreadLog]:
        """Threads that compute for a request, beside the ones that emit its frames."""
        return [
            log
            for tid, log in self.threads.items()
            if log.computes and log.serves == request and tid not in but
        ]

    def serves_others(self, tids: Iterable[int], request: int) -> bool:
        """Whether all of these threads are known to work for other requests than that one."""
        logs = [self.threads.get(tid) for tid in tids]
        return bool(logs) and all(
            log is not None and log.serves not in (0, request) for log in logs
        )

    def queue(self, record: Queue) -> None:
        """Take a queue's report."""
        log = self.queues.get(record.name)
        if log is None:
            if len(self.queues) >= 32:
                return
            name = self._names.get(record.name, f"#{record.name}")
            log = self.queues[record.name] = QueueLog(name)
        log.add(record)

    def memory(self, record: TorchMemory) -> None:
        """Take a reading of the allocator."""
        log = self.torch.get(record.device)
        if log is None:
            log = self.torch[record.device] = Recent(1024)
        log.add(record.t_ns, record)
        self.has_cuda = True

    def stopped(self, begin_ns: int, end_ns: int) -> list[Interval]:
        """When signals had stopped the process, inside [begin, end]."""
        if not self.stops:
            return []
        before = self.stops.at(begin_ns)
        changes = [before] if before is not None else []
        changes += self.stops.between(begin_ns, end_ns)
        return merged(
            (
                (change.t_ns, changes[i + 1].t_ns if i + 1 < len(changes) else end_ns)
                for i, change in enumerate(changes)
                if change.stopped
            ),
            begin_ns,
            end_ns,
        )

    def usual_span_ns(self, name: str) -> float:
        """The median duration of recent spans of that name."""
        durations = self._durations.get(name)
        return median(durations) if durations else 0.0

    def works_in(self, begin_ns: int, end_ns: int) -> list[Work]:
        """Spans that overlap (begin, end)."""
        return [
            work
            for work in self.works.between(begin_ns, end_ns + self.longest_ns)
            if work.begin_ns < end_ns
        ]

    def forget_before(self, t_ns: int) -> None:
        """Drop what no judgement will ask for any more."""
        self.works.forget_before(t_ns)
        self.collections.forget_before(t_ns)
        self.compilations.forget_before(t_ns)
        self.waits.forget_before(t_ns)
        for queue in self.queues.values():
            last = queue.changes.last()
            if last is not None:  # the state in force stays known
                queue.changes.forget_before(min(t_ns, last.t_ns))
