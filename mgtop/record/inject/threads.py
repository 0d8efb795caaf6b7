"""Which thread of a process to borrow: best one that sleeps in a call where nothing is held."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

FUTEX = 202
_MMAP, _MPROTECT, _MUNMAP, _BRK, _MREMAP, _MADVISE = 9, 10, 11, 12, 25, 28
UNSAFE = frozenset({_MMAP, _MPROTECT, _MUNMAP, _BRK, _MREMAP, _MADVISE})
"""Calls that memory allocators make while they hold their locks."""


def sleeping_threads(pid: int) -> Iterator[int]:
    """Threads that sleep in a harmless system call now, others before the main one."""
    for tid in _threads(pid):
        if state_of(pid, tid) == "S":
            number = call_of(pid, tid)
            if number is not None and number not in UNSAFE:
                yield tid


def all_threads(pid: int) -> list[int]:
    """All threads, others before the main one."""
    return _threads(pid)


def state_of(pid: int, tid: int) -> str:
    """The state letter of ``/proc/PID/task/TID/stat``; ``X`` where it has ended."""
    try:
        return (
            Path(f"/proc/{pid}/task/{tid}/stat")
            .read_text(errors="replace")
            .rpartition(")")[2]
            .split()[0]
        )
    except (OSError, IndexError):
        return "X"


def call_of(pid: int, tid: int) -> int | None:
    """The system call that a thread sleeps in; None where it runs, or that is not told."""
    try:
        word = Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()[0]
    except (OSError, IndexError):
        return None
    return int(word) if word.isdigit() else None


def _threads(pid: int) -> list[int]:
    try:
        found = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []
    return sorted(found, key=lambda tid: (tid == pid, tid))
