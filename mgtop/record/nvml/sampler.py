"""The one thread that talks to NVML.

NVML's calls share locks with the driver's own work, so they are few, spread out, each timed,
and made from one thread only: two threads would queue at the same lock.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from mgtop.record.nvml.calls import Calls, text
from mgtop.record.nvml.devices import Device, cuda_ordinals, discover
from mgtop.record.nvml.process_work import ProcessWork
from mgtop.record.nvml.processes import Processes
from mgtop.record.nvml.rates import RATES, spread
from mgtop.record.nvml.readings import Ecc, Memory, State, Throttle
from mgtop.record.nvml.unified import UnifiedMemory
from mgtop.record.nvml.utilisation import Gpm, Poll, Ring
from mgtop.record.sampler import HANG_NS, MS, Sampler
from mgtop.record.schedule import MetricGone, NoValue, Read, Reading, SourceLost
from mgtop.wire.records import ObserverCall

ANNOUNCE_NS = 10_000 * MS


class NvmlSampler(Sampler):
    """Samples all GPUs of this machine.

    Args:
        module: ``pynvml``, or a recording of it.
        target_pids: pids of the target's tree, as this process sees them.
        target_environment: the target's environment, for its CUDA ordinals.
        clock: ``CLOCK_MONOTONIC`` in ns.
        wall: Unix time in ns, which the driver's samples bear.
    """

    def __init__(
        self,
        module: Any,
        target_pids: Callable[[], Collection[int]] = tuple,
        target_environment: Callable[[], Mapping[str, str]] = dict,
        clock: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        super().__init__("nvml", clock)
        self._wall = wall
        self.calls = Calls(module, clock)
        self.devices: list[Device] = []
        self.driver: str | None = None
        self.cuda: str | None = None
        self._target_pids = target_pids
        self._target_environment = target_environment
        self._announced_ns: int | None = None
        self._compute: dict[int, Processes] = {}
        self._ordinals: dict[int, int] = {}
        self._read_quickly: frozenset[int] | None = None

    def cost(self) -> tuple[int, int] | None:
        """Calls made and nanoseconds spent in them so far; None where there is no NVML."""
        return (self.calls.count, self.calls.spent_ns) if self.devices else None

    def hanging(self, now_ns: int) -> str | None:
        """The call that the driver does not answer."""
        hanging = self.calls.hanging(now_ns, HANG_NS)
        if hanging is None:
            return None
        return f"the driver has not answered {hanging[0]} for {hanging[1] / 1e9:.0f} s"

    def open(self) -> None:
        """Initialise NVML, find the devices and plan the readings.

        Raises:
            MetricGone, SourceLost: there is no NVML here; ``str()`` says why.
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

    def close(self) -> None:
        """Give NVML back."""
        with contextlib.suppress(MetricGone, NoValue, SourceLost):
            self.calls("nvmlShutdown")

    def before_step(self, now_ns: int) -> None:
        """Write the devices now and then, and read the target's the most often.

        The target's environment, and its first use of a GPU, can come late.
        """
        if self._announced_ns is None or now_ns - self._announced_ns >= ANNOUNCE_NS:
            self._announced_ns = now_ns
            self._announce(now_ns)
        used = self._used()
        if used != self._read_quickly:
            self._read_quickly = used
            spread(self.readings, used)

    def after_step(self) -> None:
        """Write the calls that took unusually long: suspects for a stall."""
        for name, ended, duration in self.calls.take_slow():
            self._records.append(ObserverCall(t_ns=ended, call=name, duration_ns=duration))

    def _ask(self, name: str) -> str | None:
        try:
            return text(self.calls(name))
        except (MetricGone, NoValue, SourceLost):
            return None

    def _announce(self, now_ns: int) -> None:
        self._ordinals = cuda_ordinals(self.devices, self._target_environment())
        for device in self.devices:
            mine = [ordinal for ordinal, gpu in self._ordinals.items() if gpu == device.gpu]
            self._records.append(device.record(now_ns, mine, self.driver, self.cuda))

    def _plan(self, device: Device) -> list[Reading]:
        """The readings of one device, quickest first."""
        calls, gpu, pids = self.calls, device.gpu, self._target_pids
        poll, compute = Poll(calls, device), Processes(calls, device, pids)
        self._compute[gpu] = compute

        def reading(name: str, read: Read, **options: Any) -> Reading:
            rate = RATES[name]
            return Reading(name, gpu, read, rate.wanted_ns, rate.share, **options)

        memory = UnifiedMemory(device) if device.unified else Memory(calls, device)
        ring = reading("ring", Ring(calls, device, poll, self._wall, monotonic=self._clock))
        gpm = Gpm(calls, device)
        state, throttle = State(calls, device), Throttle(calls, device)
        return [
            reading("memory", memory),
            reading("utilisation", poll),
            ring,
            reading("gpm", gpm, gone=Gpm.supported(calls, device), instead_of=ring),
            reading("state", state, parts=state.missing),
            reading("throttle", throttle, parts=throttle.missing),
            reading("ecc", Ecc(calls, device)),
            reading("processes", compute),
            reading("process_work", ProcessWork(calls, device, compute)),
            reading("graphics", Processes(calls, device, pids, compute=compute)),
        ]

    def _used(self) -> frozenset[int]:
        """The GPUs that the target uses; all of them while that is not known."""
        listed = frozenset(gpu for gpu, compute in self._compute.items() if compute.has_target)
        visible = frozenset(self._ordinals.values())
        return listed or visible or frozenset(self._compute)
