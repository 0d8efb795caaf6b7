"""Keeps a long log small beside the recording: compacts what is finished, drops what is too old."""

from __future__ import annotations

from pathlib import Path

import msgspec

from mgtop.config.structs import Retention
from mgtop.record.beside import Beside
from mgtop.record.notes import note
from mgtop.session.rolling import RollingLog

AGAIN_NS = 600_000_000_000
"""Files become too old, and other sessions too large, without that a file is finished here."""


class Upkeep(Beside):
    """The log of a recording, and the process that keeps it small.

    Args:
        folder: the session's.
        retention: what is to be dropped.

    Attributes:
        log: to write to.
    """

    def __init__(self, folder: Path, retention: Retention) -> None:
        super().__init__("the log is not compacted")
        self.log = RollingLog(folder, rolled=self._rolled)
        self._folder = folder
        self._retention = retention
        self._wanted = False
        self._next_ns = 0
        self._problem = ""

    def poll(self, now_ns: int) -> None:
        """Start the process, if there is something to do."""
        if self.log.problem != self._problem:
            self._problem = self.log.problem
            note(f"the log goes on in one file for now: {self._problem}")
        due = self._wanted or (self._retention.drops and now_ns >= self._next_ns)
        if not self.is_running() and due:
            self._wanted, self._next_ns = False, now_ns + AGAIN_NS
            told = msgspec.json.encode(self._retention).decode()
            self.start(["mgtop.session", str(self._folder.absolute()), told])

    def _rolled(self) -> None:
        self._wanted = True
