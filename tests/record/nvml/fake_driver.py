"""A stand-in for ``pynvml`` with any number of GPUs, on virtual time.

Its answers are made up but for their form; what a call costs is what an H200 with driver 580
took for it (python -m benchmarks.gpu.call_costs tests/record/nvml/h200.jsonl.gz).
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

COSTS_US = {
    "nvmlDeviceGetMemoryInfo": 92,
    "nvmlDeviceGetUtilizationRates": 36,
    "nvmlDeviceGetSamples": 2054,
    "nvmlDeviceGetClockInfo": 11,
    "nvmlDeviceGetPowerUsage": 9,
    "nvmlDeviceGetTemperatureV": 18,
    "nvmlDeviceGetCurrentClocksEventReasons": 9,
    "nvmlDeviceGetEnforcedPowerLimit": 6,
    "nvmlDeviceGetFieldValues": 878,
    "nvmlDeviceGetTotalEccErrors": 62,
    "nvmlDeviceGetComputeRunningProcesses": 129,
    "nvmlDeviceGetGraphicsRunningProcesses": 116,
}
TOTAL = 80 << 30


class FakeDriver:
    """``pids[gpu]``: the compute processes listed there, with 1 GiB each."""

    class NVMLError(Exception):
        def __init__(self, value: int) -> None:
            super().__init__(str(value))
            self.value = value

    nvmlMemory_v2 = 1

    def __init__(self, gpus: int) -> None:
        self.now = 1_000_000_000_000
        self.gpus = gpus
        self.pids: dict[int, list[int]] = {}
        self.calls: list[tuple[str, int]] = []

    def clock(self) -> int:
        return self.now

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml") or (name not in COSTS_US and not hasattr(type(self), name)):
            raise AttributeError(name)

        def call(handle: int, *arguments: Any) -> Any:
            self.now += COSTS_US[name] * 1000
            self.calls.append((name, handle))
            return self._answer(name, handle, arguments)

        return call

    def _answer(self, name: str, handle: int, arguments: tuple[Any, ...]) -> Any:
        if name == "nvmlDeviceGetMemoryInfo":
            return SimpleNamespace(total=TOTAL, used=1 << 30, reserved=0)
        if name == "nvmlDeviceGetUtilizationRates":
            return SimpleNamespace(gpu=50, memory=20)
        if name == "nvmlDeviceGetSamples":
            raise self.NVMLError(6)
        if name == "nvmlDeviceGetFieldValues":
            value = SimpleNamespace(ullVal=0)
            return [SimpleNamespace(nvmlReturn=0, valueType=3, value=value) for _ in arguments[0]]
        if name == "nvmlDeviceGetComputeRunningProcesses":
            return [
                SimpleNamespace(pid=pid, usedGpuMemory=1 << 30) for pid in self.pids.get(handle, [])
            ]
        if name == "nvmlDeviceGetGraphicsRunningProcesses":
            return []
        return 100

    def nvmlInit(self) -> None:
        pass

    def nvmlShutdown(self) -> None:
        pass

    def nvmlSystemGetDriverVersion(self) -> str:
        return "580.1"

    def nvmlSystemGetCudaDriverVersion(self) -> int:
        return 13000

    def nvmlDeviceGetCount(self) -> int:
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, _handle: int) -> str:
        return "A card"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"
