"""Everything that was recorded around one late frame, column by column on one time axis.

Made of the records themselves, not of what a model keeps: so it is as fine as what was
recorded, however old the frame is.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from mgtop.wire import records as r

MIB = 1 << 20
NOTABLE_SHARE = 0.1
"""Waiting that is a smaller part of the late interval does not fill its strip."""
OTHER_REQUESTS = "other work"
Kind = Literal["busy", "level", "rate"]


class Strip(msgspec.Struct, frozen=True, kw_only=True):
    """One channel.

    Attributes:
        kind: ``busy``, something that went on (a column is the share of it so filled);
            ``level``, what was in force (lowest and highest); ``rate``, what was used.
        high, low: values of the columns; None: nothing there, or not known.
        top: where the scale ends.
        within: inside the late frame's interval: milliseconds (``busy``), else the highest.
        lowest: inside the interval, the lowest value of a level.
        period_ms: time between two readings; None: events, as they happened.
        count: events or readings in the whole window.
    """

    name: str
    kind: Kind
    unit: str
    high: list[float | None]
    low: list[float | None]
    top: float
    within: float | None
    lowest: float | None = None
    period_ms: float | None = None
    count: int = 0


class Frame(msgspec.Struct, frozen=True):
    """Which late frame: its process, its request's number there (0: not known), its interval."""

    proc: int
    request: int
    begin_ns: int
    end_ns: int


def closeup(
    records: Iterable[r.AnyRecord],
    frame: Frame,
    begin_ns: int,
    end_ns: int,
    columns: int,
    names: Mapping[int, str],
) -> list[Strip]:
    """The strips from ``begin_ns`` to ``end_ns``, those of the program's own work first.

    ``names``: of the numbers that spans and queues of the frame's process use.
    """
    gather = _Gather(frame, begin_ns, end_ns, columns, names)
    for record in records:
        gather.take(record)
    return gather.strips()


