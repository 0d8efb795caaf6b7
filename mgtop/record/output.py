"""The target's output: how long the file was, when."""

from __future__ import annotations

import os
from pathlib import Path

from mgtop.wire.records import OutputAt

OUTPUT_FILE = "stdout.log"
_PERIOD_NS = 100_000_000


class OutputTail:
    """Watches the length of ``stdout.log``, so that a view can show a time's output."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._next_ns = 0

    def poll(self, now_ns: int, *, final: bool = False) -> list[OutputAt]:
        """The new length where it has changed, at most ten times a second."""
        if now_ns < self._next_ns and not final:
            return []
        self._next_ns = now_ns + _PERIOD_NS
        try:
            size = os.stat(self._path).st_size
        except OSError:
            return []
        if size == self._offset:
            return []
        self._offset = size
        return [OutputAt(t_ns=now_ns, offset=size)]
