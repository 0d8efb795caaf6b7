"""Memory while the session runs: takes the records, keeps peaks, turns and errors; bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from mgtop.analysis.devices import Device, Devices
from mgtop.analysis.memory_figures import Stage
from mgtop.analysis.memory_framework import Framework
from mgtop.analysis.memory_gpu import QUICK_NS, GpuLog, Peak, Reading
from mgtop.analysis.memory_host import HostLog
from mgtop.analysis.memory_ooms import InUse, Oom, Ooms, is_oom, stated
from mgtop.analysis.memory_points import MIB, Point
from mgtop.analysis.memory_spill import SpillWatch
from mgtop.analysis.stages import Stages
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

__all__ = ["MIB", "QUICK_NS", "GpuLog", "MemoryLog", "Peak", "is_oom", "peaks_of"]

SETTLE_NS = 1_000_000_000
"""Readings wait this long for the events that say which stage they belong to."""
LITTLE_BYTES = 1 << 30
"""With less memory left than that, an error of cuBLAS or cuDNN at its start is taken for one of
memory: they ask for some hundred MiB, and do not say that they did not get them."""
MOST_PENDING = 64
MOST_MARKS = 100
MOST_REQUESTS = 256
NEAR = 0.8
"""Falls of memory count from this share of the memory threshold on."""


class Turns(msgspec.Struct):
    """Times of the four readings."""

    load_begin_ns: int | None = None
    load_done_ns: int | None = None
    first_request_ns: int | None = None
    first_emit_ns: int | None = None
    tenth_emit_ns: int | None = None


class Retry(msgspec.Struct, frozen=True):
    """The allocator's counter of retries stepped."""

    t_ns: int
    stage: Stage
    frame: int | None
    count: int


class Request(msgspec.Struct):
    """What is known of a request: its id, and the index of its next frame."""

    id: str | None = None
    next_index: int = 0
    emit_ns: int | None = None
    """When its last frames were emitted, if these are in the steady stage."""


