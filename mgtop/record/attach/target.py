"""A program that was running before: watched, never touched unless its end is asked for."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Collection

from mgtop.record.attach.process import CannotAttach, Process, look
from mgtop.record.oom_kills import OomKills
from mgtop.record.stops import Stops, is_stopped
from mgtop.record.target import KILL_PATIENCE_NS, STOP_PATIENCE_NS
from mgtop.record.tree import descendants, is_running

LIST_PERIOD_NS = 500_000_000


class AttachedTarget:
    """A process and its descendants, those that lost their parent meanwhile included.

    Its end is seen, its exit code is not: that is its parent's alone.

    Args:
        pid: of the process.
        proc: which process that must be: the pid may have been given away since.
        apart: pids whose subtrees are not its own, whoever their parent is (mgtop's).

    Attributes:
        exited: (None, None) once it has ended.
        oom_kills: once it has ended: how many more kills for lack of memory its control group
            counted meanwhile; None: not known.
        stops: when signals stopped it.

    Raises:
        CannotAttach: it has ended, or the pid means another process by now.
    """

    def __init__(self, pid: int, proc: int, apart: Collection[int] = ()) -> None:
        self.pid, self.proc = pid, proc
        self.exited: tuple[int | None, int | None] | None = None
        self.oom_kills: int | None = None
        self.stops = Stops(proc)
        self._oom = OomKills(pid, time.monotonic_ns())
        self._handle = _handle(pid)
        process = look(pid)
        if process is None or process.proc != proc:
            self.close()
            raise CannotAttach(f"Process {pid} has ended; its pid may mean another one by now.")
        self.process = process
        self._apart = frozenset(apart)
        self._members: dict[int, Process] = {pid: process}
        self._listed_ns = 0
        self._term_sent_ns: int | None = None
        self._kill_sent_ns: int | None = None

    def close(self) -> None:
        """Let go of it."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    # -------------------------------------------------------------------------- its members

    def members(self) -> list[Process]:
        """All living processes of the tree, it first; listed anew twice a second."""
        now = time.monotonic_ns()
        if now - self._listed_ns >= LIST_PERIOD_NS:
            self._listed_ns = now
            self._list()
        return list(self._members.values())

    def pids(self) -> list[int]:
        """Their pids."""
        return [member.pid for member in self.members()]

    def _list(self) -> None:
        known = {pid: m for pid, m in self._members.items() if is_running(pid, m.proc)}
        # Orphans have another parent now, so each that is known is a root of its own.
        for pid in self._below(known):
            if pid not in known:
                found = look(pid)
                if found is not None:
                    known[pid] = found
        self._members = known

    def _below(self, roots: Collection[int]) -> list[int]:
        listed = descendants(roots)
        others = set(descendants(pid for pid in self._apart if pid in listed))
        return [pid for pid in listed if pid not in others]

    # ------------------------------------------------------------------------------ its end

    def reap(self) -> None:
        """Notice its end."""
        if self.exited is not None:
            return
        if self._handle >= 0:
            ended = bool(select.select([self._handle], [], [], 0)[0])
        else:
            ended = not is_running(self.pid, self.proc)
        if ended:
            self.exited = (None, None)
            self.oom_kills = self._oom.counted(time.monotonic_ns())
        else:
            self._oom.look(time.monotonic_ns())
            self.stops.note(is_stopped(self.pid))

    @property
    def stopping(self) -> bool:
        """Whether its end was asked for."""
        return self._term_sent_ns is not None

    def stop(self) -> None:
        """Ask it and its descendants to end (TERM); :meth:`pursue` follows up."""
        if self._term_sent_ns is None:
            self._listed_ns = 0
            self._term_sent_ns = time.monotonic_ns()
            self._signal_all(signal.SIGTERM)

    def pursue(self, now_ns: int) -> bool:
        """KILL what has not ended in time; True when all are gone or cannot be waited for."""
        if self._term_sent_ns is None:
            return False
        self._list()
        if not self._members:
            return True
        if self._kill_sent_ns is None:
            if now_ns - self._term_sent_ns >= STOP_PATIENCE_NS:
                self._kill_sent_ns = now_ns
                self._signal_all(signal.SIGKILL)
            return False
        return now_ns - self._kill_sent_ns >= KILL_PATIENCE_NS

    def _signal_all(self, number: signal.Signals) -> None:
        for member in self.members():
            if is_running(member.pid, member.proc):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(member.pid, number)


def _handle(pid: int) -> int:
    """A descriptor that means this process whatever becomes of its pid; −1: not to be had."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise CannotAttach(f"Process {pid} has ended.") from None
    except OSError:  # an old kernel, or a sandbox that does not allow it
        return -1
