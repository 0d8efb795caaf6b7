"""The thread that reads the machine: each metric at its own rate, slowed by its own cost."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection

from mgtop.record.host.cgroup import Bandwidth, find_group, memory_of
from mgtop.record.host.pressure import Pressure
from mgtop.record.host.processes import ProcessTree
from mgtop.record.host.quota import quota_cores
from mgtop.record.host.system import system_cpu, system_memory
from mgtop.record.host.threads import Threads
from mgtop.record.sampler import MS, Sampler
from mgtop.record.schedule import MetricGone, Reading
from mgtop.wire.records import HostCpu, HostMemory, Record


class HostSampler(Sampler):
    """Samples the machine and the target's processes.

    Args:
        target_pids: the target's tree, as this process sees it; the launched one first.
        clock: ``CLOCK_MONOTONIC`` in ns.
    """

    def __init__(
        self,
        target_pids: Callable[[], Collection[int]],
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__("host", clock)
        self._tree = ProcessTree(target_pids)
        self._threads = 0
        self._quota: float | None = None

    def members(self) -> list[int]:
        """Pids of the tree as of the last reading."""
        return self._tree.members

    def open(self) -> None:
        """Plan the readings."""
        self.readings = [
            Reading("cpu", None, self._cpu, 100 * MS, 0.01),
            Reading("memory", None, self._memory, 500 * MS, 0.005),
            # torch makes dozens of threads, and each costs a file: 1 ms for 80 of them.
            Reading("threads", None, Threads(self.members), 500 * MS, 0.003),
            Reading("cgroup", None, Bandwidth(self._first), 200 * MS, 0.002),
            Reading("pressure", None, Pressure(), 500 * MS, 0.001),
            Reading("quota", None, self._read_quota, 10_000 * MS, 0.001),
        ]

    def _first(self) -> int | None:
        return next(iter(self._tree.members), None)

    def _cpu(self, now_ns: int) -> list[Record]:
        tree_ns = self._tree.cpu_ns(now_ns)
        try:
            system = system_cpu()
        except (OSError, ValueError) as error:
            raise MetricGone(f"/proc/stat cannot be read: {error}") from None
        return [
            HostCpu(
                t_ns=now_ns,
                cores=os.cpu_count() or 1,
                busy_ns=system.busy_ns,
                idle_ns=system.idle_ns,
                tree_cpu_ns=tree_ns,
                processes=len(self._tree.members),
                threads=self._threads,
                quota_cores=self._quota,
                steal_ns=system.steal_ns,
            )
        ]

    def _memory(self, now_ns: int) -> list[Record]:
        tree = self._tree.memory()
        self._threads = tree.threads if tree else 0
        try:
            memory = system_memory()
        except (OSError, ValueError, KeyError) as error:
            raise MetricGone(f"/proc/meminfo cannot be read: {error}") from None
        first = self._first()
        group = find_group(first) if first is not None else None
        used, limit = memory_of(group) if group is not None else (None, None)
        return [
            HostMemory(
                t_ns=now_ns,
                total_bytes=memory.total_bytes,
                available_bytes=memory.available_bytes,
                tree_rss_bytes=tree.rss_bytes if tree else None,
                tree_major_faults=tree.major_faults if tree else None,
                cgroup_bytes=used,
                cgroup_limit_bytes=limit,
                swap_used_bytes=memory.swap_used_bytes,
            )
        ]

    def _read_quota(self, _now_ns: int) -> list[Record]:
        members = self._tree.members
        if members:
            self._quota = quota_cores(members[0])
        return []
