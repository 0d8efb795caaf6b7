"""What the operating system knows about the calling thread, read cheaply.

CPU time comes from the thread's clock, since ``schedstat`` brings its own up to date only at
timer ticks (every 4 ms on many kernels). The time spent waiting for a core is ``schedstat``'s.
"""

from __future__ import annotations

import os
from _thread import get_native_id
from time import thread_time_ns

from .pack import identity, pack_frame, pack_frame_partly
from .transport import raised

try:
    from resource import getrusage
except ImportError:  # a Python built without it
    getrusage = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional, Tuple

    from .libc import Calls

SCHEDSTAT = "/proc/thread-self/schedstat"
_SIZE = 96
MOST_FILES = 64
"""Threads beyond this number do not hold a file open each."""

_RUSAGE_THREAD = 1
_MAJOR_FAULTS, _VOLUNTARY, _INVOLUNTARY = 7, 14, 15  # places in struct rusage

_open_files = 0


class ThreadContext:
    """The readings of one thread. Made and used by that thread alone.

    ``who`` are the bytes that name it in every event. ``cpu_ns`` and ``run_delay_ns`` hold what
    was read last, at ``read_ns``; ``run_delay_ns`` is None where the kernel does not tell.
    """

    __slots__ = ("_buffer", "_fd", "_pread", "cpu_ns", "gpu", "outputs", "read_ns", "run_delay_ns",
                 "tid", "who")  # fmt: skip

    def __init__(self, proc: int, calls: Calls) -> None:
        self._fd = -1
        self.tid: int = get_native_id()
        self.who: bytes = identity(proc, self.tid)
        self.cpu_ns: int = 0
        self.run_delay_ns: Optional[int] = None
        self.read_ns: int = 0
        self.gpu: Any = None
        self.outputs: int = 0
        self._pread: Callable[[int, Any, int, int], int] = calls.pread
        self._buffer: Any = calls.buffer(_SIZE)
        self._open(calls)

    def _open(self, calls: Calls) -> None:
        global _open_files
        if _open_files >= MOST_FILES:
            return
        try:
            fd = os.open(SCHEDSTAT, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            fields = os.pread(fd, _SIZE, 0).split()
            # A thread that runs has been given a core at least once: 0 means no accounting.
            tells = len(fields) >= 3 and int(fields[2]) > 0
        except (OSError, ValueError):
            tells = False
        if tells:
            self._fd = raised(fd)
            _open_files += 1
        else:
            os.close(fd)

    def __del__(self) -> None:
        global _open_files
        try:
            if self._fd >= 0:
                os.close(self._fd)
                _open_files -= 1
        except Exception:
            pass

    def read(self, now_ns: int) -> None:
        """Read CPU time and run-queue delay (1.3 µs hot)."""
        self.cpu_ns = thread_time_ns()
        self.read_ns = now_ns
        if self._fd >= 0:
            if self._pread(self._fd, self._buffer, _SIZE, 0) > 0:
                try:
                    self.run_delay_ns = int(bytes(self._buffer).split(b" ", 2)[1])
                    return
                except (ValueError, IndexError):
                    pass  # the program closed our file, and its number means another one now
            self._fd = -1
            self.run_delay_ns = None

    def pack_frame(
        self, t_ns: int, seq: int, request: int, index: int, emit: int, count: int, route: int,
        gc_ns: int, compiles: int,
    ) -> bytes:  # fmt: skip
        """A frame with this thread's context of now."""
        self.read(t_ns)
        if getrusage is None:
            counts: Tuple[Optional[int], ...] = (None, None, None)
        else:
            usage: Any = getrusage(_RUSAGE_THREAD)
            if self.run_delay_ns is not None:
                return pack_frame(
                    self.who, t_ns, seq, request, index, emit, count, route,
                    self.cpu_ns, self.run_delay_ns,
                    usage[_MAJOR_FAULTS], usage[_VOLUNTARY], usage[_INVOLUNTARY],
                    gc_ns, compiles,
                )  # fmt: skip
            counts = (usage[_MAJOR_FAULTS], usage[_VOLUNTARY], usage[_INVOLUNTARY])
        context = (self.cpu_ns, self.run_delay_ns, *counts, gc_ns, compiles)
        return pack_frame_partly(self.who, t_ns, seq, (request, index, emit, count, route), context)


def forget_files() -> None:
    """In a forked child: the files counted so far were the parent's threads'."""
    global _open_files
    _open_files = 0
