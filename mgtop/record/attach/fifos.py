"""Where the probes of a running process write to: found, and opened for reading.

What a process has open is asked first: that holds in every container, under every runtime
folder, and even where the name is gone. Then the place is looked at where its probe would
make its FIFO: its own ``MGTOP_FIFO`` or ``MGTOP_RUNTIME``, under its own root folder, with
the pid and the user as it numbers them itself.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mgtop.probe.transport import FIFO_VARIABLE, FOLDER_VARIABLE
from mgtop.record.attach.process import Process
from mgtop.record.pipes import PIPE_BYTES, PipeError
from mgtop.record.tree import environment_of

_SHARED = re.compile(r".*/run-\d+\.fifo")
_LOCK_PATIENCE_S = 0.5
_F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)


@dataclass(frozen=True)
class Place:
    """Where a FIFO is.

    Attributes:
        path: to open it by; may lead through ``/proc``.
        name: what the process calls it.
        owner: the process whose own FIFO it is; None: descendants share it.
        is_open: ``path`` is a file that the process has open, rather than one by its name.
    """

    path: Path
    name: str
    owner: Process | None
    is_open: bool = False


def places(process: Process, *, look_into: bool = True) -> Iterator[Place]:
    """Where a process's probe may write to, the surest first.

    Args:
        process: whose.
        look_into: also ask what it has open, which takes about 1 µs for each of its files.
    """
    if look_into:
        yield from _open_files(process)
    environment = environment_of(process.pid)
    shared = environment.get(FIFO_VARIABLE)
    if shared:
        yield Place(_inside(process, shared), shared, None)
    folder = environment.get(FOLDER_VARIABLE) or f"/tmp/mgtop-{process.inner_uid}"  # noqa: S108
    name = f"{folder}/{process.inner_pid}.fifo"
    yield Place(_inside(process, name), name, process)


def _open_files(process: Process) -> Iterator[Place]:
    folder = f"/proc/{process.pid}/fd"
    own = f"/{process.inner_pid}.fifo"
    with contextlib.suppress(OSError):
        for number in os.listdir(folder):
            with contextlib.suppress(OSError):
                name = os.readlink(f"{folder}/{number}").removesuffix(" (deleted)")
                if name.endswith(own):
                    yield Place(Path(folder, number), name, process, is_open=True)
                elif _SHARED.fullmatch(name):
                    yield Place(Path(folder, number), name, None, is_open=True)
                # Another process's own one may have been inherited by a fork: not ours.


def _inside(process: Process, path: str) -> Path:
    """A path of the process's, as it is reached from here."""
    if path.startswith("/"):
        return Path(f"{process.root}{path}")
    return Path(f"/proc/{process.pid}/cwd", path)


class FoundPipe:
    """The reading end of a FIFO that a probe made.

    Args:
        place: where it is.

    Raises:
        FileNotFoundError: there is none, or it is no FIFO.
        PipeError: it cannot be opened, or somebody else reads it.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.has_writer = True
        """Whether a process had it open for writing, as of the last read."""
        self._fd = _open(place)
        status = os.fstat(self._fd)
        self.identity = (status.st_dev, status.st_ino)
        try:
            _lock(self._fd, place)
        except PipeError:
            os.close(self._fd)
            raise
        with contextlib.suppress(OSError):  # a probe whose user had no pipe memory left
            fcntl.fcntl(self._fd, _F_SETPIPE_SZ, PIPE_BYTES)

    def read_into(self, buffer: memoryview) -> int:
        """Take all that is there; return how many bytes that were."""
        try:
            size = os.readv(self._fd, [buffer])
        except BlockingIOError:
            self.has_writer = True
            return 0
        self.has_writer = size > 0
        return size

    def close(self) -> None:
        """Give up the lock: from now on its probe keeps the newest events in it."""
        os.close(self._fd)


def identity_of(place: Place) -> tuple[int, int] | None:
    """Which FIFO is there; None: none."""
    try:
        status = os.stat(place.path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISFIFO(status.st_mode) else None


def _open(place: Place) -> int:
    if identity_of(place) is None:
        raise FileNotFoundError(place.name)
    # For reading alone, so that the last writer's end is seen; the probe reads too, so it never
    # lacks a reader.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    if not place.is_open:
        flags |= os.O_NOFOLLOW
    try:
        fd = os.open(place.path, flags)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH):
            raise FileNotFoundError(place.name) from None
        raise PipeError(f"Cannot open the event pipe {place.name}: {error.strerror}.") from None
    if not stat.S_ISFIFO(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileNotFoundError(place.name)
    return fd


def _lock(fd: int, place: Place) -> None:
    """Say that somebody reads. A probe that makes room in a full FIFO holds it for moments."""
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise PipeError(
                    f"{place.name} is already being read by another recorder."
                ) from None
            time.sleep(0.001)
        else:
            return
