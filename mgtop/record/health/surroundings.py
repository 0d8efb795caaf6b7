"""On what kind of machine this is: container, WSL2, and what that means."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mgtop.record.environment import describe
from mgtop.record.health.files import text_of
from mgtop.record.health.finding import Finding, bad, ok
from mgtop.record.health.recording import in_gib
from mgtop.record.host.cgroup import find_group, memory_of

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel's number for the namespace that it booted with (PROC_PID_INIT_INO)."""
NEARLY_FULL = 0.9


def check_surroundings(pid: int, root: Path = Path("/")) -> Iterator[Finding]:
    """System, container, pids, memory limit, WSL2.

    Args:
        pid: the process whose control group and namespace are looked at.
        root: where ``/proc``, ``/sys`` and ``/etc`` are.
    """
    about = describe(root)
    kernel = text_of(root / "proc/sys/kernel/osrelease") or about["kernel"] or ""
    system = about["os"] or "Linux"
    yield ok("machine.system", "system", f"{system}, kernel {kernel}", os=system, kernel=kernel)
    if is_wsl(kernel):
        yield bad(
            "machine.wsl",
            "WSL2",
            "Linux beside Windows",
            "no GPU memory per process; a full card spills into system memory without an error",
            "watch device memory; NVIDIA control panel: sysmem fallback policy, prefer none",
        )
    yield _container(about["container"], pid, root / "proc")
    yield from _memory(pid, root)


def is_wsl(kernel: str) -> bool:
    """Whether a kernel's release is that of WSL."""
    return "microsoft" in kernel.lower() or "wsl" in kernel.lower()


def in_first_namespace(pid: int, proc: Path = Path("/proc")) -> bool | None:
    """Whether a process has the pids of the machine itself; None where it is not told."""
    try:
        return os.readlink(proc / str(pid) / "ns/pid") == FIRST_PID_NAMESPACE
    except OSError:
        return None


def _container(kind: str | None, pid: int, proc: Path) -> Finding:
    own_pids = in_first_namespace(pid, proc) is False
    measured = {"kind": kind, "own_pids": own_pids}
    if kind is None and not own_pids:
        return ok("machine.container", "container", "none seen", measured=measured)
    value = (kind or "not recognised") + (", with pids of its own" if own_pids else "")
    return ok("machine.container", "container", value, measured=measured)


def _memory(pid: int, root: Path) -> Iterator[Finding]:
    group = find_group(pid, root / "sys/fs/cgroup", root / "proc")
    used, limit = memory_of(group) if group is not None else (None, None)
    if used is None or not limit:
        return
    value = f"{in_gib(used)} of {in_gib(limit)} used"
    measured = {"used_mib": used >> 20, "limit_mib": limit >> 20}
    if used < NEARLY_FULL * limit:
        yield ok("machine.memory_limit", "memory limit", value, measured=measured)
        return
    yield bad(
        "machine.memory_limit",
        "memory limit",
        value,
        "at the limit the kernel kills the largest process of the container",
        "raise it (docker --memory, limits.memory); file cache counts, too, but gives way",
        measured=measured,
    )
