"""How much of the machine other programs take meanwhile, by the kernel's own accounts.

A run on a machine that others use can have late frames of its own. This tells them from wrong
answers, and does not ask mgtop.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

import psutil

from benchmarks.truth.truth import Outside, TruthFile

PERIOD_S = 0.1
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Witness(threading.Thread):
    """Writes one reading every 100 ms; ``mine`` are the processes that belong to the run."""

    def __init__(self, truth: TruthFile) -> None:
        super().__init__(name="witness", daemon=True)
        self._truth = truth
        self._over = threading.Event()
        self.mean_cores = 0.0
        self._busy_ns = self._time_ns = 0

    def run(self) -> None:
        """Until :meth:`close`."""
        at_ns, all_ns, mine = time.monotonic_ns(), machine_busy_ns(), tree_cpu_ns(os.getpid())
        while not self._over.wait(PERIOD_S):
            now_ns, now_all_ns, now = (
                time.monotonic_ns(),
                machine_busy_ns(),
                tree_cpu_ns(os.getpid()),
            )
            # A process that is gone takes its account along; one that came brings it.
            own = sum(max(0, ns - mine.get(pid, 0)) for pid, ns in now.items())
            busy = max(0, now_all_ns - all_ns - own)
            period = now_ns - at_ns
            self._busy_ns += busy
            self._time_ns += period
            self.mean_cores = self._busy_ns / self._time_ns
            free = max(0.0, (os.cpu_count() or 1) - (now_all_ns - all_ns) / period)
            self._truth.outside(Outside(now_ns, period, busy / period, free))
            at_ns, all_ns, mine = now_ns, now_all_ns, now

    def close(self) -> None:
        """Stop."""
        self._over.set()
        self.join()


def machine_busy_ns() -> int:
    """Time that all cores worked, for whomever, or that the host took away (``steal``)."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) * _TICK_NS


def tree_cpu_ns(root: int) -> dict[int, int]:
    """CPU time of a process and each of its living descendants."""
    found: dict[int, int] = {}
    process = psutil.Process(root)
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            found[one.pid] = int((times.user + times.system) * 1e9)
    return found
