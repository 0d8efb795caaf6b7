"""When the program was stopped by a signal (SIGSTOP, Ctrl-Z, a debugger), and when it went on.

A stopped program cannot say so itself, and without this its standing still would be put down
to whatever it was at.
"""

from __future__ import annotations

import time

from mgtop.wire.records import TargetStopped


class Stops:
    """Collects the changes of one process. Seen at the reader's pace: some 40 ms late."""

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._stopped = False
        self._changes: list[TargetStopped] = []

    def note(self, stopped: bool) -> None:
        """Take what is the case now."""
        if stopped != self._stopped:
            self._stopped = stopped
            self._changes.append(TargetStopped(time.monotonic_ns(), self._proc, stopped))

    def take(self) -> list[TargetStopped]:
        """The changes since the last call."""
        taken, self._changes = self._changes, []
        return taken


def is_stopped(pid: int) -> bool:
    """Whether a process that is not a child of this one is stopped, or traced and held."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split(None, 1)[0] in (b"T", b"t")
    except (OSError, IndexError):
        return False
