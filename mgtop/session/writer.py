"""Appending to the log: one write a chunk, all of it or nothing."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence
from pathlib import Path

from mgtop.session.chunks import RecordTooLarge, pack
from mgtop.wire.records import Record

LOG_NAME = "session.log"

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class SessionWriteError(Exception):
    """The session could not be written (disk full, folder gone); ``str()`` is one sentence."""


def cannot_write(path: Path, error: OSError) -> SessionWriteError:
    """The sentence for a failed write: where, why, and what to do if the disk is full."""
    hint = "; free some space, or choose another folder" if error.errno in _FULL else ""
    return SessionWriteError(f"cannot write {path}: {error.strerror or error}{hint}")


class LogWriter:
    """Appends records to a session's log. There is one writer at a time (see ``lock``).

    Raises:
        SessionWriteError: the log cannot be opened.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOG_NAME
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def append(self, records: Sequence[Record]) -> int:
        """Append one chunk; return its size in bytes (0: there was no record).

        Records that are too many for one chunk make several.

        Raises:
            SessionWriteError: nothing of the chunk was kept; the log is whole, and later
                appends may succeed.
        """
        if not records:
            return 0
        try:
            chunks = pack(records)
        except RecordTooLarge as error:
            raise SessionWriteError(f"cannot write {self.path}: {error} is too large") from None
        for chunk in chunks:
            self._write(chunk)
        return sum(map(len, chunks))

    def close(self) -> None:
        """Close the file; a second time does nothing.

        Raises:
            SessionWriteError: the system says only now that it could not keep what was written.
        """
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            os.close(fd)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def _write(self, chunk: bytes) -> None:
        done = 0
        try:
            while done < len(chunk):  # twice where the disk fills up: the second says why
                done += os.write(self._fd, chunk[done:] if done else chunk)
        except OSError as error:
            self._cut_back(done)
            raise cannot_write(self.path, error) from None

    def _cut_back(self, written: int) -> None:
        if written:
            with contextlib.suppress(OSError):  # else the half chunk stays; a reader skips it
                os.ftruncate(self._fd, os.fstat(self._fd).st_size - written)
