"""How many cores there are, and how many of them this process may use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mgtop.record.health.finding import Finding, bad, ok
from mgtop.record.host.cgroup import find_group, read_table
from mgtop.record.host.quota import quota_cores


class Cores(NamedTuple):
    """Of the machine, of this process's mask, and the load of the last minute."""

    machine: int
    allowed: int
    load: float | None


def these_cores() -> Cores:
    """What the system tells this process."""
    machine = os.cpu_count() or 1
    try:
        allowed = len(os.sched_getaffinity(0))
    except OSError:
        allowed = machine
    try:
        load = os.getloadavg()[0]
    except OSError:
        load = None
    return Cores(machine, allowed, load)


def check_processor(cores: Cores, pid: int, root: Path = Path("/")) -> Iterator[Finding]:
    """Cores, quota, throttling and load.

    Args:
        cores: what the system tells.
        pid: the process whose control group is looked at.
        root: where ``/proc`` and ``/sys`` are.
    """
    proc, groups = root / "proc", root / "sys/fs/cgroup"
    quota = quota_cores(pid, groups, proc)
    yield _count(cores, quota)
    yield from _bandwidth(pid, groups, proc, quota)
    if cores.load is not None:
        yield _load(cores, quota)


def _count(cores: Cores, quota: float | None) -> Finding:
    usable = cores.allowed if quota is None else min(cores.allowed, quota)
    value = f"{cores.allowed} of {cores.machine} may be used"
    if cores.allowed == cores.machine:
        value = str(cores.machine)
    measured = {"machine": cores.machine, "allowed": cores.allowed, "usable": usable}
    if usable >= 2:
        return ok("processor.cores", "cores", value, measured=measured)
    return bad(
        "processor.cores",
        "cores",
        value,
        f"on {usable:g} of a core the program, the recorder and the screen wait for each other",
        "allow at least 2 cores (docker --cpus 2, taskset, limits.cpu)",
        measured=measured,
    )


def _bandwidth(pid: int, groups: Path, proc: Path, quota: float | None) -> Iterator[Finding]:
    group = find_group(pid, groups, proc)
    if group is None or group.cpu is None:
        yield bad(
            "processor.quota",
            "CPU quota",
            "not told",
            "no control group with a cpu controller is to be seen",
            "mount /sys/fs/cgroup into the container",
        )
        return
    stat = read_table(group.cpu / "cpu.stat")
    periods, throttled = stat.get("nr_periods"), stat.get("nr_throttled", 0)
    throttled_ms = (stat.get("throttled_usec", 0) or stat.get("throttled_time", 0) / 1e3) / 1e3
    measured = {
        "cgroup_version": group.version,
        "quota_cores": quota,
        "periods": periods,
        "throttled": throttled,
        "throttled_ms": throttled_ms,
    }
    limit = "none" if quota is None else f"{quota:g} cores"
    where = f"cgroup v{group.version}"
    if not periods or not throttled:
        yield ok(
            "processor.quota", "CPU quota", f"{limit} ({where}), not throttled", measured=measured
        )
        return
    yield bad(
        "processor.quota",
        "CPU quota",
        f"{limit} ({where}), throttled in {100 * throttled / periods:.0f} % of its periods",
        f"it was stopped {throttled:,} times, {throttled_ms:,.0f} ms in all: each is a stall",
        "raise it (docker --cpus, limits.cpu), or start fewer threads",
        measured=measured,
    )


def _load(cores: Cores, quota: float | None) -> Finding:
    assert cores.load is not None
    value = f"{cores.load:.1f} over the last minute"
    if cores.load <= cores.machine:
        return ok("processor.load", "load", value, load_1min=cores.load)
    return bad(
        "processor.load",
        "load",
        value,
        f"more wants to run than {cores.machine} cores can: frames wait for a core",
        "measure when the machine is quiet; late frames then have one suspect less",
        load_1min=cores.load,
    )
