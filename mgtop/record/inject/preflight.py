"""What an injection needs, looked at before anything is touched; each with its exact remedy."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from mgtop.record.attach.process import Process, look
from mgtop.record.inject.elf import X86_64
from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.interpreter import Interpreter, NoInterpreter, find_interpreter
from mgtop.record.inject.threads import state_of
from mgtop.record.tree import descendants, environment_of

OLDEST, REMOTE_EXEC = (3, 8), (3, 14)
_CAP_SYS_PTRACE = 19
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


def preflight(process: Process) -> Interpreter:
    """Make sure that the probe can be put into a process.

    Raises:
        CannotInject: what is missing, and what to do about it.
    """
    pid = process.pid
    _check_state(pid, process.name)
    try:
        python = find_interpreter(pid)
    except NoInterpreter as error:
        raise CannotInject(_not_python(process, str(error))) from None
    except PermissionError:
        raise CannotInject(_forbidden(process)) from None
    except OSError:
        raise CannotInject(f"Process {pid} has ended.") from None
    check_version(python, pid)
    if python.version < REMOTE_EXEC:
        check_machine(python.machine, platform.machine())
    _check_tracer(pid)
    check_yama(process, _yama_scope(), _may_trace_all())
    if environment_of(pid).get("MGTOP_PROBE", "").lower() in ("off", "0", "no", "false"):
        raise CannotInject(
            f"Process {pid} was started with MGTOP_PROBE=off, so a probe in it does nothing: "
            "start it without."
        )
    return python


def check_version(python: Interpreter, pid: int) -> None:
    """Refuse versions that nothing is known of."""
    if python.version < OLDEST:
        named = ".".join(map(str, python.version))
        raise CannotInject(f"Process {pid} runs Python {named}; the probe needs 3.8. {_OTHERWISE}")
    if python.free_threaded and python.version < REMOTE_EXEC:
        raise CannotInject(
            f"Process {pid} runs a Python without the GIL, which is entered safely from 3.14 on "
            f"only. {_OTHERWISE}"
        )


_OTHERWISE = "Start it under mgtop run, or put `from mgtop import probe` into it."


def check_machine(theirs: int, ours: str) -> None:
    """Before 3.14 the way in knows the registers of x86-64 alone."""
    if ours != "x86_64" or theirs != X86_64:
        what = f"this machine is {ours}" if ours != "x86_64" else "that program is not"
        raise CannotInject(
            f"Injection into Python before 3.14 works on x86-64 only, and {what}. {_OTHERWISE}"
        )


def can_borrow(python: Interpreter) -> bool:
    """Whether a thread of it could be borrowed on this machine, whatever its version."""
    return not python.free_threaded and (platform.machine(), python.machine) == ("x86_64", X86_64)


def _check_state(pid: int, name: str) -> None:
    state = state_of(pid, pid)
    if state in "Tt":
        raise CannotInject(
            f"Process {pid} ({name}) is stopped, so it runs nothing: let it go on first "
            f"(kill -CONT {pid})."
        )
    if state == "D":
        raise CannotInject(
            f"The main thread of process {pid} ({name}) hangs in the kernel (state D: a disk, a "
            "network file system or a driver does not answer), so it runs nothing."
        )


def _check_tracer(pid: int) -> None:
    tracer = int(_status(pid, "TracerPid") or 0)
    if tracer:
        by = look(tracer)
        name = f" ({by.name})" if by is not None else ""
        raise CannotInject(
            f"Process {pid} is being traced by process {tracer}{name}, and only one can: end "
            "that first."
        )


def check_yama(process: Process, scope: int, privileged: bool) -> None:
    """Whether the security module Yama lets us trace a process that we did not start.

    Args:
        process: which.
        scope: ``/proc/sys/kernel/yama/ptrace_scope``; 0 where there is no Yama.
        privileged: we hold CAP_SYS_PTRACE.
    """
    pid = process.pid
    if scope <= 0 or (privileged and scope < 3):
        return
    if scope == 1 and pid in descendants([os.getpid()]):
        return
    if scope == 3:
        raise CannotInject(
            "This system allows nobody to trace a process (Yama, kernel.yama.ptrace_scope=3), "
            f"until its next start. {_OTHERWISE}"
        )
    remedies = [f"sudo mgtop attach {pid} --inject"]
    if scope == 1:
        remedies += [
            "sudo sysctl kernel.yama.ptrace_scope=0",
            "starting the program with setpriv --ptracer any",
        ]
    raise CannotInject(
        f"This system lets a process be traced by its ancestors only (Yama, "
        f"kernel.yama.ptrace_scope={scope}). Either of these helps: {'; '.join(remedies)}."
    )


def _yama_scope() -> int:
    try:
        return int(_YAMA.read_text())
    except (OSError, ValueError):
        return 0


def _may_trace_all() -> bool:
    effective = _status(os.getpid(), "CapEff")
    return bool(effective and int(effective, 16) >> _CAP_SYS_PTRACE & 1)


def _status(pid: int, name: str) -> str | None:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(errors="replace").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def _forbidden(process: Process) -> str:
    return (
        f"Process {process.pid} ({process.name}) may not be traced from here. As root, add the "
        "capability SYS_PTRACE (docker run --cap-add SYS_PTRACE; in a Kubernetes pod "
        f"securityContext.capabilities.add). {_OTHERWISE}"
    )


def _not_python(process: Process, why: str) -> str:
    text = f"Process {process.pid} ({process.name}) cannot be entered: {why}."
    below = []
    for pid in descendants([process.pid])[1:9]:
        try:
            find_interpreter(pid)
        except (NoInterpreter, OSError):
            continue
        below.append(str(pid))
    if below:
        return f"{text} Its descendants {', '.join(below)} run Python: give one of these pids."
    return f"{text} {_OTHERWISE}"
