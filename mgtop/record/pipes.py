"""The FIFO that the probes of one target write to, from the reader's side.

The reader opens it ``O_RDWR | O_NONBLOCK`` before the target starts, so no writer ever meets
a pipe without a reader (no SIGPIPE, no ENXIO), and holds an ``flock`` on it, which tells
writers that somebody reads: they then drop and count when it is full. It polls; a reader
that sleeps in ``read()`` makes every write pay for waking it.

When a recording ends while its target goes on, the FIFO stays: the lock is free, so writers
discard the oldest events instead of blocking or growing, and a later reader finds the recent
past in it. It is removed when the target has ended, or by :func:`remove_abandoned`.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from pathlib import Path

from mgtop.probe import transport

PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)
_YOUNG_S = 60.0


class PipeError(Exception):
    """The FIFO, or the folder for it, cannot be had; ``str()`` says why and what to do."""


def runtime_folder() -> Path:
    """The folder for FIFOs, made if need be: ``$MGTOP_RUNTIME``, else ``/tmp/mgtop-UID``.

    Raises:
        PipeError: it cannot be made, or somebody else could write into it.
    """
    try:
        return Path(transport.runtime_folder()).absolute()
    except transport.Unusable as error:
        raise PipeError(f"{error}; set MGTOP_RUNTIME to a folder of your own, mode 0700.") from None


def remove_abandoned(folder: Path) -> int:
    """Remove FIFOs that no process has open; return how many.

    Opening for writing alone fails with ENXIO exactly where nobody holds the other end, and
    every probe and reader holds both. Very young ones are spared: their owner may be about
    to open them.
    """
    removed = 0
    newest = time.time() - _YOUNG_S
    for path in folder.glob("*.fifo"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if not stat.S_ISFIFO(status.st_mode) or status.st_mtime > newest:
                continue
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            except OSError as error:
                if error.errno == errno.ENXIO:
                    path.unlink()
                    removed += 1
    return removed


class EventPipe:
    """The reading end of one FIFO. The caller polls :meth:`read`.

    Args:
        path: where to make it; an existing FIFO there is used as it is, with what it holds.

    Raises:
        PipeError: it cannot be made or opened, or another reader has it.
    """

    absence: str | None = None
    """It is there, so events may come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with contextlib.suppress(FileExistsError):
                os.mkfifo(path, 0o600)
            self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise PipeError(f"Cannot open the event pipe {path}: {error.strerror}.") from None
        try:
            if not stat.S_ISFIFO(os.fstat(self._fd).st_mode):
                raise PipeError(f"{path} is not a FIFO; remove it.")
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise PipeError(f"{path} is already being read by another recorder.") from None
        except PipeError:
            os.close(self._fd)
            raise
        self.capacity = self._grow()
        self._buffer = memoryview(bytearray(PIPE_BYTES))

    def _grow(self) -> int:
        """Ask for 1 MiB; a user who has used up their share of pipe pages gets less."""
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._fd, _F_SETPIPE_SZ, PIPE_BYTES)
        return fcntl.fcntl(self._fd, getattr(fcntl, "F_GETPIPE_SZ", 1032))

    def read(self) -> bytes:
        """All that is there, at most :data:`PIPE_BYTES`; empty if nothing."""
        try:
            size = os.readv(self._fd, [self._buffer])
        except BlockingIOError:
            return b""
        return bytes(self._buffer[:size])

    def close(self, *, remove: bool) -> None:
        """Give up the lock; ``remove`` the file where no writer is left to come."""
        os.close(self._fd)
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()
