"""The process that reads along with a long recording, so that its report is there at the end."""

from __future__ import annotations

from pathlib import Path

from mgtop.record.beside import Beside

AFTER_NS = 600_000_000_000
LEAST_BYTES = 4 << 20
"""What is shorter or smaller is read in seconds by whoever asks."""


class Digester(Beside):
    """Starts it when a recording has become long, and says what it costs.

    Args:
        folder: the session's.
        begin_ns: when the recording began.
    """

    def __init__(self, folder: Path, begin_ns: int) -> None:
        super().__init__("nothing reads along for the report")
        self._folder = folder
        self._after_ns = begin_ns + AFTER_NS
        self._tried = False

    def poll(self, now_ns: int, log_bytes: int) -> None:
        """Start it, if it is time to."""
        if self.is_running() or self._tried:
            return
        if now_ns >= self._after_ns and log_bytes >= LEAST_BYTES:
            self._tried = True
            self.start(["mgtop.report", str(self._folder.absolute())])
