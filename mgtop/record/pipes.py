"""The FIFO that the probes of one target write to, from the reader's side.

The reader opens it ``O_RDWR | O_NONBLOCK`` before the target starts, so no writer ever meets
a pipe without a reader (no SIGPIPE, no ENXIO), and holds an ``flock`` on it, which tells
writers that somebody reads: they then drop and count when it is full. It polls; a reader
that sleeps in ``read()`` makes every write pay for waking it.

When a recording ends while its target goes on, the FIFO stays: the lock is free, so writers
discard the oldest events instead of blocking or growing, and a later reader finds the recent
past in it. It is removed when the target has ended, or by :func:`remove_abandoned`.

Where somebody removes its name (a cleaner of ``/tmp``), those who have it open go on, and the
reader makes another of that name for processes that start later.
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
from mgtop.record.notes import note

PIPE_BYTES = 1 << 20
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)
_YOUNG_S = 60.0
_MOST_REMOVALS = 64
"""Somebody who removes it without end must not use up this process's files."""


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
        self._buffer = memoryview(bytearray(PIPE_BYTES))
        self._fds = [_open_locked(path)]
        self.capacity = _grow(self._fds[0])

    def read(self) -> bytes:
        """All that is there, at most :data:`PIPE_BYTES` of each FIFO; empty if nothing."""
        if not os.path.lexists(self.path):
            self._make_anew()
        return b"".join(map(self._take, self._fds))

    def _take(self, fd: int) -> bytes:
        try:
            size = os.readv(fd, [self._buffer])
        except BlockingIOError:
            return b""
        return bytes(self._buffer[:size])

    def _make_anew(self) -> None:
        if len(self._fds) >= _MOST_REMOVALS:
            return
        with contextlib.suppress(PipeError):  # tried again at the next look
            runtime_folder()
            fd = _open_locked(self.path)
            _grow(fd)
            self._fds.append(fd)
            note(f"{self.path} had been removed; it was made anew for processes that start later")

    def close(self, *, remove: bool) -> None:
        """Give up the lock; ``remove`` the file where no writer is left to come."""
        for fd in self._fds:
            os.close(fd)
        if remove:
            with contextlib.suppress(OSError):
                self.path.unlink()


def _open_locked(path: Path) -> int:
    """Make the FIFO where there is none, open it, and be its reader.

    Raises:
        PipeError: see :class:`EventPipe`.
    """
    try:
        with contextlib.suppress(FileExistsError):
            os.mkfifo(path, 0o600)
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        raise PipeError(f"Cannot open the event pipe {path}: {error.strerror}.") from None
    try:
        if not stat.S_ISFIFO(os.fstat(fd).st_mode):
            raise PipeError(f"{path} is not a FIFO; remove it.")
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise PipeError(f"{path} is already being read by another recorder.") from None
    except PipeError:
        os.close(fd)
        raise
    return fd


def _grow(fd: int) -> int:
    """Ask for 1 MiB; a user who has used up their share of pipe pages gets less."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, _F_SETPIPE_SZ, PIPE_BYTES)
    return fcntl.fcntl(fd, getattr(fcntl, "F_GETPIPE_SZ", 1032))