class _Busy:
    """Pieces of time in which something went on."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int]] = []

    def strip(self, name: str, g: _Gather) -> Strip | None:
        pieces = _merged(self.pieces, g.begin_ns, g.end_ns)
        if not pieces:
            return None
        step = (g.end_ns - g.begin_ns) / g.columns
        filled: list[float | None] = [None] * g.columns
        for begin, end in pieces:
            first = int((begin - g.begin_ns) / step)
            last = min(g.columns - 1, int((end - g.begin_ns) / step))
            for column in range(first, last + 1):
                at = g.begin_ns + column * step
                share = (min(end, at + step) - max(begin, at)) / step
                if share > 0:
                    filled[column] = min(1.0, (filled[column] or 0.0) + share)
        inside = _merged(self.pieces, g.frame.begin_ns, g.frame.end_ns)
        return Strip(
            name=name, kind="busy", unit="ms", high=filled, low=filled, top=1.0,
            within=sum(end - begin for begin, end in inside) / 1e6, count=len(self.pieces),
        )  # fmt: skip


class _Level:
    """Values that hold until the next one."""

    def __init__(self, unit: str, top: float | None, kind: Kind, least: float) -> None:
        self.unit, self.top, self.kind, self.least = unit, top, kind, least
        self.points: list[tuple[int, float]] = []
        self.covers: list[tuple[int, int, float]] = []

    def add(self, t_ns: int, value: float) -> None:
        """It was that from then on."""
        self.points.append((t_ns, value))

    def cover(self, begin_ns: int, end_ns: int, value: float) -> None:
        """It was that in a piece of time."""
        self.covers.append((begin_ns, end_ns, value))

    def _pieces(self, until_ns: int) -> list[tuple[int, int, float]]:
        points = sorted(self.points)
        ends = [t_ns for t_ns, _ in points[1:]]
        if points:
            # The newest holds as long as the one before did: nobody knows how much longer.
            usual = points[-1][0] - points[-2][0] if len(points) > 1 else 1_000_000_000
            ends.append(min(until_ns, points[-1][0] + max(usual, 1_000_000_000)))
        held = [(t, end, value) for (t, value), end in zip(points, ends, strict=True)]
        return held + self.covers

    def strip(self, name: str, g: _Gather) -> Strip | None:
        pieces = self._pieces(g.end_ns)
        step = (g.end_ns - g.begin_ns) / g.columns
        high: list[float | None] = [None] * g.columns
        low: list[float | None] = [None] * g.columns
        inside: list[float] = []
        for begin, end, value in pieces:
            if end < g.begin_ns or begin >= g.end_ns:
                continue
            if end > g.frame.begin_ns and begin < g.frame.end_ns:
                inside.append(value)
            first = max(0, int((begin - g.begin_ns) / step))
            last = min(g.columns - 1, int((max(begin, end - 1) - g.begin_ns) / step))
            for column in range(first, last + 1):
                was, least = high[column], low[column]
                high[column] = value if was is None else max(was, value)
                low[column] = value if least is None else min(least, value)
        shown = [value for value in high if value is not None]
        if not shown:
            return None
        times = sorted([t for t, _ in self.points] or [end for _, end, _ in self.covers])
        gaps = sorted(b - a for a, b in itertools.pairwise(times))
        return Strip(
            name=name, kind=self.kind, unit=self.unit, high=high, low=low,
            top=self.top or max(*shown, self.least), within=max(inside, default=None),
            lowest=min(inside, default=None),
            period_ms=gaps[len(gaps) // 2] / 1e6 if gaps else None, count=len(times),
        )  # fmt: skip


class _Gather:
    """Takes the records of the window."""

    def __init__(
        self, frame: Frame, begin_ns: int, end_ns: int, columns: int, names: Mapping[int, str]
    ) -> None:
        self.frame, self.begin_ns, self.end_ns = frame, begin_ns, end_ns
        self.columns = max(1, columns)
        self.names = dict(names)
        self.busy: dict[str, _Busy] = {}
        self.levels: dict[str, _Level] = {}
        self._frames: dict[int, r.FrameEmit] = {}
        self._cpu: r.HostCpu | None = None
        self._cgroup: r.Cgroup | None = None
        self._processes: dict[tuple[int, int], int] = {}

    def take(self, record: r.AnyRecord) -> None:
        """Take a record, of any kind."""
        take = _TAKES.get(type(record))
        if take is not None:
            take(self, record)

    def strips(self) -> list[Strip]:
        """What there is, in the order of :data:`_ORDER`."""
        for gpu in {name.split(" ")[1] for name in self.levels if name.startswith("GPU ")}:
            sources = [f"GPU {gpu} {source}" for source in ("gpm", "ring", "poll")]
            there = [name for name in sources if name in self.levels]
            for worse in there[1:]:  # two of different age would contradict each other
                del self.levels[worse]
            if there:
                self.levels[f"GPU {gpu}"] = self.levels.pop(there[0])
        found = [level.strip(name, self) for name, level in self.levels.items()]
        found += [busy.strip(name, self) for name, busy in self.busy.items()]
        return sorted((s for s in found if s is not None), key=_place)

    def _is_its(self, record: r.Event) -> bool:
        return record.proc == self.frame.proc

    def _serves(self, request: int) -> bool:
        return not request or not self.frame.request or request == self.frame.request

    def _ran(self, name: str, t_ns: int, duration_ns: int) -> None:
        self.busy.setdefault(name, _Busy()).pieces.append((t_ns - duration_ns, t_ns))

    def _level(
        self,
        name: str,
        unit: str,
        top: float | None = None,
        kind: Kind = "level",
        least: float = 1e-9,
    ) -> _Level:
        """A level of that name; its scale ends at ``top``, or at the highest from ``least`` on."""
        return self.levels.setdefault(name, _Level(unit, top, kind, least))

    def _notable_ms(self) -> float:
        """What would be seen in the late interval."""
        return NOTABLE_SHARE * (self.frame.end_ns - self.frame.begin_ns) / 1e6

    # ------------------------------------------------------------------------ one by one

    def emit(self, record: r.FrameEmit) -> None:
        """Frames: their interval, and how long the thread waited for a core."""
        if not self._is_its(record) or not self._serves(record.request):
            return
        before = self._frames.get(record.request)
        self._frames[record.request] = record
        if before is None or record.emit != before.emit + 1:
            return
        took = (record.t_ns - before.t_ns) / 1e6
        self._level("interval", "ms", kind="rate").cover(before.t_ns, record.t_ns, took)
        if record.run_delay_ns is not None and before.run_delay_ns is not None:
            waited = max(0, record.run_delay_ns - before.run_delay_ns) / 1e6
            wait = self._level("core wait", "ms", kind="rate", least=self._notable_ms())
            wait.cover(before.t_ns, record.t_ns, waited)

    def span(self, record: r.Span) -> None:
        """Named work; that for other requests in one strip."""
        if self._is_its(record):
            name = self.names.get(record.name, f"#{record.name}")
            its = name if self._serves(record.request) else OTHER_REQUESTS
            self._ran(its, record.t_ns, record.duration_ns)

    def name(self, record: r.Name) -> None:
        """A new name."""
        if self._is_its(record):
            self.names[record.id] = record.text

    def collection(self, record: r.GarbageCollection) -> None:
        """Python's garbage collection."""
        if self._is_its(record):
            self._ran("gc", record.t_ns, record.duration_ns)

    def compilation(self, record: r.Compile) -> None:
        """A compilation or capture."""
        if self._is_its(record):
            self._ran("compile", record.t_ns, record.duration_ns)

    def wait(self, record: r.Wait) -> None:
        """Waiting for a person."""
        if self._is_its(record):
            self._ran("user wait", record.t_ns, record.duration_ns)

    def queue(self, record: r.Queue) -> None:
        """The depth of a queue."""
        if self._is_its(record):
            name = f"q {self.names.get(record.name, f'#{record.name}')}"
            self._level(name, "", float(max(1, record.capacity))).add(record.t_ns, record.depth)

    def torch(self, record: r.TorchMemory) -> None:
        """The caching allocator."""
        if self._is_its(record):
            at = record.t_ns
            self._level(f"alloc {record.device}", "MiB").add(at, record.allocated_bytes / MIB)
            self._level(f"cache {record.device}", "MiB").add(at, record.reserved_bytes / MIB)

    def work(self, record: r.GpuWork) -> None:
        """Busy time of the GPU between two emits, by its own clock."""
        if self._is_its(record) and record.busy_ns + record.gap_ns > 0:
            share = 100.0 * record.busy_ns / (record.busy_ns + record.gap_ns)
            begin = record.t_ns - record.busy_ns - record.gap_ns
            self._level("GPU events", "%", 100.0, "rate").cover(begin, record.t_ns, share)

    def memory(self, record: r.GpuMemory) -> None:
        """Memory of a whole device."""
        self._level(f"memory {record.gpu}", "MiB").add(record.t_ns, record.used_bytes / MIB)

    def process(self, record: r.GpuProcess) -> None:
        """Memory of a process on a device."""
        if record.used_bytes is None:
            return
        whose = "target" if record.relation == "target" else "others"
        self._processes[record.gpu, record.pid] = record.used_bytes
        if whose == "others":
            self._level(f"others {record.gpu}", "MiB").add(record.t_ns, record.used_bytes / MIB)
        else:
            self._level(f"target {record.gpu}", "MiB").add(record.t_ns, record.used_bytes / MIB)

    def utilisation(self, record: r.GpuUtilisation) -> None:
        """Utilisation of a device over the past period."""
        name = f"GPU {record.gpu} {record.source}"
        level = self._level(name, "%", 100.0, "rate")
        level.cover(record.t_ns - record.period_ns, record.t_ns, record.percent)

    def state(self, record: r.GpuState) -> None:
        """Clocks."""
        if record.sm_mhz is not None:
            self._level(f"clock {record.gpu}", "MHz").add(record.t_ns, record.sm_mhz)

    def host(self, record: r.HostCpu) -> None:
        """CPU of the machine and of the target."""
        before, self._cpu = self._cpu, record
        if before is None or record.t_ns <= before.t_ns:
            return
        busy, idle = record.busy_ns - before.busy_ns, record.idle_ns - before.idle_ns
        if busy >= 0 and idle >= 0 and busy + idle > 0:
            level = self._level("CPU all", "%", 100.0, "rate")
            level.cover(before.t_ns, record.t_ns, 100.0 * busy / (busy + idle))
        if record.tree_cpu_ns is not None and before.tree_cpu_ns is not None:
            used = 100.0 * (record.tree_cpu_ns - before.tree_cpu_ns)
            share = max(0.0, used / (record.t_ns - before.t_ns) / max(1, record.cores))
            level = self._level("CPU target", "%", 100.0, "rate")
            level.cover(before.t_ns, record.t_ns, share)

    def cgroup(self, record: r.Cgroup) -> None:
        """Time for which the cgroup's quota held threads back."""
        before, self._cgroup = self._cgroup, record
        if before is not None and record.throttled_ns > before.throttled_ns:
            held = (record.throttled_ns - before.throttled_ns) / 1e6
            level = self._level("throttled", "ms", kind="rate", least=self._notable_ms())
            level.cover(before.t_ns, record.t_ns, held)

    def own_call(self, record: r.ObserverCall) -> None:
        """Mgtop's own long calls."""
        self._ran("mgtop", record.t_ns, record.duration_ns)


