"""The readings of a session as rows: what was measured, when, and of what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from mgtop.analysis.possible import is_possible
from mgtop.wire import records as r

MIB = 1 << 20
SAMPLES: dict[str, str] = {
    "gpu_memory_mib": "memory of the device in use, by anybody",
    "gpu_process_mib": "memory of one process on the device (`pid`)",
    "gpu_util_percent": "share of the past period in which the device had work",
    "gpu_memory_util_percent": "share of it in which its memory was read or written",
    "gpu_sm_clock_mhz": "clock of the processors",
    "gpu_memory_clock_mhz": "clock of the memory",
    "gpu_power_w": "power drawn",
    "gpu_temperature_c": "temperature",
    "torch_allocated_mib": "what torch's allocator has handed out (`pid`)",
    "torch_reserved_mib": "what it holds from the driver (`pid`)",
    "system_cpu_percent": "busy share of all cores since the reading before",
    "process_cpu_percent": "CPU of the program and its children since then, percent of one core",
    "ram_used_mib": "memory of the machine in use",
    "swap_used_mib": "swap in use",
    "process_rss_mib": "resident memory of the program and its children",
    "queue_depth": "items in a queue of the program (`pid`)",
}
"""Names of samples; their units are in the names."""


class Sample(msgspec.Struct, frozen=True):
    """One reading.

    Attributes:
        t_ms: since the session's start.
        name: one of :data:`SAMPLES`.
        device: number of the GPU in the session; None: not of a GPU.
        pid: the process that it is of; None: the machine's or the whole program's.
    """

    t_ms: float
    name: str
    device: int | None
    pid: int | None
    value: float


Values = Iterator[tuple[str, int | None, int | None, float | None]]


class Sampled:
    """Turns records into samples; shares of time are between one reading and the next.

    Args:
        begin_ns: the session's start.
    """

    def __init__(self, begin_ns: int) -> None:
        self.begin_ns = begin_ns
        self._cpu: r.HostCpu | None = None
        self._takes: dict[type, Callable[[Any], Values]] = {
            r.GpuMemory: _gpu_memory,
            r.GpuProcess: _gpu_process,
            r.GpuUtilisation: _gpu_utilisation,
            r.GpuState: _gpu_state,
            r.TorchMemory: _torch_memory,
            r.HostCpu: self._host_cpu,
            r.HostMemory: _host_memory,
            r.Queue: _queue,
        }

    @property
    def kinds(self) -> Collection[type]:
        """Records of which there are samples."""
        return self._takes

    def rows(self, records: Iterable[r.AnyRecord]) -> list[Sample]:
        """The samples among the next records of the log, in their order; unknown values apart."""
        rows, takes, begin_ns = [], self._takes, self.begin_ns
        for record in records:
            take = takes.get(type(record))
            if take is None or not is_possible(record):
                continue
            t_ms = (record.t_ns - begin_ns) / 1e6
            for name, device, pid, value in take(record):
                if value is not None:
                    rows.append(Sample(t_ms, name, device, pid, float(value)))
        return rows

    def _host_cpu(self, now: r.HostCpu) -> Values:
        before, self._cpu = self._cpu, now
        if before is None or now.t_ns <= before.t_ns:
            return
        busy, idle = now.busy_ns - before.busy_ns, now.idle_ns - before.idle_ns
        if busy >= 0 and idle >= 0 and busy + idle > 0:
            yield "system_cpu_percent", None, None, 100 * busy / (busy + idle)
        if now.tree_cpu_ns is not None and before.tree_cpu_ns is not None:
            ran, lasted = now.tree_cpu_ns - before.tree_cpu_ns, now.t_ns - before.t_ns
            if ran >= 0:
                yield "process_cpu_percent", None, None, 100 * ran / lasted


def _gpu_memory(record: r.GpuMemory) -> Values:
    yield "gpu_memory_mib", record.gpu, None, record.used_bytes / MIB


def _gpu_process(record: r.GpuProcess) -> Values:
    yield "gpu_process_mib", record.gpu, record.pid, _mib(record.used_bytes)


def _gpu_utilisation(record: r.GpuUtilisation) -> Values:
    yield "gpu_util_percent", record.gpu, None, record.percent
    yield "gpu_memory_util_percent", record.gpu, None, record.memory_percent


def _gpu_state(record: r.GpuState) -> Values:
    watts = None if record.power_mw is None else record.power_mw / 1000
    yield "gpu_sm_clock_mhz", record.gpu, None, record.sm_mhz
    yield "gpu_memory_clock_mhz", record.gpu, None, record.memory_mhz
    yield "gpu_power_w", record.gpu, None, watts
    yield "gpu_temperature_c", record.gpu, None, record.temperature_c


def _torch_memory(record: r.TorchMemory) -> Values:
    pid = r.pid_of(record.proc)
    yield "torch_allocated_mib", record.device, pid, record.allocated_bytes / MIB
    yield "torch_reserved_mib", record.device, pid, record.reserved_bytes / MIB


def _host_memory(record: r.HostMemory) -> Values:
    yield "ram_used_mib", None, None, (record.total_bytes - record.available_bytes) / MIB
    yield "swap_used_mib", None, None, _mib(record.swap_used_bytes)
    yield "process_rss_mib", None, None, _mib(record.tree_rss_bytes)


def _queue(record: r.Queue) -> Values:
    yield "queue_depth", None, r.pid_of(record.proc), record.depth


def _mib(amount: int | None) -> float | None:
    return None if amount is None else amount / MIB