class MemoryLog:
    """Takes every record; see the module."""

    def __init__(self, settings: AnalysisSettings, devices: Devices) -> None:
        self._thresholds = settings.thresholds
        self._devices = devices
        self.stages = Stages()
        self.turns = Turns()
        self.gpus: dict[int, GpuLog] = {}
        self.framework = Framework(devices)
        self.host = HostLog()
        self.spill = SpillWatch(settings.thresholds.memory_share)
        self.ooms = Ooms()
        self.retry_marks: deque[Retry] = deque(maxlen=MOST_MARKS)
        self.segment_maps: deque[r.SegmentMap] = deque(maxlen=MOST_MARKS)
        self.frames = 0
        self._emitted = 0
        self._requests: dict[tuple[int, int], Request] = {}
        self._waiting_turns: list[tuple[int, str]] = []

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records; the devices must have them already."""
        return {
            r.SessionStart: self.spill.session,
            r.FrameEmit: self._with_stage(self._frame),
            r.RequestReceived: self._with_stage(self._request),
            r.Load: self._with_stage(self._load),
            r.StreamEnd: self._with_stage(self.spill.ended),
            r.TorchMemory: self._torch,
            r.TorchAllocator: self.framework.describe,
            r.SegmentMap: self.segment_maps.append,
            r.GpuMemory: self._device,
            r.GpuProcess: self._process,
            r.GpuUtilisation: self.stages.look,
            r.HostCpu: self.stages.look,
            r.HostMemory: self._host,
            r.OutputLine: self._line,
            r.Failure: self._failure,
        }

    def _with_stage(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """For records that may change the stage."""

        def taken(record: Any) -> None:
            stage = self.stages.current
            self.stages.feed(record)
            if self.stages.taken_back:
                self.stages.taken_back = False
                for log in self.gpus.values():
                    log.all_was("load")
                self.host.all_was("load")
            if self.stages.current != stage:
                for log in self.gpus.values():
                    log.turn(record.t_ns, at_rest=self.stages.current == "idle")
                self.host.turned(record.t_ns)
            take(record)
            self._flush(record.t_ns - SETTLE_NS)

        return taken

    # ------------------------------------------------------------------------ one by one

    def _turn(self, name: str, t_ns: int) -> None:
        if getattr(self.turns, f"{name}_ns") is None:
            setattr(self.turns, f"{name}_ns", t_ns)
            self._waiting_turns.append((t_ns, name))

    def _load(self, record: r.Load) -> None:
        self._turn("load_done" if record.done else "load_begin", record.t_ns)

    def _request(self, record: r.RequestReceived) -> None:
        self._turn("first_request", record.t_ns)
        self._of_request(record.proc, record.request).id = record.id

    def _of_request(self, proc: int, number: int) -> Request:
        """What is known of a request; it is the newest now."""
        found = self._requests.pop((proc, number), None) or Request()
        self._requests[proc, number] = found
        if len(self._requests) > MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]
        return found

    def request_id(self, proc: int, number: int) -> str | None:
        """What the program calls a request, if it is one of the last."""
        known = self._requests.get((proc, number))
        return known.id if known is not None else None

    def _frame(self, record: r.FrameEmit) -> None:
        self.frames += record.count
        self._emitted += 1
        request = self._of_request(record.proc, record.request)
        request.next_index = record.index + record.count
        request.emit_ns = record.t_ns if record.emit >= 2 else None
        self._turn("first_emit", record.t_ns)
        if self._emitted == 10:
            self._turn("tenth_emit", record.t_ns)
        if record.emit >= 2:
            for gpu, device in self._devices.by_index.items():
                used = device.target_bytes(record.t_ns)
                if used is not None:
                    self.of(gpu).points.add(Point(self.frames, record.t_ns, process=used))
            self.host.emitted(self.frames, record.t_ns)
        self.spill.emitted(record, self._fullest_share(record.t_ns))

    def _torch(self, record: r.TorchMemory) -> None:
        gpu, held, before = self.framework.take(record)
        log = self.of(gpu)
        # Not all readings are made at an emit.
        request = self._requests.get((record.proc, record.request))
        steady = request is not None and request.emit_ns == record.t_ns
        # A peak that rose was reached before this reading: in the stage before, at a turn.
        before_ns = record.t_ns - 1
        for what, now, peak in (
            ("allocated", held.allocated, held.peak),
            ("reserved", held.reserved, held.reserved_peak),
        ):
            log.in_use[what] = now
            log.wait(record.t_ns, what, now if peak is None else max(now, peak), before_ns)
            log.wait(record.t_ns, what, now)
        if steady:
            log.points.add(
                Point(self.frames, record.t_ns, allocated=held.allocated, reserved=held.reserved)
            )
        if before is not None and record.retries > before.retries:
            self.retry_marks.append(
                Retry(
                    record.t_ns,
                    self.stages.at(before_ns),
                    self._last_frame(record),
                    record.retries - before.retries,
                )
            )
        if before is not None and record.ooms > before.ooms:
            message = "the allocator counted an out-of-memory error"
            self._add_oom(record.t_ns, record.proc, "counted", message, {})

    def _last_frame(self, record: r.TorchMemory) -> int | None:
        known = self._requests.get((record.proc, record.request))
        return max(0, known.next_index - 1) if known is not None and known.next_index else None

    def _device(self, record: r.GpuMemory) -> None:
        log = self._read(record.gpu, record.t_ns, "device", record.used_bytes)
        total = self._devices.of(record.gpu).total_bytes
        least = max(
            self._thresholds.vram_drop_mib * MIB, self._thresholds.vram_drop_share * (total or 0)
        )
        if self.stages.current == "steady":
            near = None if total is None else NEAR * self._thresholds.memory_share * total
            log.fall(record.t_ns, record.used_bytes, least, near)

    def _process(self, record: r.GpuProcess) -> None:
        self.stages.look(record)
        device = self._devices.of(record.gpu)
        if record.relation != "target":
            others = device.others_bytes()
            if others is not None:
                log = self.of(record.gpu)
                log.others_peak = max(others, log.others_peak or 0)
            return
        if record.used_bytes == 0:
            self.framework.gone(record.pid)
        used = device.target_bytes()
        if used is not None:
            self._read(record.gpu, record.t_ns, "process", used)

    def _read(self, gpu: int, t_ns: int, what: str, value: int) -> GpuLog:
        log = self.of(gpu)
        log.in_use[what] = value
        log.wait(t_ns, what, value)
        if len(log.pending) > MOST_PENDING:
            self._flush(t_ns - SETTLE_NS)
        return log

    def _host(self, record: r.HostMemory) -> None:
        self.stages.look(record)
        self.host.read(record)

    def _line(self, record: r.OutputLine) -> None:
        self.stages.look(record)
        suspect = record.kind == "oom_suspect" and self._is_nearly_full()
        if record.kind == "oom" or suspect:
            amounts = stated(record.text, record.amounts)
            self._add_oom(record.t_ns, 0, "printed", record.text, amounts)

    def _is_nearly_full(self) -> bool:
        """Whether a GPU of the target has so little left that a library could not start on it."""
        for device in self._devices.of_target():
            log = self.gpus.get(device.gpu)
            used = log.in_use.get("device") if log is not None else None
            total = device.total_bytes
            if used is not None and total is not None and total - used < LITTLE_BYTES:
                return True
        return False

    def _fullest_share(self, t_ns: int) -> float | None:
        shares = [
            reading.used_bytes / device.total_bytes
            for device in self._devices.of_target()
            if device.total_bytes and (reading := device.memory.at(t_ns)) is not None
        ]
        return max(shares) if shares else None

    def _failure(self, record: r.Failure) -> None:
        if is_oom(record):
            message = f"{record.kind}: {record.text}" if record.text else record.kind
            self._add_oom(record.t_ns, record.proc, "raised", message, stated(record.text))

    def _add_oom(
        self, t_ns: int, proc: int, how: str, message: str, amounts: dict[str, int]
    ) -> None:
        if self.ooms.merge(t_ns, how, message, amounts):
            return
        stage = self.stages.at(t_ns)
        request: Request | None = None
        if stage in ("first_frame", "steady"):
            mine = [known for (p, _), known in self._requests.items() if proc in (0, p)]
            request = mine[-1] if mine else None
        in_use = self._fullest_in_use()
        self.ooms.add(
            Oom(
                t_ns,
                stage,
                request.next_index if request is not None else None,
                message,
                frozenset({how}),
                request.id if request is not None else None,
                amounts,
                InUse(**in_use),
            )
        )

    def _fullest_in_use(self) -> dict[str, int]:
        """Newest readings of the GPU that has most in use."""
        logs = [log.in_use for log in self.gpus.values() if log.in_use]
        return max(logs, key=lambda used: max(used.values())) if logs else {}

    # ------------------------------------------------------------------------------ stages

    def of(self, gpu: int) -> GpuLog:
        """The log of a GPU; made at its first reading."""
        log = self.gpus.get(gpu)
        if log is None:
            log = self.gpus[gpu] = GpuLog()
        return log

    def _flush(self, until_ns: int) -> None:
        for log in self.gpus.values():
            while log.pending and log.pending[0].t_ns <= until_ns:
                sample = log.pending.popleft()
                log.note(self.stages.at(sample.stage_ns), sample)
        self.host.flush(until_ns, self.stages.at)
        while self._waiting_turns and self._waiting_turns[0][0] <= until_ns:
            t_ns, name = self._waiting_turns.pop(0)
            for gpu, log in self.gpus.items():
                log.readings[name] = self.in_force(gpu, t_ns)
            self.host.turn(name, t_ns)

    def waiting_turns(self) -> list[tuple[int, str]]:
        """Turns whose readings are not fixed yet."""
        return list(self._waiting_turns)

    def in_force(self, gpu: int, t_ns: int) -> Reading:
        """What was in use at a time of the last seconds; bytes."""
        device = self._devices.by_index.get(gpu)
        process = _settled_bytes(device, t_ns) if device is not None else None
        held = self.framework.at(gpu, t_ns)
        return Reading(
            t_ns,
            process,
            held.allocated if held is not None else None,
            held.reserved if held is not None else None,
        )


def peaks_of(log: MemoryLog, gpu: GpuLog) -> dict[Stage, Peak]:
    """Peaks by stage, with the readings that still wait for their stage."""
    if not gpu.pending:
        return gpu.peaks
    # A summary asks several times, and a second of a quick program is some thousand readings.
    turn = log.stages.turns[-1] if log.stages.turns else None
    known_by = (gpu.added, len(gpu.pending), id(gpu.peaks), len(log.stages.turns), turn)
    if gpu.found is None or gpu.found[0] != known_by:
        copy = GpuLog()
        copy.peaks = {stage: peak.copy() for stage, peak in gpu.peaks.items()}
        for sample in gpu.pending:
            copy.note(log.stages.at(sample.stage_ns), sample)
        gpu.found = known_by, copy.peaks
    return gpu.found[1]


def _settled_bytes(device: Device, t_ns: int) -> int | None:
    """Process memory at a time; a first reading up to 200 ms later still tells of it."""
    used = device.target_bytes(t_ns)
    return used if used is not None else device.target_bytes(t_ns + 200_000_000)
