"""CPU and memory of the whole machine, from ``/proc``."""

from __future__ import annotations

import os
from typing import NamedTuple

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class SystemCpu(NamedTuple):
    """CPU time of all cores since boot."""

    busy_ns: int
    idle_ns: int
    steal_ns: int


class SystemMemory(NamedTuple):
    """Memory of the machine, bytes."""

    total_bytes: int
    available_bytes: int
    swap_used_bytes: int


def system_cpu() -> SystemCpu:
    """Busy and idle time of all cores; waiting for a disk counts as idle.

    Steal (the host of a virtual machine gave the core to another) is busy: somebody used it.
    Guest time is already inside user time.

    Raises:
        OSError, ValueError, IndexError: ``/proc/stat`` cannot be read.
    """
    with open("/proc/stat", "rb") as file:
        user, nice, system, idle, wait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return SystemCpu(busy * _TICK_NS, (idle + wait) * _TICK_NS, steal * _TICK_NS)


def system_memory() -> SystemMemory:
    """Total and available memory, and swap in use.

    Raises:
        OSError, ValueError, KeyError: ``/proc/meminfo`` cannot be read.
    """
    with open("/proc/meminfo", "rb") as file:
        lines = file.read().splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(b":") for line in lines)}
    available = kib.get(b"MemAvailable", kib[b"MemFree"])
    swap = kib.get(b"SwapTotal", 0) - kib.get(b"SwapFree", 0)
    return SystemMemory(kib[b"MemTotal"] << 10, available << 10, swap << 10)
