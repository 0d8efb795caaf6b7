"""Put the probe into a running process: look first, then in, then wait for its first word."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mgtop.record.attach.fifos import identity_of, places
from mgtop.record.attach.process import Process, look
from mgtop.record.inject.errors import CannotInject
from mgtop.record.inject.interpreter import Interpreter
from mgtop.record.inject.payload import payload
from mgtop.record.inject.pending_call import nudge, schedule
from mgtop.record.inject.placing import code_for
from mgtop.record.inject.preflight import REMOTE_EXEC, can_borrow, preflight
from mgtop.record.inject.remote_exec import remote_exec
from mgtop.record.inject.threads import FUTEX, call_of, state_of

Found = TypeVar("Found")
PATIENCE_S = 3.0
_FIRST_NUDGE_S = 0.01
_MAIN_AFTER_S = 0.15
_POLL_S = 0.002


@dataclass(frozen=True)
class Injected:
    """What became of it.

    Attributes:
        python: version of the process's interpreter.
        stopped_ns: how long one of its threads stood still; 0 where none did.
        answered: the probe has spoken. False: the call waits in the process, whose main
            thread runs no Python code now.
        before: a probe was there already, so nothing was done.
    """

    python: tuple[int, int] | None
    stopped_ns: int
    answered: bool
    before: bool = False


def inject(
    process: Process,
    runtime: Path,
    patience_s: float = PATIENCE_S,
    *,
    settings: str = "auto",
    hooks: bool = False,
) -> Injected:
    """Put the probe into a process, with hooks and sinks, if it has none.

    Args:
        process: a CPython of 3.8 or later.
        runtime: the runtime folder.
        patience_s: how long to wait for the probe's first word.
        settings: what is asked of the hooks, as ``configured.written`` gives it.
        hooks: functions of the program are to be hooked: done where it has a probe, too.

    Raises:
        CannotInject: why not, and the remedy; the process is as it was.
    """
    before = has_probe(process)
    if before and not hooks:
        return Injected(None, 0, answered=True, before=True)
    python = preflight(process)
    text = payload(code_for(process), settings)
    try:
        if python.version >= REMOTE_EXEC:
            return _by_remote_exec(process, python, text, runtime, patience_s, before)
        stopped_ns = _apart(lambda: schedule(process.pid, python, text)).stopped_ns
        # Where a probe was before, there is no sign of it: then all is done that ever is.
        answered = _wait(process, lambda: not before and has_probe(process), _MAIN_AFTER_S)
        if not answered and _runs(process):
            main = _apart(lambda: schedule(process.pid, python, text, on_main=True))
            stopped_ns = max(stopped_ns, main.stopped_ns)
    except PermissionError:
        raise CannotInject(_refused(process)) from None
    answered = _wait(process, lambda: has_probe(process), patience_s)
    return Injected(python.version, stopped_ns, answered, before)


def _by_remote_exec(
    process: Process,
    python: Interpreter,
    text: str,
    runtime: Path,
    patience_s: float,
    before: bool,
) -> Injected:
    script = remote_exec(process, text, runtime)
    has_run = _wait(process, lambda: not script.exists(), _MAIN_AFTER_S, nudging=False)
    stopped_ns = 0
    if not has_run and call_of(process.pid, process.pid) == FUTEX and can_borrow(python):
        # A main thread that waits for a lock looks for pending calls when it is woken, and for
        # nothing else; in running one it finds the script, too.
        with contextlib.suppress(PermissionError):
            stopped_ns = _apart(lambda: schedule(process.pid, python, text)).stopped_ns
    _wait(process, lambda: not script.exists(), patience_s, nudging=stopped_ns > 0)
    answered = not script.exists() and _wait(process, lambda: has_probe(process), patience_s)
    return Injected(python.version, stopped_ns, answered, before)


def has_probe(process: Process) -> bool:
    """Whether a probe in the process has opened its FIFO."""
    return any(place.is_open and identity_of(place) for place in places(process))


def why_silent(process: Process) -> str:
    """What keeps the main thread from running Python code, as far as it can be seen."""
    number = call_of(process.pid, process.pid)
    where = f"it sleeps in system call {number}" if number is not None else "it runs other code"
    return (
        f"The probe is queued in process {process.pid}, but has not spoken: its main thread has "
        f"run no Python code since ({where}), or /tmp/mgtop-{process.inner_uid} cannot be used. "
        "It is heard as soon as it speaks."
    )


def _runs(process: Process) -> bool:
    """Whether the main thread is on a core, or wants to be."""
    return state_of(process.pid, process.pid) == "R"


def _wait(
    process: Process, done: Callable[[], bool], patience_s: float, *, nudging: bool = True
) -> bool:
    deadline = time.monotonic() + patience_s
    next_nudge = time.monotonic() + _FIRST_NUDGE_S
    while not done():
        now = time.monotonic()
        if now > deadline:
            return False
        if look(process.pid) is None:
            raise CannotInject(f"Process {process.pid} has ended.")
        if nudging and now > next_nudge:
            next_nudge = now + 0.25
            with contextlib.suppress(PermissionError):
                _apart(lambda: nudge(process.pid))
        time.sleep(_POLL_S)
    return True


def _apart(work: Callable[[], Found]) -> Found:
    """Do it in a thread of its own: when that ends, however it ends, nothing stays traced.

    Signals to mgtop wait meanwhile. Were it to end in the middle, the borrowed thread would go
    on somewhere else than it was, and the program die of it.
    """
    results: list[Found] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="inject")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
        thread.join()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if errors:
        raise errors[0]
    return results[0]


def _refused(process: Process) -> str:
    return (
        f"The kernel does not let process {process.pid} ({process.name}) be traced from here: "
        "run mgtop as root with the capability SYS_PTRACE (docker run --cap-add SYS_PTRACE), or "
        "start the program under mgtop run."
    )
