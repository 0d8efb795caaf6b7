"""What the machine did at a time: the readings in force, for formats with a row per frame."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from pathlib import Path

from mgtop.session.reader import read_all
from mgtop.wire import records as r

Point = tuple[int, float]


class Machine:
    """Series of readings by name, of the target's GPU (the first one that has any) and the host.

    Names: ``gpu_load`` %, ``vram_bytes``, ``gpu_temperature_c``, ``gpu_mhz``, ``gpu_memory_mhz``,
    ``gpu_power_w``, ``cpu_load`` %, ``ram_used_bytes``, ``swap_used_bytes``, ``rss_bytes``.
    """

    def __init__(self, folder: Path) -> None:
        self.series: dict[str, list[Point]] = defaultdict(list)
        cpu: r.HostCpu | None = None
        gpu: int | None = None
        for record in read_all(folder):
            if isinstance(record, r.HostCpu):
                if cpu is not None:
                    self._cpu(cpu, record)
                cpu = record
            elif isinstance(record, r.HostMemory):
                self._host_memory(record)
            elif isinstance(record, (r.GpuMemory, r.GpuUtilisation, r.GpuState)):
                gpu = record.gpu if gpu is None else gpu
                if record.gpu == gpu:
                    self._gpu(record)

    def at(self, name: str, t_ns: int) -> float | None:
        """The value in force; None: none had come by then."""
        points = self.series.get(name)
        if not points:
            return None
        i = bisect_right(points, (t_ns, float("inf")))
        return points[i - 1][1] if i else None

    def _add(self, name: str, t_ns: int, value: float | None) -> None:
        if value is not None:
            self.series[name].append((t_ns, float(value)))

    def _cpu(self, before: r.HostCpu, now: r.HostCpu) -> None:
        busy, idle = now.busy_ns - before.busy_ns, now.idle_ns - before.idle_ns
        if busy + idle > 0:
            self._add("cpu_load", now.t_ns, 100.0 * busy / (busy + idle))

    def _host_memory(self, record: r.HostMemory) -> None:
        self._add("ram_used_bytes", record.t_ns, record.total_bytes - record.available_bytes)
        self._add("swap_used_bytes", record.t_ns, record.swap_used_bytes)
        self._add("rss_bytes", record.t_ns, record.tree_rss_bytes)

    def _gpu(self, record: r.GpuMemory | r.GpuUtilisation | r.GpuState) -> None:
        if isinstance(record, r.GpuMemory):
            self._add("vram_bytes", record.t_ns, record.used_bytes)
        elif isinstance(record, r.GpuUtilisation):
            self._add("gpu_load", record.t_ns, record.percent)
        else:
            self._add("gpu_temperature_c", record.t_ns, record.temperature_c)
            self._add("gpu_mhz", record.t_ns, record.sm_mhz)
            self._add("gpu_memory_mhz", record.t_ns, record.memory_mhz)
            watts = None if record.power_mw is None else record.power_mw / 1000
            self._add("gpu_power_w", record.t_ns, watts)
