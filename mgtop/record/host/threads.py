"""The target's busy threads: did they run, wait for a core, wait for a disk, or sleep?"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from mgtop.record.schedule import MetricGone, NoValue
from mgtop.wire.records import HostThread, Record

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
BUSY_SHARE = 0.01
MOST_THREADS = 16


@dataclass
class _Seen:
    t_ns: int
    cpu_ns: int
    run_delay_ns: int


class Threads:
    """Counters of the threads that did something since the last reading.

    One small file tells a thread's CPU time and run-queue delay; only for those that used
    or waited for a core (the 16 busiest) are the others read. A kernel without scheduler
    statistics, or one that does not account for waiting (``kernel.task_delayacct``, off by
    default since Linux 5.14), shows zeros, which are written as not known.

    Args:
        pids: the target's processes.
        proc: where ``/proc`` is.
    """

    def __init__(self, pids: Callable[[], Collection[int]], proc: Path = Path("/proc")) -> None:
        self._pids = pids
        self._proc = str(proc)
        self._waits_counted = disk_waits_counted(proc)
        self._seen: dict[tuple[int, int], _Seen] = {}

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        current: dict[tuple[int, int], _Seen] = {}
        found_any = False
        for pid in self._pids():
            for tid in self._list(pid):
                counters = self._schedstat(pid, tid)
                if counters is not None:
                    found_any = True
                    current[pid, tid] = _Seen(now_ns, *counters)
        before, self._seen = self._seen, current
        if not found_any:
            if self._pids():
                raise MetricGone("this kernel has no /proc/PID/task/TID/schedstat")
            raise NoValue("no process")
        busy = []
        for key, seen in current.items():
            last = before.get(key)
            if last is None:
                continue
            spent = seen.cpu_ns - last.cpu_ns + seen.run_delay_ns - last.run_delay_ns
            if spent >= BUSY_SHARE * (now_ns - last.t_ns):
                busy.append((spent, key))
        busy.sort(reverse=True)
        records: list[Record] = []
        for _spent, (pid, tid) in busy[:MOST_THREADS]:
            record = self._record(now_ns, pid, tid, current[pid, tid])
            if record is not None:
                records.append(record)
        return records

    def _list(self, pid: int) -> list[int]:
        try:
            return [int(name) for name in os.listdir(f"{self._proc}/{pid}/task")]
        except OSError:
            return []

    def _schedstat(self, pid: int, tid: int) -> tuple[int, int] | None:
        try:
            with open(f"{self._proc}/{pid}/task/{tid}/schedstat", "rb") as file:
                cpu, delay, _slices = file.read().split()
            return int(cpu), int(delay)
        except (OSError, ValueError):
            return None

    def _disk_wait_ns(self, ticks: int) -> int | None:
        counted = ticks > 0 if self._waits_counted is None else self._waits_counted
        return ticks * _TICK_NS if counted else None

    def _record(self, now_ns: int, pid: int, tid: int, seen: _Seen) -> HostThread | None:
        folder = f"{self._proc}/{pid}/task/{tid}"
        try:
            with open(f"{folder}/stat", "rb") as file:
                stat = file.read()
            with open(f"{folder}/status", "rb") as file:
                status = file.read()
        except OSError:
            return None
        name = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode("utf-8", "replace")
        fields = stat[stat.rindex(b")") + 2 :].split()
        has_statistics = seen.cpu_ns > 0 or seen.run_delay_ns > 0
        return HostThread(
            t_ns=now_ns,
            pid=pid,
            tid=tid,
            name=name,
            cpu_ns=seen.cpu_ns,
            run_delay_ns=seen.run_delay_ns if has_statistics else None,
            major_faults=int(fields[9]),
            involuntary=_status_number(status, b"nonvoluntary_ctxt_switches:"),
            disk_wait_ns=self._disk_wait_ns(int(fields[39])),  # field 42 of proc(5)
            state=fields[0].decode(),
        )


def disk_waits_counted(proc: Path = Path("/proc")) -> bool | None:
    """Whether the kernel counts how long threads wait for a disk; None: it does not say.

    Kernels before 5.14 have no switch; there a number above zero proves that they count.
    """
    try:
        return (proc / "sys/kernel/task_delayacct").read_text().strip() == "1"
    except OSError:
        return None


def _status_number(status: bytes, key: bytes) -> int | None:
    at = status.find(key)
    if at < 0:
        return None
    return int(status[at + len(key) :].split(None, 1)[0])
