"""Running totals behind the report's GPU, CPU and cost figures; bounded for any length."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any, TypeVar

from mgtop.analysis.charted import REPEAT_NS, tree_percent
from mgtop.analysis.devices import Devices
from mgtop.analysis.series import STALE_PERIODS
from mgtop.wire.records import (
    FrameEmit,
    GpuUtilisation,
    HostCpu,
    Loss,
    Observer,
    Pulse,
    RequestReceived,
    StreamEnd,
)

MOST_STEPS = 100_000
MOST_PROCESSES = 1_024


class Shares:
    """Time spent at each value, counted in steps of ``step``: the error of the median."""

    def __init__(self, step: float = 0.1) -> None:
        self._step = step
        self._ns: dict[int, int] = {}
        self._total = 0
        self._sum = 0.0
        self._lowest: float | None = None

    def add(self, value: float, ns: int) -> None:
        """Count ``ns`` at ``value``; one that is no number of 0 or more is left out."""
        if not 0 <= value < inf:
            return
        step = round(min(MOST_STEPS, value / self._step))
        self._ns[step] = self._ns.get(step, 0) + ns
        self._total += ns
        self._sum += value * ns
        if self._lowest is None or value < self._lowest:
            self._lowest = value

    @property
    def lowest(self) -> float | None:
        """The lowest value; None: none."""
        return self._lowest

    @property
    def mean(self) -> float | None:
        """The mean over time."""
        return self._sum / self._total if self._total else None

    def median(self) -> float | None:
        """The value not exceeded half of the time, to one step."""
        if not self._total:
            return None
        passed = 0
        for step in sorted(self._ns):
            passed += self._ns[step]
            if 2 * passed >= self._total:
                return round(step * self._step, 6)
        return None


class GpuShares:
    """Utilisation of one GPU by one source."""

    def __init__(self) -> None:
        self.gpu, self.memory = Shares(), Shares()
        self.period_ns: int | None = None
        self._last: GpuUtilisation | None = None

    def add(self, record: GpuUtilisation, running: bool) -> None:
        """Take a reading; it counts while requests run."""
        last, self._last = self._last, record
        self.period_ns = record.period_ns
        if last is None or not running:
            return
        # A polled value that does not change is left out: it counts until the next one.
        most = STALE_PERIODS * max(last.period_ns, REPEAT_NS)
        time = record.period_ns if record.source != "poll" else record.t_ns - last.t_ns
        value = record if record.source != "poll" else last
        time = min(most, max(0, time))
        self.gpu.add(value.percent, time)
        if value.memory_percent is not None:
            self.memory.add(value.memory_percent, time)


class Usage:
    """Totals over the session."""

    def __init__(self, devices: Devices) -> None:
        self._devices = devices
        self.gpus: dict[int, dict[str, GpuShares]] = {}
        self.process, self.system, self.quota = Shares(), Shares(), Shares()
        self.run_delay_ns: int | None = None
        self.frames = 0
        self.pulses: dict[int, Pulse] = {}
        self.losses: dict[int, Loss] = {}
        self.observers: tuple[Observer, Observer] | None = None
        """The first and the newest."""
        self._cpu: HostCpu | None = None
        self._open: set[tuple[int, int]] = set()
        self._spoken = False
        self._emits: dict[tuple[int, int], FrameEmit] = {}

    def takes(self) -> dict[type, Callable[[Any], None]]:
        """What to call with which records."""
        return {
            FrameEmit: self._frame,
            RequestReceived: lambda record: self._begin(record.proc, record.request),
            StreamEnd: lambda record: self._open.discard((record.proc, record.request)),
            GpuUtilisation: self._gpu,
            HostCpu: self._host,
            Pulse: lambda record: _keep(self.pulses, record),
            Loss: lambda record: _keep(self.losses, record),
            Observer: self._observer,
        }

    def _gpu(self, record: GpuUtilisation) -> None:
        shares = self.gpus.setdefault(record.gpu, {}).setdefault(record.source, GpuShares())
        shares.add(record, self.running)

    def _observer(self, record: Observer) -> None:
        first = self.observers[0] if self.observers is not None else record
        self.observers = (first, record)

    @property
    def running(self) -> bool:
        """Whether a request runs; while none has been seen at all, everything counts."""
        return bool(self._open) or not self._spoken

    def _begin(self, proc: int, request: int) -> None:
        self._spoken = True
        if len(self._open) < 1024:
            self._open.add((proc, request))

    def _frame(self, record: FrameEmit) -> None:
        self._begin(record.proc, record.request)
        self.frames += record.count
        key = (record.proc, record.tid)
        before = self._emits.pop(key, None)
        self._emits[key] = record
        if len(self._emits) > 256:
            del self._emits[next(iter(self._emits))]
        if before is None or record.run_delay_ns is None or before.run_delay_ns is None:
            return
        step = record.run_delay_ns - before.run_delay_ns
        if step >= 0:
            self.run_delay_ns = (self.run_delay_ns or 0) + step

    def _host(self, record: HostCpu) -> None:
        before, self._cpu = self._cpu, record
        if before is None or not self.running:
            return
        time = record.t_ns - before.t_ns
        busy, idle = record.busy_ns - before.busy_ns, record.idle_ns - before.idle_ns
        if time > 0 and busy >= 0 and idle >= 0 and busy + idle > 0:
            self.system.add(100.0 * busy / (busy + idle), time)
        process = tree_percent(before, record)
        if process is not None:
            self.process.add(process, time)
            if record.quota_cores:
                self.quota.add(process / record.quota_cores, time)


ByProcess = TypeVar("ByProcess", Pulse, Loss)


def _keep(newest: dict[int, ByProcess], record: ByProcess) -> None:
    if record.proc in newest or len(newest) < MOST_PROCESSES:
        newest[record.proc] = record
