"""Which records become which curve of the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mgtop.analysis.devices import Device, Devices
from mgtop.analysis.series import STALE_PERIODS, Store
from mgtop.analysis.sources import Sources
from mgtop.wire.records import (
    GpuDevice,
    GpuMemory,
    GpuProcess,
    GpuUtilisation,
    HostCpu,
    SourceState,
)

MIB = 1 << 20
REPEAT_NS = 1_000_000_000
"""What does not change is written again this often, so a reading holds at least that long."""
HOST_PERIOD_NS = 100_000_000

_PREFERRED = ("gpm", "ring", "poll")


class Charted:
    """Fills the store's curves of memory, GPU and CPU."""

    def __init__(self, store: Store, devices: Devices, sources: Sources) -> None:
        self._store, self._devices, self._sources = store, devices, sources
        self._cpu: HostCpu | None = None
        self._utilisation: dict[int, str] = {}
        self._untold: set[int] = set()

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records; the devices and sources must have them already."""
        return {
            GpuMemory: self._memory,
            HostCpu: self._host_cpu,
            GpuUtilisation: self._gpu,
            GpuProcess: self._process,
            GpuDevice: lambda record: self._device(self._devices.of(record.gpu)),
            SourceState: self._source,
        }

    def _memory(self, record: GpuMemory) -> None:
        key = f"vram:{record.gpu}"
        period = self._period("nvml") or REPEAT_NS
        self._store.add(key, record.t_ns, record.used_bytes / MIB, period, _good_for(period))

    def _period(self, source: str) -> int | None:
        state = self._sources.last(source)
        return state.period_ns if state is not None else None

    def _device(self, device: Device) -> None:
        total = device.total_bytes
        limit = None if total is None else total / MIB
        gpu = device.gpu
        self._store.describe(f"vram:{gpu}", "MiB", limit, self._sources.reason("nvml"))
        self._store.describe(
            f"vram_process:{gpu}", "MiB", limit, self._sources.reason(f"nvml.processes:{gpu}")
        )
        self._store.describe(f"gpu:{gpu}", "%", 100.0, self._sources.reason("nvml"))

    def _gpu(self, record: GpuUtilisation) -> None:
        """Only the best source is drawn: two of different age would blur each other."""
        drawn = self._utilisation.get(record.gpu)
        if drawn is None or _rank(record.source) < _rank(drawn):
            drawn = self._utilisation[record.gpu] = record.source
        if record.source == drawn:
            period = record.period_ns
            hold = _good_for(period) if record.source == "poll" else None
            self._store.add(f"gpu:{record.gpu}", record.t_ns, record.percent, period, hold)

    def _process(self, record: GpuProcess) -> None:
        if record.relation != "target":
            return
        device = self._devices.of(record.gpu)
        used = device.target_bytes()
        if used is not None:
            key = f"vram_process:{record.gpu}"
            self._store.add(key, record.t_ns, used / MIB, REPEAT_NS)
        elif record.gpu not in self._untold:
            self._untold.add(record.gpu)
            total = device.total_bytes
            self._store.describe(
                f"vram_process:{record.gpu}",
                "MiB",
                None if total is None else total / MIB,
                "the driver does not tell the memory of single processes here",
            )

    def _host_cpu(self, record: HostCpu) -> None:
        before, self._cpu = self._cpu, record
        if before is None:
            self._store.describe("cpu_process", "% of a core")
            self._store.describe("cpu_system", "%", 100.0)
            return
        period = max(HOST_PERIOD_NS, self._period("host") or 0)
        busy, idle = record.busy_ns - before.busy_ns, record.idle_ns - before.idle_ns
        if busy >= 0 and idle >= 0 and busy + idle > 0:
            share = 100.0 * busy / (busy + idle)
            self._store.add("cpu_system", record.t_ns, share, period)
        process = tree_percent(before, record)
        if process is not None:
            self._store.add("cpu_process", record.t_ns, process, period)

    def _source(self, record: SourceState) -> None:
        if record.state == "ok":
            return
        if record.source == "host":
            for key, unit, limit in (
                ("cpu_process", "% of a core", None),
                ("cpu_system", "%", 100.0),
            ):
                self._store.describe(key, unit, limit, record.reason or record.state)
        elif record.source.split(".")[0] == "nvml":
            if not self._devices.by_index and record.source == "nvml":
                # No GPU is known: the charts still say why they are empty.
                for key, unit in (("vram:0", "MiB"), ("gpu:0", "%")):
                    self._store.describe(key, unit, None, record.reason or record.state)
            for device in self._devices.by_index.values():
                self._device(device)


def tree_percent(before: HostCpu, after: HostCpu) -> float | None:
    """CPU of the target's tree between two readings, percent of one core."""
    time = after.t_ns - before.t_ns
    if time <= 0 or before.tree_cpu_ns is None or after.tree_cpu_ns is None:
        return None
    used = after.tree_cpu_ns - before.tree_cpu_ns
    return 100.0 * used / time if used >= 0 else None


def _good_for(period_ns: int) -> int:
    """How long a reading is good for, where one that does not change is left out."""
    return STALE_PERIODS * max(period_ns, REPEAT_NS)


def _rank(source: str) -> int:
    return _PREFERRED.index(source) if source in _PREFERRED else len(_PREFERRED)
