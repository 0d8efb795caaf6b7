"""System calls that keep the GIL.

``os.write`` releases the GIL, and where other Python threads are busy the calling thread waits
up to tens of milliseconds to get it back. The same calls through ``ctypes.PyDLL`` keep it; none
of them can block, since every file here is non-blocking. Where ``_ctypes`` is missing the
``os`` functions serve, and :data:`Calls.keeps_gil` says so.

No ``argtypes`` are set on purpose: they cost 0.4 µs a call. Plain numbers are then passed as C
``int``, which libffi extends to the register's width.
"""

from __future__ import annotations

import fcntl
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

LOCK_EX, LOCK_NB, LOCK_UN = fcntl.LOCK_EX, fcntl.LOCK_NB, fcntl.LOCK_UN


class Calls:
    """The calls of this process. Each returns −1 where it fails; none raises.

    ``write(fd, data, size)``; ``read(fd, buffer, size)``; ``pread(fd, buffer, size, 0)``;
    ``flock(fd, operation)``; ``fcntl(fd, operation)``; ``access(path, mode)``, which fails where
    there is no such file. ``buffer(size)`` makes a buffer for the
    reads; ``taken(buffer, n)`` gives its first ``n`` bytes.
    """

    __slots__ = (
        "access", "buffer", "fcntl", "flock", "keeps_gil", "pread", "read", "taken", "write",
    )  # fmt: skip

    write: Callable[[int, bytes, int], int]
    read: Callable[[int, Any, int], int]
    pread: Callable[[int, Any, int, int], int]
    flock: Callable[[int, int], int]
    fcntl: Callable[[int, int], int]
    access: Callable[[bytes, int], int]
    buffer: Callable[[int], Any]
    taken: Callable[[Any, int], bytes]

    def __init__(self, without_ctypes: bool = False) -> None:
        self.keeps_gil: bool = not without_ctypes
        if without_ctypes:
            self.write, self.read, self.pread = _os_write, _os_read, _os_pread
            self.flock, self.fcntl, self.access = _os_flock, _os_fcntl, _os_access
            self.buffer = bytearray
        else:
            import ctypes

            libc = ctypes.PyDLL(None)
            self.write, self.read, self.pread = libc.write, libc.read, libc.pread
            self.flock, self.fcntl, self.access = libc.flock, libc.fcntl, libc.access
            self.buffer = ctypes.create_string_buffer
        self.taken = _taken


def system_calls() -> Calls:
    """The calls that keep the GIL, or those of ``os`` where there is no ``_ctypes``."""
    try:
        return Calls()
    except (ImportError, OSError, AttributeError):
        return Calls(without_ctypes=True)


def _taken(buffer: Any, size: int) -> bytes:
    return bytes(memoryview(buffer)[:size])


def _os_write(fd: int, data: bytes, _size: int) -> int:
    try:
        return os.write(fd, data)
    except OSError:
        return -1


def _os_read(fd: int, buffer: Any, size: int) -> int:
    try:
        data = os.read(fd, size)
    except OSError:
        return -1
    buffer[: len(data)] = data
    return len(data)


def _os_pread(fd: int, buffer: Any, size: int, offset: int) -> int:
    try:
        data = os.pread(fd, size, offset)
    except OSError:
        return -1
    buffer[: len(data)] = data
    return len(data)


def _os_access(path: bytes, mode: int) -> int:
    return 0 if os.access(path, mode) else -1


def _os_flock(fd: int, operation: int) -> int:
    try:
        fcntl.flock(fd, operation)
    except OSError:
        return -1
    return 0


def _os_fcntl(fd: int, operation: int) -> int:
    try:
        return fcntl.fcntl(fd, operation)
    except OSError:
        return -1
