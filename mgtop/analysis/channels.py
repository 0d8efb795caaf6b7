"""Everything that was recorded beside the frames, kept as long as a judgement needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mgtop.analysis.charted import Charted
from mgtop.analysis.charted_memory import ChartedMemory
from mgtop.analysis.devices import Devices
from mgtop.analysis.evidence import TailWindow
from mgtop.analysis.host import HostLog
from mgtop.analysis.interval import split
from mgtop.analysis.memory_log import MemoryLog
from mgtop.analysis.process import KEEP_NS, ProcessLog
from mgtop.analysis.profile import Profile
from mgtop.analysis.recent import Recent
from mgtop.analysis.series import Store
from mgtop.analysis.sources import Sources
from mgtop.analysis.streams import FEW, Emit, Quantities, Stream, Streams, usual
from mgtop.analysis.usage import Usage
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

MOST_PROCESSES = 64
SETTLED = 3
"""An emit's quantities are taken when it is this old in its stream: late records are in."""
FARTHEST_NS = 600_000_000_000
"""Details are kept back to the last emits of a stream, but no farther than this."""


class Channels:
    """Takes every record in order; causes, symptoms, memory and charts read from it."""

    def __init__(self, settings: AnalysisSettings | None = None) -> None:
        self.settings = settings or AnalysisSettings()
        self.store = Store()
        self.sources = Sources()
        self.streams = Streams()
        self.devices = Devices()
        self.host = HostLog()
        self.lines: Recent[r.OutputLine] = Recent(1_024)
        self.environment: dict[str, Any] = {}
        self.start_ns: int | None = None
        self.newest_ns = 0
        self.memory = MemoryLog(self.settings, self.devices)
        self.usage = Usage(self.devices)
        self._charted = Charted(self.store, self.devices, self.sources)
        self._charted_memory = ChartedMemory(self.store, self.devices)
        self._processes: dict[int, ProcessLog] = {}
        self._profile: Profile | None = None
        own: dict[type, Callable[[Any], None]] = {
            r.SessionStart: self._session_start,
            r.FrameEmit: self._frame,
            r.Span: self._span,
            r.Name: lambda record: self.process(record.proc).name(record),
            r.Queue: lambda record: self.process(record.proc).queue(record),
            r.GarbageCollection: self._collection,
            r.Compile: self._compilation,
            r.Wait: lambda record: self.process(record.proc).waits.add(record.t_ns, record),
            r.Failure: lambda record: self.process(record.proc).failures.add(record.t_ns, record),
            r.TorchMemory: self._torch_memory,
            r.GpuWork: self._gpu_work,
            r.Pulse: self._pulse,
            r.StreamEnd: self._stream_end,
            r.TargetStopped: lambda record: self.process(record.proc).stops.add(
                record.t_ns, record
            ),
            r.SourceState: self.sources.add,
            r.OutputLine: lambda record: self.lines.add(record.t_ns, record),
            r.GpuDevice: self._device,
            r.GpuMemory: lambda record: self._gpu(record).memory.add(record.t_ns, record),
            r.GpuProcess: lambda record: self._gpu(record).process(record),
            r.GpuProcessWork: lambda record: self._gpu(record).worked(record),
            r.GpuUtilisation: lambda record: self._gpu(record).used(record),
            r.GpuState: lambda record: self._gpu(record).state.add(record.t_ns, record),
            r.GpuThrottle: lambda record: self._gpu(record).throttle.add(record.t_ns, record),
            r.HostThread: self.host.thread,
            r.HostCpu: lambda record: self.host.cpu.add(record.t_ns, record),
            r.Cgroup: lambda record: self.host.cgroup.add(record.t_ns, record),
            r.Pressure: lambda record: self.host.pressure.add(record.t_ns, record),
            r.ObserverCall: lambda record: self.host.observer_calls.add(record.t_ns, record),
            r.SegmentMap: lambda record: self.host.observer_calls.add(
                record.t_ns, r.ObserverCall(record.t_ns, "segment map", record.duration_ns)
            ),
        }
        self._takes: dict[type, list[Callable[[Any], None]]] = {}
        # In this order: the rest reads from the devices and sources.
        for takes in (
            own,
            self._charted.takes(),
            self._charted_memory.takes(),
            self.memory.takes(),
            self.usage.takes(),
        ):
            for kind, take in takes.items():
                self._takes.setdefault(kind, []).append(take)

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next record."""
        if record.t_ns > self.newest_ns:
            self.newest_ns = record.t_ns
        self._profile = None
        for take in self._takes.get(type(record), ()):
            take(record)

    def covered_ns(self) -> dict[str, int]:
        """Watermark of each source that lives: all of it up to that time has been fed."""
        return self.sources.covered_ns()

    def process(self, proc: int) -> ProcessLog:
        """The log of a process; made at its first record."""
        log = self._processes.get(proc)
        if log is None:
            if len(self._processes) >= MOST_PROCESSES:
                del self._processes[next(iter(self._processes))]
            log = self._processes[proc] = ProcessLog(proc)
        return log

    def processes(self) -> list[ProcessLog]:
        """All processes that said something."""
        return list(self._processes.values())

    def uses_gpu(self, proc: int) -> bool:
        """Whether a process is known to work on a GPU."""
        log = self._processes.get(proc)
        if log is not None and log.has_cuda:
            return True
        pid = r.pid_of(proc)
        for device in self.devices.by_index.values():
            for its_pid, readings in device.processes.items():
                last = readings.last()
                if last is None or last.relation != "target":
                    continue
                # In a container the driver's pid is another one: then any will do.
                if its_pid == pid or last.how != "pid":
                    return True
        return False

    def profile(self, window: TailWindow) -> Profile:
        """The interval of a tail beside what is usual in its stream."""
        if self._profile is None or self._profile.window != window:
            self._profile = self._make_profile(window)
        return self._profile

    # ------------------------------------------------------------------------ one by one

    def _session_start(self, record: r.SessionStart) -> None:
        self.start_ns = record.t_ns
        self.environment = record.environment

    def _frame(self, record: r.FrameEmit) -> None:
        self.process(record.proc).thread(record.tid).serves = record.request
        stream, _ = self.streams.add(record)
        if len(stream.emits) > SETTLED:
            self._settle(stream.emits[-1 - SETTLED])
        if stream.added % 16 == 0:
            self._forget(stream)

    def _span(self, record: r.Span) -> None:
        stream = self.streams.latest(record.proc, record.request)
        self.process(record.proc).span(record, stream.next_index if stream is not None else None)

    def _collection(self, record: r.GarbageCollection) -> None:
        self.process(record.proc).collections.add(record.t_ns, record)

    def _compilation(self, record: r.Compile) -> None:
        self.process(record.proc).compilations.add(record.t_ns, record)

    def _torch_memory(self, record: r.TorchMemory) -> None:
        self.process(record.proc).memory(record)
        emit = self._emit(record.proc, record.request, record.emit)
        if emit is not None:
            emit.memory[record.device] = record

    def _gpu_work(self, record: r.GpuWork) -> None:
        self.process(record.proc).has_cuda = True
        emit = self._emit(record.proc, record.request, record.emit)
        if emit is not None:
            emit.gpu = record
            if emit.quantities is not None:
                emit.quantities.update(_of_gpu(record))

    def _pulse(self, record: r.Pulse) -> None:
        self.process(record.proc).pulse = record

    def _stream_end(self, record: r.StreamEnd) -> None:
        for stream in self.streams.of(record.proc):
            if stream.request == record.request:
                stream.ended = True
                for emit in list(stream.emits)[-SETTLED:]:
                    self._settle(emit)

    def _device(self, record: r.GpuDevice) -> None:
        self.devices.of(record.gpu).about = record

    def _gpu(self, record: Any) -> Any:
        return self.devices.of(record.gpu)

    # ---------------------------------------------------------------------- what is usual

    def _emit(self, proc: int, request: int, number: int) -> Emit | None:
        stream = self.streams.latest(proc, request)
        return stream.by_number.get(number) if stream is not None else None

    def _settle(self, emit: Emit) -> None:
        if emit.quantities is None:
            emit.quantities = self._quantities(emit)

    def _quantities(self, emit: Emit) -> Quantities:
        if emit.begin_ns is None:
            return {}
        log = self.process(emit.frame.proc)
        found = split(log, emit.frame, emit.previous, emit.begin_ns).quantities
        if emit.gpu is not None:
            found.update(_of_gpu(emit.gpu))
        return found

    def _make_profile(self, window: TailWindow) -> Profile:
        log = self.process(window.proc)
        stream = self.streams.find(window.frame)
        emit = stream.by_number.get(window.emit) if stream is not None else None
        found = split(log, window.frame, window.previous, window.begin_ns)
        if emit is not None and emit.gpu is not None:
            found.quantities.update(_of_gpu(emit.gpu))
        others = self._others(stream, emit, window)
        if len(others) < FEW:
            for other in self.streams.of(window.proc):
                if other is not stream and len(others) < FEW:
                    others += self._others(other, None, window)
        if emit is not None and emit.gpu is not None and stream is not None:
            found.quantities["gpu_gap"] += self._gap_after(stream, window, others)
        return Profile(window, log, emit, found, others)

    @staticmethod
    def _gap_after(
        stream: Stream, window: TailWindow, others: Sequence[tuple[int, Quantities]]
    ) -> int:
        """Idle time of the GPU between an emit's last work and the emit itself, ns.

        A gap is told with the work that ends it, so this one comes with the next emit.
        What the next interval lost itself may be idle time of its own, and is left to it.
        """
        after = stream.by_number.get(window.emit + 1)
        if after is None or after.gpu is None or after.begin_ns is None:
            return 0
        usual_gap = usual(others, "gpu_gap", after.frame.count)
        usual_interval = usual(others, "interval", after.frame.count)
        if usual_gap is None or usual_interval is None:
            return 0
        lost = max(0.0, after.frame.t_ns - after.begin_ns - usual_interval)
        return max(0, int(after.gpu.gap_ns - usual_gap - lost))

    def _others(
        self, stream: Stream | None, tested: Emit | None, window: TailWindow
    ) -> list[tuple[int, Quantities]]:
        if stream is None:
            return []
        return [
            (
                emit.frame.count,
                emit.quantities if emit.quantities is not None else self._quantities(emit),
            )
            for emit in stream.emits
            if emit is not tested
            and emit.begin_ns is not None
            and emit.begin_ns >= window.since_ns
            and emit.frame is not window.frame
        ]

    def _forget(self, stream: Stream) -> None:
        """Drop details that no emit still to be settled or judged can need."""
        keep = self.newest_ns - KEEP_NS
        for other in self.streams.of(stream.proc):
            if not other.ended and other.emits:
                at = max(0, len(other.emits) - 2 * SETTLED)
                first = other.emits[at]
                begin = first.begin_ns if first.begin_ns is not None else first.frame.t_ns
                if begin > self.newest_ns - FARTHEST_NS:
                    keep = min(keep, begin)
        self.process(stream.proc).forget_before(keep)


def _of_gpu(work: r.GpuWork) -> Quantities:
    return {"gpu_busy": work.busy_ns, "gpu_gap": work.gap_ns}
