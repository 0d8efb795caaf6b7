"""Memory while the session runs: peaks by stage, readings at turns; bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from mgtop.analysis.devices import Device, Devices
from mgtop.analysis.recent import Recent
from mgtop.analysis.stages import Stages
from mgtop.analysis.summary import Stage
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

SETTLE_NS = 1_000_000_000
"""Readings wait this long for the events that say which stage they belong to."""
WAYS = ("raised", "printed", "counted")
"""How an out-of-memory error is seen, the way whose message says most first."""
SAME_WAY_NS, OTHER_WAY_NS = 200_000_000, 5_000_000_000
"""Two out-of-memory errors so near each other, seen in the same or another way, are one."""
LITTLE_BYTES = 1 << 30
"""With less memory left than that, an error of cuBLAS or cuDNN at its start is taken for one of
memory: they ask for some hundred MiB, and do not say that they did not get them."""
MOST_PENDING = 64
POINTS = 512
"""Readings at emits that the shape is judged by; beyond, every other one is dropped."""
QUICK_NS = 250_000_000
"""A fall of memory within this time is a release at once, not a slow decline."""
MIB = 1 << 20


class Peak(msgspec.Struct):
    """Highest readings of one stage, each with its time; bytes."""

    process: tuple[int, int] | None = None
    device: tuple[int, int] | None = None
    allocated: tuple[int, int] | None = None
    reserved: tuple[int, int] | None = None

    def copy(self) -> Peak:
        """An independent copy."""
        return Peak(self.process, self.device, self.allocated, self.reserved)


class Point(msgspec.Struct, frozen=True):
    """What was in use at an emit in the steady stage; bytes."""

    frames: int
    """Frames of the whole session up to and with this emit."""
    t_ns: int
    process: int | None
    allocated: int | None
    reserved: int | None


class Turns(msgspec.Struct):
    """Times of the four readings."""

    load_begin_ns: int | None = None
    load_done_ns: int | None = None
    first_request_ns: int | None = None
    first_emit_ns: int | None = None
    tenth_emit_ns: int | None = None


class Oom(msgspec.Struct, frozen=True):
    """One out-of-memory error."""

    t_ns: int
    stage: Stage
    frame: int | None
    message: str
    seen: frozenset[str]
    """Of :data:`WAYS`."""


class Sample(msgspec.Struct, frozen=True):
    """A reading that waits for its stage."""

    t_ns: int
    what: str
    value: int


class GpuLog:
    """Memory of one GPU (NVML index, or −1 − CUDA ordinal where NVML is not there)."""

    def __init__(self) -> None:
        self.peaks: dict[Stage, Peak] = {}
        self.pending: deque[Sample] = deque()
        self.open: Point | None = None
        """The newest emit, to which the allocator's reading may still come."""
        self._points: list[Point] = []
        self._stride = 1
        self._emits = 0
        self.falls = 0
        """Quick falls of device memory while requests ran near the limit."""
        self.readings: dict[str, tuple[int | None, int | None]] = {}
        """Turn → (process bytes, reserved bytes) in force then."""
        self.framework_peak = 0
        self.reserved: Recent[int] = Recent(256)
        """What the allocator held, when last read."""
        self.in_use: dict[str, int] = {}
        """Newest driver readings: ``process`` and ``device`` bytes."""
        self._recent: deque[tuple[int, int]] = deque()
        self._fallen_ns = 0

    def note(self, stage: Stage, sample: Sample) -> None:
        """Count a reading in its stage."""
        peak = self.peaks.setdefault(stage, Peak())
        before = getattr(peak, sample.what)
        if before is None or sample.value > before[0]:
            setattr(peak, sample.what, (sample.value, sample.t_ns))

    def fall(self, t_ns: int, used: int, least: float, limit: float | None) -> None:
        """Watch device memory for a quick fall of at least ``least`` bytes from near ``limit``."""
        recent = self._recent
        while recent and recent[0][0] < t_ns - QUICK_NS:
            recent.popleft()
        highest = max((value for _, value in recent), default=used)
        is_fall = highest - used >= least and (limit is None or highest >= limit)
        if is_fall and t_ns - self._fallen_ns > QUICK_NS:
            self.falls += 1
            self._fallen_ns = t_ns
        while recent and recent[-1][1] <= used:
            recent.pop()
        recent.append((t_ns, used))

    def points(self) -> list[Point]:
        """What was in use at emits in the steady stage, evenly thinned."""
        return [*self._points, self.open] if self.open is not None else list(self._points)

    def point(self, point: Point) -> None:
        """Keep what was in use at an emit; at most :data:`POINTS`, evenly spread."""
        last = self.open
        if last is not None and last.t_ns == point.t_ns:
            self.open = Point(
                point.frames,
                point.t_ns,
                point.process if point.process is not None else last.process,
                point.allocated if point.allocated is not None else last.allocated,
                point.reserved if point.reserved is not None else last.reserved,
            )
            return
        self.open = point
        if last is None:
            return
        self._emits += 1
        if self._emits % self._stride:
            return
        self._points.append(last)
        if len(self._points) >= POINTS:
            self._points = self._points[1::2]
            self._stride *= 2


