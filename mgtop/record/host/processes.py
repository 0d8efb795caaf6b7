"""CPU and memory of a tree of processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_REFRESH_NS = 1_000_000_000


class TreeMemory(NamedTuple):
    """Sums over the living members of a tree."""

    rss_bytes: int
    major_faults: int
    threads: int


class ProcessTree:
    """Sums over the processes that ``pids`` names; those that have ended stay counted in CPU.

    The members are listed anew once a second, or when one has gone (listing walks every
    thread, reading a clock is one call). The CPU time of a member after its last reading is
    not seen, nor that of one that lived for less than a second between two listings.
    """

    def __init__(self, pids: Callable[[], Collection[int]]) -> None:
        self._list = pids
        self._listed_ns = 0
        self._cpu_ns: dict[int, int] = {}
        self._ended_cpu_ns = 0
        self._ended_faults = 0
        self._faults: dict[int, int] = {}

    @property
    def members(self) -> list[int]:
        """The pids as of the last reading."""
        return list(self._cpu_ns)

    def cpu_ns(self, now_ns: int) -> int | None:
        """CPU time of all members so far, dead ones included; None before there was any."""
        gone = [pid for pid in self._cpu_ns if not self._read_clock(pid)]
        for pid in gone:
            self._ended_cpu_ns += self._cpu_ns.pop(pid)
            self._ended_faults += self._faults.pop(pid, 0)
        if gone or now_ns - self._listed_ns >= _REFRESH_NS:
            self._listed_ns = now_ns
            for pid in self._list():
                if pid not in self._cpu_ns:
                    self._read_clock(pid)
        if not self._cpu_ns and not self._ended_cpu_ns:
            return None
        return self._ended_cpu_ns + sum(self._cpu_ns.values())

    def _read_clock(self, pid: int) -> bool:
        """Read the CPU clock of a process: all its threads, in ns; False if it has ended.

        The clock's number is formed as ``clock_getcpuclockid(3)`` does it on Linux.
        """
        try:
            now = time.clock_gettime_ns((~pid << 3) | 2)
        except OSError:
            return False
        last = self._cpu_ns.get(pid)
        if last is not None and now < last:  # another process has taken over the pid
            self._ended_cpu_ns += last
        self._cpu_ns[pid] = now
        return True

    def memory(self) -> TreeMemory | None:
        """Resident memory (shared pages once per process), major faults and threads.

        None where there are no members.
        """
        rss = threads = seen = 0
        for pid in list(self._cpu_ns):
            try:
                with open(f"/proc/{pid}/stat", "rb") as file:
                    stat = file.read()
                fields = stat[stat.rindex(b")") + 2 :].split()
                self._faults[pid] = int(fields[9])
                threads += int(fields[17])
                rss += int(fields[21]) * _PAGE_BYTES
                seen += 1
            except (OSError, ValueError, IndexError):
                continue
        if not seen:
            return None
        return TreeMemory(rss, self._ended_faults + sum(self._faults.values()), threads)
