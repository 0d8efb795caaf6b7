"""The FIFO that events leave by.

Under ``mgtop run`` the recorder made it and tells its path in ``MGTOP_FIFO``; elsewhere the
probe makes ``PID.fifo`` in the runtime folder. It is opened for reading and writing: so there is
always a reader, no SIGPIPE, and the kernel's buffer keeps the past for a reader that comes late.
"""

from __future__ import annotations

import fcntl
import os
import stat

from .libc import LOCK_EX, LOCK_NB, LOCK_UN, system_calls
from .pack import ALIGN, HEADER, MAGIC, MAX_MESSAGE, padded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from .libc import Calls

CAPACITY = 1 << 20
"""Bytes that the FIFO is asked to hold: 16,384 events of 64 bytes."""

DISCARD = 1 << 16
"""Bytes thrown away from the front of a full FIFO that nobody reads."""

PAGE = 1 << 12
"""A full FIFO has room again once a page of it was read."""

FIFO_VARIABLE = "MGTOP_FIFO"
FOLDER_VARIABLE = "MGTOP_RUNTIME"

_OPEN = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_F_SETPIPE_SZ = 1031  # these two are in fcntl from Python 3.10 on
_F_GETPIPE_SZ = 1032
_HIGH_FD = 500


class Unusable(Exception):
    """There is no FIFO that events could be written to; the text says why."""


def raised(fd: int) -> int:
    """The same file under a high number.

    There, programs that close and reuse low ones do not meet it.
    """
    try:
        high = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD)
    except (OSError, ValueError):
        return fd
    os.close(fd)
    return high


class Fifo:
    """An open FIFO. Nothing here blocks."""

    __slots__ = ("_scrap", "calls", "fd", "own", "path")

    def __init__(self, path: str, own: bool) -> None:
        self.path: str = path
        self.own: bool = own
        self.calls: Calls = system_calls()
        self._scrap: Any = None
        self.fd: int = -1
        self.reopen()

    def reopen(self) -> None:
        """Open the path, first or anew.

        Raises:
            Unusable: it is not there, not a FIFO, or not ours to write to.
        """
        try:
            fd = os.open(self.path, _OPEN)
        except OSError as error:
            raise Unusable("%s: %s" % (self.path, error.strerror)) from None
        found = os.fstat(fd)
        if not stat.S_ISFIFO(found.st_mode):
            os.close(fd)
            raise Unusable("%s is not a FIFO" % self.path)
        if self.own and (found.st_uid != os.geteuid() or found.st_mode & 0o077):
            os.close(fd)
            raise Unusable("%s is open to other users" % self.path)
        self.fd = raised(fd)
        if self.own:
            try:
                fcntl.fcntl(self.fd, _F_SETPIPE_SZ, CAPACITY)
            except OSError:
                pass  # past the user's share of pipe memory: it keeps the size it has

    def is_intact(self) -> bool:
        """Whether the descriptor still is a pipe (a daemon may have closed all its files)."""
        return self.calls.fcntl(self.fd, _F_GETPIPE_SZ) > 0

    def write_when_full(self, message: bytes) -> bool:
        """Write although there was no room: at the cost of the oldest where nobody reads.

        A reader holds the lock. While it does, the message is not written: False.
        """
        calls = self.calls
        if not self.is_intact() or calls.flock(self.fd, LOCK_EX | LOCK_NB) != 0:
            return False
        try:
            self._discard_oldest()
            return calls.write(self.fd, message, len(message)) == len(message)
        finally:
            calls.flock(self.fd, LOCK_UN)

    def write_last(self, message: bytes) -> bool:
        """Write at the end of this process, at the cost of the oldest page even of a reader.

        Its last account tells a reader that stands still how much it has missed; without it,
        what was dropped after the last message that fitted would be lost uncounted.
        """
        calls = self.calls
        if calls.write(self.fd, message, len(message)) == len(message):
            return True
        if not self.is_intact():
            return False
        self._discard_oldest(PAGE)
        return calls.write(self.fd, message, len(message)) == len(message)

    def _discard_oldest(self, at_least: int = DISCARD) -> None:
        """Throw away whole messages, ``at_least`` bytes or little more."""
        calls = self.calls
        if self._scrap is None:
            self._scrap = calls.buffer(DISCARD)
        size = calls.read(self.fd, self._scrap, at_least)
        if size <= 0:
            return
        # The last message may have been cut: take the rest of it, too.
        block = calls.taken(self._scrap, size)
        lowest = max(0, size - MAX_MESSAGE)
        at = block.rfind(MAGIC, lowest)
        while at > 0 and at % ALIGN:
            at = block.rfind(MAGIC, lowest, at)
        if at < 0:
            return
        length = int.from_bytes(block[at + len(MAGIC) : at + HEADER], "big")
        missing = at + padded(length) - size
        if 0 < missing <= MAX_MESSAGE:
            calls.read(self.fd, self._scrap, missing)

    def close(self) -> None:
        """Close the descriptor, if it is still ours."""
        if self.is_intact():
            os.close(self.fd)
        self.fd = -1

    def remove(self) -> None:
        """Take the name away, if the probe made it; who has it open keeps it."""
        if self.own:
            try:
                os.unlink(self.path)
            except OSError:
                pass


def runtime_folder() -> str:
    """``$MGTOP_RUNTIME``, else ``/tmp/mgtop-UID``; made if need be.

    Raises:
        Unusable: it is a link, belongs to another user, or others may write to it.
    """
    path = os.environ.get(FOLDER_VARIABLE) or "/tmp/mgtop-%d" % os.geteuid()  # noqa: S108
    try:
        os.mkdir(path, 0o700)
    except OSError:
        pass  # it is there, or the check below says what is wrong
    try:
        found = os.lstat(path)
    except OSError as error:
        raise Unusable("%s: %s" % (path, error.strerror)) from None
    if not stat.S_ISDIR(found.st_mode):
        raise Unusable("%s is not a folder" % path)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise Unusable("%s can be written to by other users" % path)
    return path


def open_fifo() -> Fifo:
    """The FIFO of this process.

    Raises:
        Unusable: there is none.
    """
    given: Optional[str] = os.environ.get(FIFO_VARIABLE)
    if given:
        try:
            return Fifo(given, own=False)
        except Unusable:
            pass  # the recorder is gone, or lives in another container: be there for `attach`
    path = os.path.join(runtime_folder(), "%d.fifo" % os.getpid())
    try:
        os.mkfifo(path, 0o600)
    except FileExistsError:
        pass  # of a process before us, or of another container; checked when opened
    except OSError as error:
        raise Unusable("%s: %s" % (path, error.strerror)) from None
    return Fifo(path, own=True)
