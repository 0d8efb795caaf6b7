"""A process of mgtop's own beside a recording, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from mgtop.record.notes import note

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Beside:
    """One at a time; it goes on where the recorder ends.

    Args:
        what_fails: what does not happen where it cannot be started, for the recorder's notes.
    """

    def __init__(self, what_fails: str) -> None:
        self._what_fails = what_fails
        self._process: subprocess.Popen[bytes] | None = None
        self._before_ns = 0
        self._cpu_ns = 0

    def pids(self) -> set[int]:
        """Of its process: none of the target's, though a child of the recorder."""
        return set() if self._process is None else {self._process.pid}

    def is_running(self) -> bool:
        """Whether it is; one that has ended is reaped."""
        return self._process is not None and self._process.poll() is None

    def cpu_ns(self) -> int:
        """CPU time that it has taken so far, and those before it."""
        if self._process is not None and self._process.returncode is None:
            try:
                with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                self._cpu_ns = (int(fields[11]) + int(fields[12])) * _TICK_NS
            except (OSError, ValueError, IndexError):
                pass
        return self._before_ns + self._cpu_ns

    def start(self, arguments: Sequence[str]) -> None:
        """Run a module of mgtop with these arguments."""
        self._before_ns, self._cpu_ns = self._before_ns + self._cpu_ns, 0
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            note(f"{self._what_fails}: {error.strerror}")
