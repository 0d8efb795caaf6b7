"""The one thread that talks to NVML.

NVML's calls share locks with the driver's own work, so they are few, spread out, each timed,
and made from one thread only: two threads would queue at the same lock. The recorder's loop
takes what is there and never waits for this thread, which the driver can hold up for ever.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mgtop.record.nvml.calls import Calls, DeviceLost, MetricGone, NoValue, text
from mgtop.record.nvml.devices import Device, cuda_ordinals, discover
from mgtop.record.nvml.processes import Processes
from mgtop.record.nvml.readings import Ecc, Memory, State, Throttle
from mgtop.record.nvml.schedule import Reading
from mgtop.record.nvml.utilisation import Gpm, Poll, Ring
from mgtop.wire.records import ObserverCall, Record, SourceState

MS = 1_000_000
HANG_NS = 2_000_000_000
NAP_NS = 50 * MS  # so that stop() is quick and a changed schedule is seen
TOGETHER_NS = 2 * MS  # readings due this close are made in one wake-up


class NvmlSampler:
    """Samples all GPUs of this machine.

    Args:
        module: ``pynvml``, or a recording of it.
        target_pids: pids of the target's tree, as this process sees them.
        target_environment: the target's environment, for its CUDA ordinals.
        clock: ``CLOCK_MONOTONIC`` in ns.
    """

    name = "nvml"

    def __init__(
        self,
        module: Any,
        target_pids: Callable[[], Collection[int]] = tuple,
        target_environment: Callable[[], Mapping[str, str]] = dict,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.calls = Calls(module, clock)
        self.devices: list[Device] = []
        self.readings: list[Reading] = []
        self.driver: str | None = None
        self.cuda: str | None = None
        self._target_pids = target_pids
        self._target_environment = target_environment
        self._clock = clock
        self._records: deque[Record] = deque()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: str | None = None
        self._covered_ns: int | None = None
        self._announced_ns = 0

    # ------------------------------------------------------------------ the recorder's side

    def start(self) -> None:
        """Start the thread; returns at once, whatever the driver does."""
        self._thread = threading.Thread(target=self._run, name="nvml", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 1.0) -> None:
        """Ask the thread to end; a thread that hangs in the driver is left behind."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def drain(self) -> list[Record]:
        """What was read since the last time."""
        records = self._records
        return [records.popleft() for _ in range(len(records))]

    def states(self, now_ns: int) -> list[SourceState]:
        """One line for NVML as a whole, and one for each metric that cannot be had."""
        if self._failed is not None:
            return [self._state(now_ns, "absent", self._failed)]
        hanging = self.calls.hanging(now_ns, HANG_NS)
        if hanging is not None:
            reason = f"the driver has not answered {hanging[0]} for {hanging[1] / 1e9:.0f} s"
            return [self._state(now_ns, "stale", reason)]
        lines = [self._state(now_ns, "ok", "")]
        for reading in list(self.readings):
            why = reading.gone or reading.lost
            if why is not None:
                lines.append(
                    SourceState(
                        t_ns=now_ns,
                        source=f"nvml.{reading.name}:{reading.gpu}",
                        state="absent" if reading.gone else "failed",
                        reason=why,
                    )
                )
        if lines[1:] and all(reading.lost for reading in self.readings if not reading.gone):
            reasons = {reading.lost for reading in self.readings if reading.lost}
            lines[0] = self._state(now_ns, "failed", "; ".join(sorted(filter(None, reasons))))
        return lines

    def cost(self) -> tuple[int, int]:
        """Calls made and nanoseconds spent in them so far."""
        return self.calls.count, self.calls.spent_ns

    @property
    def missed(self) -> int:
        """Readings that were due and not made."""
        return sum(reading.missed for reading in self.readings)

    def _state(self, now_ns: int, state: str, reason: str) -> SourceState:
        memory = [r.period_ns for r in self.readings if r.name == "memory" and not r.gone]
        return SourceState(
            t_ns=now_ns,
            source="nvml",
            state=state,
            reason=reason,
            period_ns=min(memory, default=None),
            covered_ns=self._covered_ns if state == "ok" else None,
        )

    # ------------------------------------------------------------------------- the thread

    def _run(self) -> None:
        try:
            self.open()
        except (MetricGone, NoValue, DeviceLost) as error:
            self._failed = str(error)
            return
        while not self._stop.is_set():
            wait_ns = self.step()
            self._stop.wait(min(wait_ns, NAP_NS) / 1e9)
        with contextlib.suppress(MetricGone, NoValue, DeviceLost):
            self.calls("nvmlShutdown")

    def open(self) -> None:
        """Initialise NVML, find the devices and plan the readings.

        Raises:
            MetricGone, DeviceLost: there is no NVML here; ``str()`` says why.
        """
        self.calls("nvmlInit")
        self.driver = self._ask("nvmlSystemGetDriverVersion")
        version = self._ask("nvmlSystemGetCudaDriverVersion")
        self.cuda = f"{int(version) // 1000}.{int(version) % 1000 // 10}" if version else None
        self.devices = discover(self.calls)
        if not self.devices:
            raise MetricGone("the driver is there, but no GPU")
        for device in self.devices:
            self.readings += self._plan(device)

    def _ask(self, name: str) -> str | None:
        try:
            return text(self.calls(name))
        except (MetricGone, NoValue, DeviceLost):
            return None

    def _plan(self, device: Device) -> list[Reading]:
        """The readings of one device.

        Shares of time are what a metric may cost at most; where a call is dearer, its
        period grows (docs/gpu.md has the measurements).
        """
        calls, gpu, pids = self.calls, device.gpu, self._target_pids
        poll = Poll(calls, device)
        # The driver's own samples speak of 200 ms each and cost one call a second. GPM
        # resolves no finer (it answers 0 below 100 ms) and costs 1.5 ms for each, so it is
        # for where the samples cannot be had: MIG instances.
        ring = Reading("ring", gpu, Ring(calls, device, poll), 1000 * MS, 0.002)
        return [
            # 16 ms: a drop that lasts 25 ms is seen, and 100 Hz would cost half as much again.
            Reading("memory", gpu, Memory(calls, device), 16 * MS, 0.01),
            Reading("utilisation", gpu, poll, 200 * MS, 0.001),
            ring,
            Reading(
                "gpm",
                gpu,
                Gpm(calls, device),
                200 * MS,
                0.005,
                gone=Gpm.supported(calls, device),
                instead_of=ring,
            ),
            Reading("state", gpu, State(calls, device), 500 * MS, 0.001),
            Reading("throttle", gpu, Throttle(calls, device), 1000 * MS, 0.001),
            Reading("ecc", gpu, Ecc(calls, device), 10_000 * MS, 0.001),
            Reading("processes", gpu, Processes(calls, device, pids), 100 * MS, 0.001),
            Reading(
                "graphics", gpu, Processes(calls, device, pids, graphics=True), 5000 * MS, 0.001
            ),
        ]

    def step(self) -> int:
        """Make the readings that are due; return how long to wait for the next, in ns."""
        now = self._clock()
        if now - self._announced_ns >= 10_000 * MS or not self._announced_ns:
            self._announced_ns = now
            self._announce(now)
        due = [r for r in self.readings if r.wanted and r.due_ns <= now + TOGETHER_NS]
        for reading in due:
            self._records.extend(reading.run(self._clock))
            if self._stop.is_set():
                break
        for name, ended, duration in self.calls.take_slow():
            self._records.append(ObserverCall(t_ns=ended, call=name, duration_ns=duration))
        self._covered_ns = now
        upcoming = [r.due_ns for r in self.readings if r.wanted]
        return max(0, min(upcoming, default=now + NAP_NS) - self._clock())

    def _announce(self, now_ns: int) -> None:
        """Write the devices: at the start, and again, since the target's environment comes late."""
        ordinals = cuda_ordinals(self.devices, self._target_environment())
        for device in self.devices:
            mine = [ordinal for ordinal, gpu in ordinals.items() if gpu == device.gpu]
            self._records.append(device.record(now_ns, mine))
