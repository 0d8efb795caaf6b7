"""A machine with many GPUs, made of the traffic that was recorded on one.

Every GPU answers what the real H200 answered, in real time and over and over, each from another
place of the recording; every call takes as long as it took there. The processes it lists are
the busiest descendants of whoever asks, two to a GPU, beside the recording's own neighbour.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil

from benchmarks.gpu.traffic import Handle, Replay

RECORDING = Path(__file__).parents[2] / "tests/record/nvml/h200.jsonl.gz"
FROM, TO = "busy", "gone"
"""The phases that are repeated: from the one on, up to the other."""
NEIGHBOUR_PID = 4_194_303
"""A pid that no process of this machine has (the kernel gives out smaller ones)."""
PROCESSES_EACH_GPU = 2
_SHORTEST_SLEEP_NS = 200_000
"""Shorter calls answer at once: finding their answer takes about as long as the call did."""
_PIDS_KEPT_NS = 5_000_000_000


class Machine:
    """A ``pynvml`` with ``gpus`` GPUs.

    Args:
        gpus: how many.
        clock: ``CLOCK_MONOTONIC`` in ns.
        wall: Unix time in ns.
        sleep: told for how long, in seconds.
        pids: of the programs that use the GPUs.
    """

    NVMLError = Replay.NVMLError

    def __init__(
        self,
        gpus: int,
        clock: Callable[[], int] = time.monotonic_ns,
        wall: Callable[[], int] = time.time_ns,
        sleep: Callable[[float], None] = time.sleep,
        pids: Callable[[], list[int]] | None = None,
    ) -> None:
        self._gpus, self._clock, self._wall, self._sleep = gpus, clock, wall, sleep
        self._pids = pids or _descendants
        self._known_pids: tuple[int, list[int]] = (0, [])
        self._at_ns = 0
        self._replay = Replay(RECORDING, lambda: self._at_ns, self._spend)
        begins = {name: t_ns for t_ns, name in self._replay.phases}
        self._from_ns, self._span_ns = begins[FROM], begins[TO] - begins[FROM]
        self._began_ns = clock()
        self._stamps = self._recorded_samples()

    def __getattr__(self, name: str) -> Any:
        own = {
            "nvmlDeviceGetCount": lambda: self._gpus,
            "nvmlDeviceGetHandleByIndex": _Gpu,
            "nvmlDeviceGetUUID": lambda gpu: f"GPU-replayed-{gpu.index}",
            "nvmlDeviceGetSamples": self._samples,
            "nvmlDeviceGetComputeRunningProcesses": self._compute_processes,
        }
        if name in own:
            return own[name]
        value = getattr(self._replay, name)
        if not name.startswith("nvml") or isinstance(value, int):
            return value

        def call(*arguments: Any) -> Any:
            self._place(arguments)
            return value(*arguments)

        return call

    def _place(self, arguments: tuple[Any, ...]) -> int:
        """Set the recording to the GPU's place in it; return its wholes gone through, in ns."""
        index = next((a.index for a in arguments if isinstance(a, _Gpu)), 0)
        since_ns = self._clock() - self._began_ns + index * self._span_ns // self._gpus
        at_ns = since_ns % self._span_ns
        self._at_ns = self._from_ns + at_ns
        return since_ns - at_ns

    def _spend(self, duration_ns: int) -> None:
        if duration_ns >= _SHORTEST_SLEEP_NS:
            self._sleep(duration_ns / 1e9)

    def _recorded_samples(self) -> list[tuple[int, int]]:
        """Time since the repeated part's beginning (ns) and value of every recorded sample."""
        found = {}
        for line in self._replay.answers("nvmlDeviceGetSamples"):
            for sample in line["r"][1] if "r" in line else ():
                t_ns = sample["timeStamp"] * 1000 - self._replay.wall_offset_ns - self._from_ns
                found[t_ns] = sample["sampleValue"]["uiVal"]
        return sorted((t, value) for t, value in found.items() if 0 <= t < self._span_ns)

    def _samples(self, gpu: _Gpu, _kind: int, after_us: int) -> tuple[int, list[Any]]:
        """The samples of the last rounds of the recording that are newer than ``after_us``."""
        gone_ns = self._place((gpu,))
        at_ns, wall_ns = self._at_ns - self._from_ns, self._wall()
        self._spend(2_000_000)
        samples = []
        for round_ns in (gone_ns - self._span_ns, gone_ns):
            for t_ns, value in self._stamps:
                stamp_ns = wall_ns - (gone_ns + at_ns) + round_ns + t_ns
                if after_us * 1000 < stamp_ns <= wall_ns:
                    value_of = SimpleNamespace(uiVal=value)
                    samples.append(
                        SimpleNamespace(timeStamp=stamp_ns // 1000, sampleValue=value_of)
                    )
        if not samples:
            raise self.NVMLError(6)
        return 1, samples

    def _compute_processes(self, gpu: _Gpu) -> list[Any]:
        self._place((gpu,))
        recorded = self._replay.nvmlDeviceGetComputeRunningProcesses(gpu)
        if self._clock() - self._known_pids[0] > _PIDS_KEPT_NS:
            self._known_pids = (self._clock(), self._pids())
        first = gpu.index * PROCESSES_EACH_GPU
        mine = self._known_pids[1][first : first + PROCESSES_EACH_GPU]
        listed = [
            SimpleNamespace(pid=pid, usedGpuMemory=recorded[0].usedGpuMemory)
            for pid in mine
            if recorded
        ]
        listed += [
            SimpleNamespace(pid=NEIGHBOUR_PID, usedGpuMemory=other.usedGpuMemory)
            for other in recorded[1:]
        ]
        return listed


class _Gpu(Handle):
    """One of the machine's; the recording knows it as its only one."""

    def __init__(self, index: int) -> None:
        super().__init__(0)
        self.index = index


def _descendants() -> list[int]:
    """Pids below this process that have no children, oldest first."""
    below = psutil.Process().children(recursive=True)
    parents = {process.ppid() for process in below if process.is_running()}
    return sorted(process.pid for process in below if process.pid not in parents)
