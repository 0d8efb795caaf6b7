"""Recent readings of each GPU, at full resolution, for the judgement of single frames."""

from __future__ import annotations

from mgtop.analysis.recent import Recent
from mgtop.wire.records import (
    GpuDevice,
    GpuMemory,
    GpuProcess,
    GpuProcessWork,
    GpuState,
    GpuThrottle,
    GpuUtilisation,
)

KEEP_NS = 600_000_000_000
MOST_READINGS = 16_384


class Device:
    """One GPU."""

    def __init__(self, gpu: int) -> None:
        self.gpu = gpu
        self.about: GpuDevice | None = None
        self.memory: Recent[GpuMemory] = Recent(MOST_READINGS, KEEP_NS)
        self.processes: dict[int, Recent[GpuProcess]] = {}
        self.process_work: dict[int, Recent[GpuProcessWork]] = {}
        self.utilisation: dict[str, Recent[GpuUtilisation]] = {}
        self.state: Recent[GpuState] = Recent(4_096, KEEP_NS)
        self.throttle: Recent[GpuThrottle] = Recent(4_096, KEEP_NS)

    @property
    def total_bytes(self) -> int | None:
        """Capacity, if the driver tells."""
        return self.about.total_bytes if self.about is not None else None

    @property
    def is_target(self) -> bool:
        """Whether the target uses it, or it is the only guess."""
        if self.about is not None and self.about.ordinals:
            return True
        return any(self.of_target(log) for log in self.processes.values())

    @staticmethod
    def of_target(log: Recent[GpuProcess]) -> bool:
        """Whether a process's readings are the target's."""
        last = log.last()
        return last is not None and last.relation == "target"

    def process(self, record: GpuProcess) -> None:
        """Take a reading of one process."""
        log = self.processes.get(record.pid)
        if log is None:
            if len(self.processes) >= 64:
                del self.processes[next(iter(self.processes))]
            log = self.processes[record.pid] = Recent(2_048, KEEP_NS)
        log.add(record.t_ns, record)

    def worked(self, record: GpuProcessWork) -> None:
        """Take a reading of what one process had the GPU do."""
        log = self.process_work.get(record.pid)
        if log is None:
            if len(self.process_work) >= 64:
                del self.process_work[next(iter(self.process_work))]
            log = self.process_work[record.pid] = Recent(1_024, KEEP_NS)
        log.add(record.t_ns, record)

    def used(self, record: GpuUtilisation) -> None:
        """Take a reading of utilisation."""
        log = self.utilisation.get(record.source)
        if log is None:
            log = self.utilisation[record.source] = Recent(4_096, KEEP_NS)
        log.add(record.t_ns, record)

    def best_utilisation(self) -> Recent[GpuUtilisation] | None:
        """Readings of the source that resolves most: gpm, else the ring, else polling."""
        for source in ("gpm", "ring", "poll"):
            if source in self.utilisation:
                return self.utilisation[source]
        return next(iter(self.utilisation.values()), None)

    def target_bytes(self, t_ns: int | None = None) -> int | None:
        """Memory of the target's processes in force at ``t_ns`` (None: now), summed.

        None where none is known to be the target's, or the driver tells no figure.
        """
        total: int | None = None
        for log in self.processes.values():
            if not self.of_target(log):
                continue
            reading = log.last() if t_ns is None else log.at(t_ns)
            if reading is None:
                continue
            if reading.used_bytes is None:
                return None
            total = (total or 0) + reading.used_bytes
        return total

    def others_bytes(self) -> int | None:
        """Memory of other programs' processes, as far as the driver tells; None: of none."""
        last = [log.last() for log in self.processes.values() if not self.of_target(log)]
        known = [r.used_bytes for r in last if r is not None and r.used_bytes is not None]
        return sum(known) if known else None


class Devices:
    """All GPUs of the machine, by NVML index."""

    def __init__(self) -> None:
        self.by_index: dict[int, Device] = {}

    def of(self, gpu: int) -> Device:
        """The device with that index; made at its first record."""
        device = self.by_index.get(gpu)
        if device is None:
            device = self.by_index[gpu] = Device(gpu)
        return device

    def gpu_of(self, ordinal: int) -> int:
        """The GPU of a CUDA ordinal of the target; −1 − ordinal where it is not known."""
        for gpu, device in self.by_index.items():
            if device.about is not None and ordinal in device.about.ordinals:
                return gpu
        if len(self.by_index) == 1 and ordinal == 0:
            return next(iter(self.by_index))
        return -1 - ordinal

    def of_target(self) -> list[Device]:
        """The devices that the target uses; all of them while that is not known."""
        mine = [device for device in self.by_index.values() if device.is_target]
        return mine or list(self.by_index.values())
