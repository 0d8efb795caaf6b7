"""The process that reads along with a long recording, so that its report is there at the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mgtop.record.notes import note

AFTER_NS = 600_000_000_000
LEAST_BYTES = 4 << 20
"""What is shorter or smaller is read in seconds by whoever asks."""
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Digester:
    """Starts it when a recording has become long, and says what it costs.

    Args:
        folder: the session's.
        begin_ns: when the recording began.
    """

    def __init__(self, folder: Path, begin_ns: int) -> None:
        self._folder = folder
        self._after_ns = begin_ns + AFTER_NS
        self._process: subprocess.Popen[bytes] | None = None
        self._cpu_ns = 0
        self._tried = False

    def pids(self) -> set[int]:
        """Of its process: none of the target's, though a child of the recorder."""
        return set() if self._process is None else {self._process.pid}

    def poll(self, now_ns: int, log_bytes: int) -> None:
        """Start it, if it is time to."""
        if self._process is not None:
            self._process.poll()
        elif not self._tried and now_ns >= self._after_ns and log_bytes >= LEAST_BYTES:
            self._tried = True
            self._start()

    def cpu_ns(self) -> int:
        """CPU time that it has taken so far."""
        if self._process is not None and self._process.returncode is None:
            try:
                with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
                self._cpu_ns = (int(fields[11]) + int(fields[12])) * _TICK_NS
            except (OSError, ValueError, IndexError):
                pass
        return self._cpu_ns

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mgtop.report", str(self._folder.absolute())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            note(f"nothing reads along for the report: {error.strerror}")
