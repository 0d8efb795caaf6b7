"""The framework's own account of GPU memory: of each process on each device, and summed."""

from __future__ import annotations

from typing import NamedTuple

from mgtop.analysis.devices import Devices
from mgtop.analysis.recent import Recent
from mgtop.wire import records as r

ASYNC = "cudaMallocAsync"


class Held(NamedTuple):
    """What the allocators of all processes hold on one device; bytes."""

    allocated: int
    reserved: int
    peak: int | None
    """The highest that was allocated since the reading before, where that can be told."""
    reserved_peak: int | None


class Framework:
    """Newest readings by device and process.

    The allocator's peaks are never reset by mgtop: where one rose, it was reached since the
    reading before. Where it fell, the program reset it, and what it shows was reached since.
    """

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self._latest: dict[int, dict[int, r.TorchMemory]] = {}
        self._retries: dict[tuple[int, int], tuple[int, int]] = {}
        """By process and CUDA ordinal: the counter at first and now."""
        self.allocators: dict[tuple[int, int], r.TorchAllocator] = {}
        """By process and CUDA ordinal."""
        self.history: dict[int, Recent[Held]] = {}

    def take(self, record: r.TorchMemory) -> tuple[int, Held, r.TorchMemory | None]:
        """Take a reading; the GPU it is of, what is held there now, and the reading before."""
        gpu = self._devices.gpu_of(record.device)
        mine = self._latest.setdefault(gpu, {})
        before = mine.get(record.proc)
        mine[record.proc] = record
        if len(mine) > 64:
            del mine[next(iter(mine))]
        key = (record.proc, record.device)
        first, _ = self._retries.get(key, (record.retries, 0))
        self._retries[key] = (first, record.retries)
        others_allocated = others_reserved = 0
        for proc, other in mine.items():
            if proc != record.proc:
                others_allocated += other.allocated_bytes
                others_reserved += other.reserved_bytes
        held = Held(
            record.allocated_bytes + others_allocated,
            record.reserved_bytes + others_reserved,
            _moved(record.peak_bytes, before.peak_bytes if before else None, others_allocated),
            _moved(
                record.reserved_peak_bytes,
                before.reserved_peak_bytes if before else None,
                others_reserved,
            ),
        )
        self.history.setdefault(gpu, Recent(256)).add(record.t_ns, held)
        return gpu, held, before

    def gone(self, pid: int) -> None:
        """A process has left the device: what it held is free."""
        for mine in self._latest.values():
            for proc in [proc for proc in mine if r.pid_of(proc) == pid]:
                del mine[proc]

    def describe(self, record: r.TorchAllocator) -> None:
        """Take what an allocator says of itself."""
        self.allocators[record.proc, record.device] = record
        if len(self.allocators) > 256:
            del self.allocators[next(iter(self.allocators))]

    def at(self, gpu: int, t_ns: int) -> Held | None:
        """What was held at a time of the last readings."""
        log = self.history.get(gpu)
        return log.at(t_ns) if log is not None else None

    def allocator(self, gpu: int) -> r.TorchAllocator | None:
        """What the allocator of a GPU is; of several processes the one that told last."""
        found = None
        for (_, ordinal), allocator in self.allocators.items():
            if self._devices.gpu_of(ordinal) == gpu:
                found = allocator
        return found

    def retries(self) -> int | None:
        """Retries since the first readings; None where no allocator was read that counts them."""
        counted = [
            now - first
            for key, (first, now) in self._retries.items()
            if (about := self.allocators.get(key)) is None or about.backend != ASYNC
        ]
        return sum(counted) if counted else None


def _moved(peak: int | None, before: int | None, others: int) -> int | None:
    return None if peak is None or peak == before else peak + others
