"""Curves of the framework's own memory, and of the target's RAM."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median_low
from typing import Any

from mgtop.analysis.devices import Devices
from mgtop.analysis.memory_framework import Framework
from mgtop.analysis.series import Store
from mgtop.wire.records import GpuProcess, HostMemory, TorchMemory

MIB = 1 << 20
HOLD_NS = 3_000_000_000
"""The framework is read at emits alone: a reading is good until the next, so long at most."""
GAPS = 31
LEAST_NS = 1_000_000
"""Readings of several processes, or at a request's end, come at nearly the same time."""
HOST_HOLD_NS = 3_000_000_000


class ChartedMemory:
    """Fills ``torch_allocated:GPU``, ``torch_reserved:GPU``, ``torch_peak:GPU``, ``host_rss``."""

    def __init__(self, store: Store, devices: Devices) -> None:
        self._store, self._devices = store, devices
        self._framework = Framework(devices)
        self._described: dict[int, int | None] = {}
        self._last_ns: dict[int, int] = {}
        self._gaps: dict[int, deque[int]] = {}
        self._host_ns: int | None = None

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records; the devices must have them already."""
        return {TorchMemory: self._torch, HostMemory: self._host, GpuProcess: self._process}

    def _process(self, record: GpuProcess) -> None:
        if record.used_bytes == 0:
            self._framework.gone(record.pid)

    def _torch(self, record: TorchMemory) -> None:
        gpu, held, _ = self._framework.take(record)
        device = self._devices.by_index.get(gpu)
        total = device.total_bytes if device is not None else None
        if gpu not in self._described or self._described[gpu] != total:
            self._described[gpu] = total
            limit = None if total is None else total / MIB
            for key in ("torch_allocated", "torch_reserved", "torch_peak"):
                self._store.describe(f"{key}:{gpu}", "MiB", limit)
        period = self._period(gpu, record.t_ns)
        add = self._store.add
        add(f"torch_allocated:{gpu}", record.t_ns, held.allocated / MIB, period, HOLD_NS)
        add(f"torch_reserved:{gpu}", record.t_ns, held.reserved / MIB, period, HOLD_NS)
        add(f"torch_peak:{gpu}", record.t_ns, record.peak_bytes / MIB, period, HOLD_NS)

    def _period(self, gpu: int, t_ns: int) -> int:
        """Time between readings, by the median of the last ones: they come at emits."""
        gaps = self._gaps.setdefault(gpu, deque(maxlen=GAPS))
        before = self._last_ns.get(gpu)
        self._last_ns[gpu] = t_ns
        if before is not None and t_ns - before > LEAST_NS:
            gaps.append(t_ns - before)
        return median_low(gaps) if gaps else HOLD_NS

    def _host(self, record: HostMemory) -> None:
        if record.tree_rss_bytes is None:
            return
        if self._host_ns is None:
            self._store.describe("host_rss", "MiB of RAM", record.total_bytes / MIB)
        before, self._host_ns = self._host_ns, record.t_ns
        period = max(1, record.t_ns - before) if before is not None else HOST_HOLD_NS
        used = record.tree_rss_bytes / MIB
        self._store.add("host_rss", record.t_ns, used, period, HOST_HOLD_NS)
