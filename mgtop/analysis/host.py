"""Recent readings of the machine beside the target: threads, quota, the monitor's own calls."""

from __future__ import annotations

from collections.abc import Container
from itertools import pairwise
from statistics import median_low

from mgtop.analysis.recent import Recent
from mgtop.wire.records import Cgroup, HostCpu, HostThread, ObserverCall, Pressure

KEEP_NS = 600_000_000_000
MOST_THREADS = 256
USUAL_READINGS = 240


class HostLog:
    """Recent readings of the machine."""

    def __init__(self) -> None:
        self.threads: dict[tuple[int, int], Recent[HostThread]] = {}
        self.cgroup: Recent[Cgroup] = Recent(4_096, KEEP_NS)
        self.cpu: Recent[HostCpu] = Recent(4_096, KEEP_NS)
        self.pressure: Recent[Pressure] = Recent(4_096, KEEP_NS)
        self.observer_calls: Recent[ObserverCall] = Recent(4_096, KEEP_NS)

    def thread(self, record: HostThread) -> None:
        """Take a reading of a thread."""
        key = (record.pid, record.tid)
        log = self.threads.pop(key, None)
        if log is None:
            if len(self.threads) >= MOST_THREADS:
                del self.threads[next(iter(self.threads))]
            log = Recent(600, KEEP_NS)
        self.threads[key] = log  # now the youngest
        log.add(record.t_ns, record)

    def stolen_ns(self, begin_ns: int, end_ns: int) -> tuple[float, int] | None:
        """Steal time beyond the usual around [begin, end], and the time between its readings.

        An upper bound: the readings enclose the interval, and any core's steal counts. None: no
        readings, or the machine does not tell.
        """
        before, after = self.cpu.at(begin_ns), self.cpu.after(end_ns)
        if before is None or after is None or before.steal_ns is None or after.steal_ns is None:
            return None
        period = after.t_ns - before.t_ns
        rates = [
            (b.steal_ns - a.steal_ns) / (b.t_ns - a.t_ns)
            for a, b in pairwise(list(self.cpu)[-USUAL_READINGS:])
            if a.steal_ns is not None and b.steal_ns is not None and b.t_ns > a.t_ns
        ]
        usual = median_low(rates) if rates else 0.0
        return after.steal_ns - before.steal_ns - usual * period, period

    def others_delay_ns(
        self, pid: int, but: Container[int], begin_ns: int, end_ns: int
    ) -> float | None:
        """The longest that a thread of the process, ``but`` those, waited for a core meanwhile.

        That is its run-queue delay between the readings that enclose the interval, less
        what is usual for so long a time: an upper bound, since the readings are wider than
        the interval. None: no thread's readings enclose it.
        """
        most: float | None = None
        for (its_pid, its_tid), log in self.threads.items():
            if its_pid != pid or its_tid in but:
                continue
            before, after = log.at(begin_ns), log.after(end_ns)
            if before is None or after is None:
                continue
            if before.run_delay_ns is None or after.run_delay_ns is None:
                continue
            waited = after.run_delay_ns - before.run_delay_ns
            usual = _usual_rate(log) * (after.t_ns - before.t_ns)
            most = max(most or 0.0, waited - usual)
        return most


def _usual_rate(log: Recent[HostThread]) -> float:
    """Median run-queue delay per ns between readings."""
    readings = list(log)
    rates = [
        (after.run_delay_ns - before.run_delay_ns) / (after.t_ns - before.t_ns)
        for before, after in pairwise(readings)
        if before.run_delay_ns is not None
        and after.run_delay_ns is not None
        and after.t_ns > before.t_ns
    ]
    return max(0.0, median_low(rates)) if rates else 0.0
