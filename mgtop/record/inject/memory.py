"""The memory of another process: its mappings, and reading and writing in it."""

from __future__ import annotations

import contextlib
import ctypes
import os
from dataclasses import dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Mapping:
    """One line of ``/proc/PID/maps``."""

    begin: int
    end: int
    modes: str
    offset: int
    path: str


def mappings(pid: int) -> list[Mapping]:
    """All mappings of a process, in the order of their addresses.

    Raises:
        OSError: it has ended, or may not be looked into.
    """
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines():
        fields = line.split(None, 5)
        begin, _, end = fields[0].partition("-")
        path = fields[5] if len(fields) > 5 else ""
        found.append(Mapping(int(begin, 16), int(end, 16), fields[1], int(fields[2], 16), path))
    return found


class Memory:
    """Reads and writes at addresses of a process.

    Args:
        pid: of the process.

    Raises:
        OSError: it may not be looked into.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._file = -1
        # With CAP_SYS_PTRACE alone this file stays closed, but process_vm_readv is allowed.
        with contextlib.suppress(PermissionError):
            self._file = os.open(f"/proc/{pid}/mem", os.O_RDWR | os.O_CLOEXEC)

    def read(self, address: int, size: int) -> bytes:
        """Bytes at an address; fewer where the mapping ends.

        Raises:
            OSError: nothing can be read there.
        """
        if self._file >= 0:
            return os.pread(self._file, size, address)
        return self._move(_libc.process_vm_readv, address, bytes(size))

    def write(self, address: int, data: bytes) -> None:
        """Put bytes at an address.

        Raises:
            OSError: they cannot be written there.
        """
        if self._file >= 0:
            os.pwrite(self._file, data, address)
        else:
            self._move(_libc.process_vm_writev, address, data)

    def _move(self, call: ctypes._NamedFuncPointer, address: int, data: bytes) -> bytes:
        buffer = ctypes.create_string_buffer(data, len(data))
        local = _Piece(ctypes.addressof(buffer), len(data))
        remote = _Piece(address, len(data))
        moved = call(self._pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        if moved < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return buffer.raw[:moved]

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class _Piece(ctypes.Structure):
    """``struct iovec``."""

    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))
