"""Stages guessed from outside, where no event tells them.

Loading lasts until the memory of the program has not grown by more than 64 MiB or 2 % for three
seconds, or until it says that its weights are loaded. After that the GPU (without one, the CPU)
tells work from rest. The first spell of work counts as the first frame until memory has made no
new high for two seconds, 30 at the most; what comes then is steady.
"""

from __future__ import annotations

from collections import deque

from mgtop.analysis.memory_figures import Stage
from mgtop.wire import records as r

SETTLED_NS = 3_000_000_000
LEAST_BYTES = 64 << 20
LEAST_SHARE = 0.02
REST_NS = 2_000_000_000
"""Work that pauses for less goes on."""
HIGH_NS = 2_000_000_000
LONGEST_FIRST_NS = 30_000_000_000
BUSY_PERCENT = 5.0
BUSY_CORES = 0.2


class StagesSeen:
    """Takes readings of memory, utilisation and CPU, and lines of output."""

    def __init__(self) -> None:
        self._loaded = False
        self._used: dict[tuple[int, int], int] = {}
        """GPU memory of each process of the target."""
        self._rss: int | None = None
        self._highs: deque[tuple[int, int]] = deque()
        """Readings of the last seconds of loading."""
        self._since_ns: int | None = None
        self._busy_ns: int | None = None
        self._gpu_told = False
        self._cpu: r.HostCpu | None = None
        self._first_began_ns: int | None = None
        self._first_over = False
        self._high = 0
        self._high_ns = 0

    def feed(self, record: r.AnyRecord) -> Stage:
        """Take the next reading; the stage as it looks by now."""
        t_ns = record.t_ns
        if isinstance(record, r.GpuProcess):
            if record.relation == "target" and record.used_bytes is not None:
                self._used[record.gpu, record.pid] = record.used_bytes
                self._memory(t_ns, sum(self._used.values()))
        elif isinstance(record, r.HostMemory):
            if not self._used and record.tree_rss_bytes is not None:
                self._memory(t_ns, record.tree_rss_bytes)
        elif isinstance(record, r.GpuUtilisation):
            if record.percent >= BUSY_PERCENT and self._used:
                self._busy(t_ns)
            self._gpu_told = self._gpu_told or bool(self._used)
        elif isinstance(record, r.HostCpu):
            self._host(record)
        elif isinstance(record, r.OutputLine) and record.kind == "weights_loaded":
            self._loaded = True
        return self._stage(t_ns)

    def _memory(self, t_ns: int, used: int) -> None:
        if self._since_ns is None:
            self._since_ns = t_ns
        if used > self._high * 1.01:
            self._high, self._high_ns = used, t_ns
        if self._loaded:
            return
        recent = self._highs
        recent.append((t_ns, used))
        while (
            recent[0][0] < t_ns - SETTLED_NS
            and len(recent) > 1
            and recent[1][0] <= (t_ns - SETTLED_NS)
        ):
            recent.popleft()
        full = recent[0][0] <= t_ns - SETTLED_NS
        grown = used - min(value for _, value in recent)
        enough = used >= LEAST_BYTES
        if full and enough and grown <= max(LEAST_BYTES, LEAST_SHARE * used):
            self._loaded = True

    def _busy(self, t_ns: int) -> None:
        self._busy_ns = t_ns

    def _host(self, record: r.HostCpu) -> None:
        before, self._cpu = self._cpu, record
        if self._gpu_told or before is None or record.t_ns <= before.t_ns:
            return
        if record.tree_cpu_ns is None or before.tree_cpu_ns is None:
            return
        cores = (record.tree_cpu_ns - before.tree_cpu_ns) / (record.t_ns - before.t_ns)
        if cores >= BUSY_CORES:
            self._busy(record.t_ns)

    def _stage(self, t_ns: int) -> Stage:
        if not self._loaded:
            return "load"
        if self._busy_ns is None or t_ns - self._busy_ns > REST_NS:
            if self._first_began_ns is not None:
                self._first_over = True
            return "idle"
        if self._first_began_ns is None:
            self._first_began_ns = t_ns
            self._high_ns = max(self._high_ns, t_ns)
        if not self._first_over:
            long = t_ns - self._first_began_ns > LONGEST_FIRST_NS
            if long or t_ns - self._high_ns > HIGH_NS:
                self._first_over = True
        return "steady" if self._first_over else "first_frame"
