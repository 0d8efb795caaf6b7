"""The monitored program: started in a session of its own, reaped, and stopped on request.

The recorder is its subreaper: descendants whose parent dies come to the recorder instead of
to PID 1, so the whole tree stays known until the recorder ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from mgtop.record.oom_kills import OomKills
from mgtop.record.stops import Stops
from mgtop.record.tree import children, descendants, proc_number
from mgtop.wire.records import proc_of

STOP_PATIENCE_NS = 10_000_000_000
"""How long a target has between TERM and KILL."""
KILL_PATIENCE_NS = 3_000_000_000
"""How long killed processes may take to go; one that hangs in the kernel may never."""

_PR_SET_CHILD_SUBREAPER = 36


class TargetNotStarted(Exception):
    """The command cannot be run; ``str()`` says why and what to do."""


def become_subreaper() -> bool:
    """Have orphaned descendants come to this process; False where the kernel refuses."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class Target:
    """A launched program and its descendants.

    Attributes:
        pid: of the process that was launched (leader of its session and group).
        proc: its ``proc`` number.
        exited: its wait status as (code, signal), one of them None; None while it runs.
        oom_kills: once it has ended: how many more kills for lack of memory its control group
            counted meanwhile; None: not known.
        stops: when signals stopped it.
        beside: children of this process that are none of the target's, by pid.
    """

    def __init__(
        self,
        command: Sequence[str],
        cwd: str,
        environment: Mapping[str, str],
        output: Path,
        stdin: int,
    ) -> None:
        """Start it.

        Args:
            command: program and arguments; no shell.
            cwd: working directory.
            environment: all of the target's environment.
            output: file that stdout and stderr are appended to, readable by its owner alone.
            stdin: file descriptor that becomes its standard input.

        Raises:
            TargetNotStarted: there is no such program or folder, or it may not be run.
            OSError: ``output`` cannot be made.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = os.open(output, flags, 0o600)
        try:
            self._process = subprocess.Popen(
                list(command),
                cwd=cwd,
                env=dict(environment),
                stdin=stdin,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise TargetNotStarted(explain(command, cwd, error)) from None
        finally:
            os.close(log)
        self.pid = self._process.pid
        self.beside: Callable[[], Collection[int]] = tuple
        self.proc = proc_number(self.pid) or proc_of(self.pid, 0)
        self.exited: tuple[int | None, int | None] | None = None
        self.oom_kills: int | None = None
        self.stops = Stops(self.proc)
        self._oom = OomKills(self.pid, time.monotonic_ns())
        self._term_sent_ns: int | None = None
        self._kill_sent_ns: int | None = None

    def reap(self) -> None:
        """Collect every child that has ended: the target, and orphans of its tree."""
        if self.exited is None:
            self._oom.look(time.monotonic_ns())
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                if pid == self.pid:
                    self.stops.note(os.WIFSTOPPED(status))
            elif pid == self.pid:
                code = os.waitstatus_to_exitcode(status)
                self._process.returncode = code
                self.exited = (code, None) if code >= 0 else (None, -code)
                self.oom_kills = self._oom.counted(time.monotonic_ns())

    def pids(self) -> list[int]:
        """All living processes of the tree, the launched one first.

        The descendants of this process are the target's, but those ``beside``.
        """
        return descendants(self._children())

    def _children(self) -> list[int]:
        beside = self.beside()
        return [pid for pid in children(os.getpid()) if pid not in beside]

    @property
    def stopping(self) -> bool:
        """Whether :meth:`stop` was called."""
        return self._term_sent_ns is not None

    def stop(self) -> None:
        """Ask the whole tree to end (TERM); :meth:`pursue` follows up."""
        if self._term_sent_ns is None:
            self._term_sent_ns = time.monotonic_ns()
            self._signal_all(signal.SIGTERM)

    def pursue(self, now_ns: int) -> bool:
        """Follow up on :meth:`stop`: KILL what has not ended in time. Call after :meth:`reap`.

        Returns:
            Whether the tree is gone, or can be waited for no longer.
        """
        if self._term_sent_ns is None:
            return False
        if self.exited is not None and not self._children():
            return True
        if self._kill_sent_ns is None:
            if now_ns - self._term_sent_ns >= STOP_PATIENCE_NS:
                self._kill_sent_ns = now_ns
                self._signal_all(signal.SIGKILL)
            return False
        return now_ns - self._kill_sent_ns >= KILL_PATIENCE_NS

    def _signal_all(self, number: signal.Signals) -> None:
        """Signal the target's group at once, then those who have left the group."""
        others = []
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                if os.getpgid(pid) != self.pid:
                    others.append(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)
        for pid in others:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def explain(command: Sequence[str], cwd: str, error: Exception) -> str:
    """One sentence on why ``command`` could not be started."""
    program = command[0]
    if not os.path.isdir(cwd):
        return f"The working directory {cwd!r} does not exist."
    if not os.access(cwd, os.X_OK):
        return f"The working directory {cwd!r} may not be entered: you lack the permission."
    if isinstance(error, FileNotFoundError):
        path = os.path.join(cwd, program)
        if "/" in program and os.path.exists(path):
            return f"{program!r} cannot be run: the interpreter in its first line does not exist."
        if "/" in program:
            return f"The program {program!r} does not exist (working directory: {cwd})."
        other = f"{program}3 is there" if shutil.which(f"{program}3") else "check the spelling"
        return f"The command {program!r} was not found on PATH; {other}."
    if isinstance(error, PermissionError):
        hint = f"; try python {program}" if program.endswith(".py") else ""
        return f"{program!r} may not be run: not executable, or you lack the permission{hint}."
    if isinstance(error, OSError) and error.strerror:
        return f"{program!r} cannot be run: {error.strerror}."
    return f"The command cannot be run: {error}."