_TAKES: dict[type, Callable[[_Gather, Any], None]] = {
    r.FrameEmit: _Gather.emit,
    r.Span: _Gather.span,
    r.Name: _Gather.name,
    r.GarbageCollection: _Gather.collection,
    r.Compile: _Gather.compilation,
    r.Wait: _Gather.wait,
    r.Queue: _Gather.queue,
    r.TorchMemory: _Gather.torch,
    r.GpuWork: _Gather.work,
    r.GpuMemory: _Gather.memory,
    r.GpuProcess: _Gather.process,
    r.GpuUtilisation: _Gather.utilisation,
    r.GpuState: _Gather.state,
    r.HostCpu: _Gather.host,
    r.Cgroup: _Gather.cgroup,
    r.ObserverCall: _Gather.own_call,
}

_ORDER = (
    "interval", *r.SPAN_NAMES[1:], "", "gc", "compile", "user wait", OTHER_REQUESTS, "q",
    "core wait", "throttled", "CPU target", "CPU all", "GPU", "clock", "memory", "target",
    "cache", "alloc", "others", "mgtop",
)  # fmt: skip
"""By first words; "" stands for spans of other names."""
_WORK = {*r.SPAN_NAMES, "gc", "compile", "user wait", OTHER_REQUESTS, "mgtop"}
_RANKS = {name: number for number, name in enumerate(_ORDER)}


def _place(strip: Strip) -> tuple[int, str]:
    if strip.kind == "busy":
        known = strip.name if strip.name in _WORK else ""
    else:
        known = strip.name if strip.name in _RANKS else strip.name.split(" ", 1)[0]
    return _RANKS.get(known, _RANKS[""]), strip.name


def _merged(pieces: Sequence[tuple[int, int]], begin_ns: int, end_ns: int) -> list[tuple[int, int]]:
    """The union of pieces of time, inside begin … end."""
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(pieces):
        begin, end = max(begin, begin_ns), min(end, end_ns)
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
