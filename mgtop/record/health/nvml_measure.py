"""Examines NVML: what there is, and what each reading costs on this machine.

    python -m mgtop.record.health.nvml_measure

prints one line of JSON (:class:`mgtop.record.health.nvml_answer.NvmlAnswer`) and ends, whatever
the driver does. A process of its own, since one that hangs inside a driver cannot be ended, and
a driver's library may crash.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from mgtop.record.health.nvml_answer import Gpu, GpuProcess, NvmlAnswer, ReadingCost
from mgtop.record.nvml import load_bindings
from mgtop.record.nvml.devices import Device
from mgtop.record.nvml.rates import spread
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.record.schedule import MetricGone, NoValue, Reading, SourceLost
from mgtop.wire import records

ROUNDS = 15
NAP_S = 0.02
"""Between two rounds: calls one after the other find warm caches, and cost a tenth."""
GPM_EVERY = 6
"""Rounds between two samples of GPM, which needs 100 ms between them."""
LIMIT_S = 1.8
MEASURE_S = 1.0
_MIB = 1 << 20
_VALUES = ("memory", "utilisation", "state")


class Examination:
    """Fills an answer step by step, so that what is there counts even if a call hangs.

    Args:
        sampler: not opened yet.
        proc: where ``/proc`` is.
        nap: waits between two rounds.
        clock: ns.
    """

    def __init__(
        self,
        sampler: NvmlSampler,
        proc: Path = Path("/proc"),
        nap: Callable[[float], None] = time.sleep,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.answer = NvmlAnswer()
        self._sampler = sampler
        self._proc = proc
        self._nap = nap
        self._clock = clock
        self._found: dict[int, list[records.Record]] = {}
        self._calls: dict[int, list[int]] = {}

    def run(self) -> None:
        """All of it; never raises."""
        try:
            self._open()
            self._measure()
        except (MetricGone, NoValue, SourceLost) as error:
            self.answer.reason = str(error)
        except Exception as error:  # a binding and a driver that do not fit each other
            self.answer.reason = f"unexpected answer ({type(error).__name__}: {error})"
        self.conclude()
        self.answer.complete = True

    def conclude(self) -> None:
        """Put what was measured so far into the answer."""
        answer, readings = self.answer, list(self._sampler.readings)
        answer.readings = [self._cost(reading) for reading in readings]
        answer.ms_per_s = sum(one.ms_per_s or 0.0 for one in answer.readings) if readings else None
        for gpu in answer.gpus:
            used = self._last(gpu.gpu, records.GpuMemory)
            gpu.used_mib = used.used_bytes // _MIB if used is not None else None
        answer.processes = self._processes()

    def _open(self) -> None:
        sampler, answer = self._sampler, self.answer
        began = self._clock()
        sampler.open()
        answer.init_ms = (self._clock() - began) / 1e6
        answer.driver, answer.cuda = sampler.driver, sampler.cuda
        sampler.before_step(self._clock())
        devices = [r for r in sampler.drain() if isinstance(r, records.GpuDevice)]
        ordinals = {device.gpu: device.ordinals for device in devices}
        answer.gpus = [self._about(device, ordinals) for device in sampler.devices]
        first = [gpu.gpu for gpu in answer.gpus if 0 in gpu.ordinals]
        answer.used_gpu = first[0] if first else answer.gpus[0].gpu
        spread(sampler.readings, (answer.used_gpu,))

    def _about(self, device: Device, ordinals: dict[int, list[int]]) -> Gpu:
        gpm = [r for r in self._sampler.readings if r.name == "gpm" and r.gpu == device.gpu]
        return Gpu(
            gpu=device.gpu,
            uuid=device.uuid,
            name=device.name,
            total_mib=_mib(device.total_bytes),
            reserved_mib=_mib(device.reserved_bytes),
            mig=device.mig,
            unified=device.unified,
            gpm=any(reading.gone is None for reading in gpm),
            persistence=self._persistence(device),
            ordinals=ordinals.get(device.gpu, []),
            compute_capability=self._capability(device),
        )

    def _capability(self, device: Device) -> str | None:
        handle = device.parent if device.mig else device.handle
        try:
            major, minor = self._sampler.calls("nvmlDeviceGetCudaComputeCapability", handle)
        except (MetricGone, NoValue, SourceLost):
            return None
        return f"{major}.{minor}"

    def _persistence(self, device: Device) -> bool | None:
        handle = device.parent if device.mig else device.handle
        try:
            return bool(self._sampler.calls("nvmlDeviceGetPersistenceMode", handle))
        except (MetricGone, NoValue, SourceLost):
            return None

    def _measure(self) -> None:
        readings, calls = self._sampler.readings, self._sampler.calls
        until = self._clock() + int(MEASURE_S * 1e9)
        for number in range(ROUNDS):
            for at, reading in enumerate(readings):
                if not reading.wanted or reading.lost is not None:
                    continue
                if reading.name == "gpm" and number % GPM_EVERY:
                    continue
                before = calls.count
                self._found.setdefault(at, []).extend(reading.run(self._clock))
                self._calls.setdefault(at, []).append(calls.count - before)
            if self._clock() >= until:
                return
            self._nap(NAP_S)

    def _cost(self, reading: Reading) -> ReadingCost:
        at = self._sampler.readings.index(reading)
        made = sorted(self._calls.get(at, []))
        state, reason = self._state(reading, at)
        cost = ReadingCost(name=reading.name, gpu=reading.gpu or 0, state=state, reason=reason)
        if state not in ("ok", "nothing") or not made:
            return cost
        cost.n = len(made)
        cost.calls = made[len(made) // 2]
        cost.cost_us = reading.cost_ns / 1e3
        cost.wanted_ms = reading.wanted_ns / 1e6
        cost.period_ms = reading.period_ns / 1e6
        cost.ms_per_s = 1e3 * reading.cost_ns / reading.period_ns
        return cost

    def _state(self, reading: Reading, at: int) -> tuple[str, str | None]:
        if reading.gone is not None:
            return "absent", reading.gone
        if reading.lost is not None:
            return "lost", reading.lost
        if not reading.wanted:
            return "unused", "the driver's own samples tell the same for less"
        if at not in self._calls:
            return "nothing", "not reached in the time there was"
        if reading.name in _VALUES and not self._found.get(at):
            return "nothing", "the driver has no value at present"
        lacking = getattr(reading.read, "missing", None)
        return "ok", f"without {', '.join(lacking)}" if lacking else None

    def _last(self, gpu: int, kind: type[records.GpuMemory]) -> records.GpuMemory | None:
        every = [r for found in self._found.values() for r in found if isinstance(r, kind)]
        return next((r for r in reversed(every) if r.gpu == gpu), None)

    def _processes(self) -> list[GpuProcess]:
        newest: dict[tuple[int, int], records.GpuProcess] = {}
        for found in self._found.values():
            for record in found:
                if isinstance(record, records.GpuProcess):
                    newest[record.gpu, record.pid] = record
        return [
            GpuProcess(
                gpu=record.gpu,
                pid=record.pid,
                here=(self._proc / str(record.pid)).exists(),
                used_mib=_mib(record.used_bytes),
                name=record.name,
                user=record.user,
            )
            for record in newest.values()
            if record.used_bytes != 0  # it has left meanwhile
        ]


def _mib(size: int | None) -> int | None:
    return None if size is None else size // _MIB


def examine(module: Any, limit_s: float = LIMIT_S) -> NvmlAnswer:
    """Examine NVML on a thread, and give what is there after ``limit_s`` at the latest."""
    sampler = NvmlSampler(module, target_environment=lambda: os.environ)
    examination = Examination(sampler)
    worker = threading.Thread(target=examination.run, daemon=True)
    worker.start()
    worker.join(limit_s)
    answer = examination.answer
    if not answer.complete:
        examination.conclude()
        hanging = sampler.calls.hanging(time.monotonic_ns(), 0)
        answer.hanging = hanging[0] if hanging is not None else "NVML"
    return answer


def main() -> None:
    """Print the answer; end even if a thread is held by the driver."""
    try:
        answer = examine(load_bindings())
    except MetricGone as gone:
        answer = NvmlAnswer(reason=str(gone), complete=True)
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
