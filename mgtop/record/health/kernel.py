"""What this kernel tells about processes and threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mgtop.record.health.files import number_of, text_of
from mgtop.record.health.finding import Finding, bad, ok
from mgtop.record.host.pressure import read_totals_ns
from mgtop.record.host.threads import disk_waits_counted

SPIN_NS = 10_000_000
LONGEST_SPIN_NS = 200_000_000
_CAP_SYS_PTRACE = 19


def spin() -> int:
    """Keep this thread busy until it has used :data:`SPIN_NS` of a core; ns that it used.

    On a machine that is busy itself it gives up after :data:`LONGEST_SPIN_NS`.
    """
    began, end = time.thread_time_ns(), time.monotonic_ns() + LONGEST_SPIN_NS
    while (used := time.thread_time_ns() - began) < SPIN_NS and time.monotonic_ns() < end:
        pass
    return used


def check_kernel(
    pid: int | None = None,
    tid: int | None = None,
    work: Callable[[], int] = spin,
    root: Path = Path("/"),
) -> Iterator[Finding]:
    """Scheduler statistics, children, pressure, disk wait, hidden processes, ptrace.

    Args:
        pid: of the process to look at (None: this one).
        tid: of its thread that ``work`` keeps busy (None: this one).
        work: keeps the thread busy, and says for how many ns of a core.
        root: where ``/proc`` is.
    """
    proc = root / "proc"
    pid = os.getpid() if pid is None else pid
    tid = threading.get_native_id() if tid is None else tid
    task = proc / str(pid) / "task" / str(tid)
    yield _schedstat(task / "schedstat", work)
    yield _children(task / "children")
    yield _pressure(proc / "pressure")
    yield _disk_wait(proc)
    yield _hidden(proc / "self/mounts")
    yield _ptrace(proc)


def _schedstat(path: Path, work: Callable[[], int]) -> Finding:
    ran, _ = _counters(path)
    used = work()
    now, waited = _counters(path)
    if ran is None or now is None:
        return bad(
            "kernel.schedstat",
            "scheduler statistics",
            "not there",
            "this kernel has no /proc/PID/task/TID/schedstat (CONFIG_SCHED_INFO)",
            "none in a sandbox (gVisor); else a distribution's kernel: waits for a core stay n/a",
            state="missing",
        )
    if now - ran < used / 2:
        return bad(
            "kernel.schedstat",
            "scheduler statistics",
            "always zero",
            "a busy thread does not show: waits for a core stay n/a",
            "boot a kernel with CONFIG_SCHED_INFO; a sandbox (gVisor) has none",
        )
    return ok(
        "kernel.schedstat",
        "scheduler statistics",
        f"{(now - ran) / 1e6:.1f} of {used / 1e6:.1f} ms of work were seen",
        seen_ms=round((now - ran) / 1e6, 3),
        waited_ms=None if waited is None else round(waited / 1e6, 3),
    )


def _counters(path: Path) -> tuple[int | None, int | None]:
    fields = (text_of(path) or "").split()
    try:
        return int(fields[0]), int(fields[1])
    except (IndexError, ValueError):
        return None, None


def _children(path: Path) -> Finding:
    if path.exists():
        return ok("kernel.children", "child processes", "listed by the kernel")
    return bad(
        "kernel.children",
        "child processes",
        "found by asking every process",
        "this kernel has no /proc/PID/task/TID/children (CONFIG_PROC_CHILDREN)",
        "none is needed; with thousands of processes it costs the recorder time",
    )


def _pressure(folder: Path) -> Finding:
    told = [what for what in ("cpu", "memory", "io") if read_totals_ns(folder / what)]
    if told:
        return ok("kernel.pressure", "pressure (PSI)", ", ".join(told), told=told)
    return bad(
        "kernel.pressure",
        "pressure (PSI)",
        "not there",
        "the kernel was built or booted without pressure stall information",
        "boot with psi=1; per-thread waits are read all the same",
    )


def _disk_wait(proc: Path) -> Finding:
    counted = disk_waits_counted(proc)
    if counted:
        return ok("kernel.disk_wait", "waits for a disk", "counted for each thread", counted=True)
    if counted is None:
        return ok("kernel.disk_wait", "waits for a disk", "as far as this kernel counts them")
    return bad(
        "kernel.disk_wait",
        "waits for a disk",
        "not counted",
        "kernel.task_delayacct is 0 (as by default since Linux 5.14): they stay n/a",
        "sudo sysctl kernel.task_delayacct=1",
        counted=False,
    )


def _hidden(mounts: Path) -> Finding:
    name = "other processes"
    for line in (text_of(mounts) or "").splitlines():
        fields = line.split()
        if len(fields) < 4 or fields[1] != "/proc" or fields[2] != "proc":
            continue
        hidden = [option for option in fields[3].split(",") if option.startswith("hidepid=")]
        if hidden and hidden[-1] not in ("hidepid=0", "hidepid=off"):
            return bad(
                "kernel.hidepid",
                name,
                f"hidden ({hidden[-1]})",
                "processes of other users have neither name nor user: neighbours stay nameless",
                "ask for membership in the group of /proc's gid= option; your own are seen",
                option=hidden[-1],
            )
    return ok("kernel.hidepid", name, "can be seen")


def _ptrace(proc: Path) -> Finding:
    name = "ptrace"
    scope = number_of(proc / "sys/kernel/yama/ptrace_scope")
    if scope in (None, 0) or _has_capability(proc / "self/status", _CAP_SYS_PTRACE):
        return ok("kernel.ptrace", name, "allowed", scope=scope)
    reasons = {
        1: "kernel.yama.ptrace_scope is 1: only for programs that the caller started itself",
        2: "kernel.yama.ptrace_scope is 2: only for root",
    }
    return bad(
        "kernel.ptrace",
        name,
        "restricted",
        reasons.get(scope or 0, "kernel.yama.ptrace_scope is 3: for nobody until reboot"),
        "only putting a probe into a running program needs it: start it with mgtop run instead",
        scope=scope,
    )


def _has_capability(status: Path, number: int) -> bool:
    for line in (text_of(status) or "").splitlines():
        if line.startswith("CapEff:"):
            try:
                return bool(int(line.split()[1], 16) >> number & 1)
            except (IndexError, ValueError):
                return False
    return False
