"""Appending to the log: one write a chunk, all of it or nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from mgtop.session.chunks import pack
from mgtop.wire.records import Record

LOG_NAME = "session.log"


class SessionWriteError(Exception):
    """The log could not be written (disk full, folder gone); ``str()`` is one sentence."""


class LogWriter:
    """Appends records to a session's log. There is one writer at a time (see ``lock``)."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
            self._end = os.fstat(self._fd).st_size
        except OSError as error:
            raise SessionWriteError(f"cannot write {self.path}: {error.strerror}") from None

    def append(self, records: Sequence[Record]) -> int:
        """Append one chunk; return its size in bytes.

        Raises:
            SessionWriteError: nothing of the chunk was kept.
        """
        chunk = pack(records)
        try:
            written = os.write(self._fd, chunk)
        except OSError as error:
            self._cut_back()
            raise SessionWriteError(f"cannot write {self.path}: {error.strerror}") from None
        if written != len(chunk):
            self._cut_back()
            raise SessionWriteError(f"cannot write {self.path}: no space left on device")
        self._end += written
        return written

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _cut_back(self) -> None:
        with contextlib.suppress(OSError):  # else the half chunk stays, and a reader skips it
            os.ftruncate(self._fd, self._end)