class MemoryLog:
    """Takes every record; see the module."""

    def __init__(self, settings: AnalysisSettings, devices: Devices) -> None:
        self._thresholds = settings.thresholds
        self._devices = devices
        self.stages = Stages()
        self.turns = Turns()
        self.gpus: dict[int, GpuLog] = {}
        self.ooms: list[Oom] = []
        self.frames = 0
        self._emitted = 0
        self._next_frame: dict[tuple[int, int], int] = {}
        self._waiting_turns: list[tuple[int, str]] = []
        self._counters: dict[tuple[int, int], tuple[int, int, int]] = {}
        """(process, device) → retries at first, retries now, ooms now."""

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records; the devices must have them already."""
        return {
            r.FrameEmit: self._with_stage(self._frame),
            r.RequestReceived: self._with_stage(self._request),
            r.Load: self._with_stage(self._load),
            r.StreamEnd: self._with_stage(lambda record: None),
            r.TorchMemory: self._torch,
            r.GpuMemory: self._device,
            r.GpuProcess: self._process,
            r.OutputLine: self._line,
            r.Failure: self._failure,
        }

    def _with_stage(self, take: Callable[[Any], None]) -> Callable[[Any], None]:
        """For records that may change the stage."""

        def taken(record: Any) -> None:
            stage = self.stages.current
            self.stages.feed(record)
            if self.stages.current != stage:
                # What is in use at the turn belongs to both stages, written anew or not.
                for log in self.gpus.values():
                    log.pending.extend(
                        Sample(record.t_ns, what, value) for what, value in log.in_use.items()
                    )
            take(record)
            self._flush(record.t_ns - SETTLE_NS)

        return taken

    @property
    def retries(self) -> int | None:
        """Allocator retries in the session; None: no allocator was read."""
        if not self._counters:
            return None
        return sum(now - first for first, now, _ in self._counters.values())

    # ------------------------------------------------------------------------ one by one

    def _turn(self, name: str, t_ns: int) -> None:
        if getattr(self.turns, f"{name}_ns") is None:
            setattr(self.turns, f"{name}_ns", t_ns)
            self._waiting_turns.append((t_ns, name))

    def _load(self, record: r.Load) -> None:
        self._turn("load_done" if record.done else "load_begin", record.t_ns)

    def _request(self, record: r.RequestReceived) -> None:
        self._turn("first_request", record.t_ns)
        self._remember((record.proc, record.request), 0)

    def _remember(self, key: tuple[int, int], index: int) -> None:
        self._next_frame[key] = index
        if len(self._next_frame) > 256:
            del self._next_frame[next(iter(self._next_frame))]

    def _frame(self, record: r.FrameEmit) -> None:
        self.frames += record.count
        self._emitted += 1
        self._remember((record.proc, record.request), record.index + record.count)
        self._turn("first_emit", record.t_ns)
        if self._emitted == 10:
            self._turn("tenth_emit", record.t_ns)
        if record.emit >= 2:
            for gpu, device in self._devices.by_index.items():
                used = device.target_bytes(record.t_ns)
                if used is not None:
                    point = Point(self.frames, record.t_ns, used, None, None)
                    self._of(gpu).point(point)

    def _torch(self, record: r.TorchMemory) -> None:
        key = (record.proc, record.device)
        first, _, ooms = self._counters.get(key, (record.retries, 0, record.ooms))
        self._counters[key] = (first, record.retries, record.ooms)
        if record.ooms > ooms:
            message = "the allocator counted an out-of-memory error"
            self._add_oom(record.t_ns, record.proc, "counted", message)
        log = self._of(self.gpu_of(record.device))
        # The peak is never reset: where it rose, it was reached since the last reading.
        allocated = record.allocated_bytes
        if record.peak_bytes > log.framework_peak:
            log.framework_peak = allocated = record.peak_bytes
        log.pending.append(Sample(record.t_ns, "allocated", allocated))
        log.pending.append(Sample(record.t_ns, "reserved", record.reserved_bytes))
        log.reserved.add(record.t_ns, record.reserved_bytes)
        if record.emit >= 2:
            log.point(
                Point(self.frames, record.t_ns, None, record.allocated_bytes, record.reserved_bytes)
            )

    def _device(self, record: r.GpuMemory) -> None:
        log = self._read(record.gpu, record.t_ns, "device", record.used_bytes)
        total = self._devices.of(record.gpu).total_bytes
        least = max(
            self._thresholds.vram_drop_mib * MIB, self._thresholds.vram_drop_share * (total or 0)
        )
        if self.stages.current == "steady":
            near = None if total is None else 0.8 * self._thresholds.memory_share * total
            log.fall(record.t_ns, record.used_bytes, least, near)

    def _process(self, record: r.GpuProcess) -> None:
        if record.relation != "target":
            return
        used = self._devices.of(record.gpu).target_bytes()
        if used is not None:
            self._read(record.gpu, record.t_ns, "process", used)

    def _read(self, gpu: int, t_ns: int, what: str, value: int) -> GpuLog:
        log = self._of(gpu)
        log.in_use[what] = value
        log.pending.append(Sample(t_ns, what, value))
        if len(log.pending) > MOST_PENDING:
            self._flush(t_ns - SETTLE_NS)
        return log

    def _line(self, record: r.OutputLine) -> None:
        suspect = record.kind == "oom_suspect" and self._is_nearly_full()
        if record.kind == "oom" or suspect:
            self._add_oom(record.t_ns, 0, "printed", record.text)

    def _is_nearly_full(self) -> bool:
        """Whether a GPU of the target has so little left that a library could not start on it."""
        for device in self._devices.of_target():
            log = self.gpus.get(device.gpu)
            used = log.in_use.get("device") if log is not None else None
            total = device.total_bytes
            if used is not None and total is not None and total - used < LITTLE_BYTES:
                return True
        return False

    def _failure(self, record: r.Failure) -> None:
        if is_oom(record):
            message = f"{record.kind}: {record.text}" if record.text else record.kind
            self._add_oom(record.t_ns, record.proc, "raised", message)

    def _add_oom(self, t_ns: int, proc: int, how: str, message: str) -> None:
        """One error can be raised, printed (in several lines) and counted; it counts once."""
        for i, known in enumerate(self.ooms):
            apart = SAME_WAY_NS if how in known.seen else OTHER_WAY_NS
            if abs(known.t_ns - t_ns) <= apart:
                # The message of the way that says most; of several lines the longest.
                best = min(WAYS.index(way) for way in known.seen)
                rank = (-WAYS.index(how), len(message))
                if rank > (-best, len(known.message)):
                    known = msgspec.structs.replace(known, message=message)
                self.ooms[i] = msgspec.structs.replace(known, seen=known.seen | {how})
                return
        if len(self.ooms) >= 100:
            return
        stage = self.stages.at(t_ns)
        frame: int | None = None
        if stage in ("first_frame", "steady"):
            mine = [i for (p, _), i in self._next_frame.items() if proc in (0, p)]
            frame = mine[-1] if mine else None
        self.ooms.append(Oom(t_ns, stage, frame, message, frozenset({how})))

    # ------------------------------------------------------------------------------ stages

    def _of(self, gpu: int) -> GpuLog:
        log = self.gpus.get(gpu)
        if log is None:
            log = self.gpus[gpu] = GpuLog()
        return log

    def gpu_of(self, ordinal: int) -> int:
        """NVML index of a CUDA ordinal of the target; −1 − ordinal where it is not known."""
        devices = self._devices.by_index
        for gpu, device in devices.items():
            if device.about is not None and ordinal in device.about.ordinals:
                return gpu
        if len(devices) == 1 and ordinal == 0:
            return next(iter(devices))
        return -1 - ordinal

    def _flush(self, until_ns: int) -> None:
        for log in self.gpus.values():
            while log.pending and log.pending[0].t_ns <= until_ns:
                sample = log.pending.popleft()
                log.note(self.stages.at(sample.t_ns), sample)
        while self._waiting_turns and self._waiting_turns[0][0] <= until_ns:
            t_ns, name = self._waiting_turns.pop(0)
            for gpu, log in self.gpus.items():
                log.readings[name] = self.in_force(gpu, t_ns)

    def waiting_turns(self) -> list[tuple[int, str]]:
        """Turns whose readings are not fixed yet."""
        return list(self._waiting_turns)

    def in_force(self, gpu: int, t_ns: int) -> tuple[int | None, int | None]:
        """Process bytes at a time of the last seconds, and what the allocator held then."""
        device = self._devices.by_index.get(gpu)
        process = _settled_bytes(device, t_ns) if device is not None else None
        log = self.gpus.get(gpu)
        return process, log.reserved.at(t_ns) if log is not None else None


def _settled_bytes(device: Device, t_ns: int) -> int | None:
    """Process memory at a time; a first reading up to 200 ms later still tells of it."""
    used = device.target_bytes(t_ns)
    return used if used is not None else device.target_bytes(t_ns + 200_000_000)


def is_oom(record: r.Failure) -> bool:
    """Whether a failure is an out-of-memory error."""
    return "OutOfMemory" in record.kind or "out of memory" in record.text.lower()
