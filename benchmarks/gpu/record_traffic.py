"""Record real NVML traffic of a scenario, as data for tests on machines without a GPU.

    python benchmarks/gpu/record_traffic.py OUT.jsonl.gz

Needs an NVIDIA GPU, torch and nvidia-ml-py. The sampler runs as in the recorder; a second
process works on the GPU. Phases: idle; busy; memory (a 64 MiB drop of 25 ms, three times);
alternating (300 ms busy, 300 ms idle); two processes; gone. Prints what the sampler made of it.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from benchmarks.gpu.traffic import Recorder
from mgtop.record.nvml import load_bindings
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.record.nvml.utilisation import Gpm
from mgtop.wire.records import GpuMemory

WORKER = r"""
import sys, time, torch
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(20): x @ x
        torch.cuda.synchronize()
print("ready", flush=True)
for line in sys.stdin:
    what, *rest = line.split()
    if what == "busy": busy(float(rest[0]))
    if what == "alternate":
        end = time.monotonic() + float(rest[0])
        while time.monotonic() < end:
            busy(0.3); time.sleep(0.3)
    if what == "drop":
        held = [torch.empty(64 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]
        for _ in range(3):
            time.sleep(0.4)
            held.pop(); torch.cuda.empty_cache()
            time.sleep(0.025)
            held.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        time.sleep(0.4)
        del held; torch.cuda.empty_cache()
    print("done", flush=True)
"""


class Worker:
    """A process that works on the GPU as it is told."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._read()

    def tell(self, order: str) -> None:
        """Give an order and wait until it is carried out."""
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        self._read()

    def end(self) -> None:
        """Let the process end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(20)

    def _read(self) -> None:
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise SystemExit("the worker died")


def record_extras(module: Recorder, sampler: NvmlSampler) -> None:
    """Calls that the plan does not make here, and real errors."""
    gpm = Gpm(sampler.calls, sampler.devices[0])
    for _ in range(5):
        gpm(time.monotonic_ns())
        time.sleep(0.2)
    handle = sampler.devices[0].handle
    for name, *arguments in (
        ("nvmlDeviceGetHandleByIndex", 99),
        ("nvmlDeviceGetMigDeviceHandleByIndex", handle, 0),
        ("nvmlDeviceGetFanSpeed", handle),
        ("nvmlDeviceGetMemoryInfo", handle),
    ):
        with contextlib.suppress(module.NVMLError):
            getattr(module, name)(*arguments)


def main(path: Path) -> None:
    recorder = Recorder(load_bindings(), path)
    pids: set[int] = set()
    sampler = NvmlSampler(recorder, lambda: pids)
    began_cpu, began = time.process_time(), time.monotonic()
    sampler.start()
    records: list[object] = []
    stop = threading.Event()

    def drain() -> None:
        while not stop.wait(0.02):
            records.extend(sampler.drain())

    drainer = threading.Thread(target=drain)
    drainer.start()
    recorder.mark("idle")
    time.sleep(2)
    first = Worker()
    pids.add(first.process.pid)
    for phase, order in (("busy", "busy 3"), ("memory", "drop"), ("alternating", "alternate 4")):
        recorder.mark(phase)
        first.tell(order)
    recorder.mark("two processes")
    second = Worker()
    second.tell("busy 2")
    first.tell("busy 1")
    second.end()
    recorder.mark("one process")
    time.sleep(1)
    first.end()
    recorder.mark("gone")
    time.sleep(1.5)
    record_extras(recorder, sampler)
    elapsed, cpu = time.monotonic() - began, time.process_time() - began_cpu
    states = sampler.states(time.monotonic_ns())
    stop.set()
    drainer.join()
    sampler.stop()
    recorder.close()
    calls, spent = sampler.cost() or (0, 0)
    kinds: dict[str, int] = {}
    for record in records:
        kinds[type(record).__name__] = kinds.get(type(record).__name__, 0) + 1
    drops = [
        (b.t_ns - a.t_ns) / 1e6
        for a, b in zip(
            (m for m in records if isinstance(m, GpuMemory)),
            [m for m in records if isinstance(m, GpuMemory)][1:],
            strict=False,
        )
        if a.used_bytes - b.used_bytes == 64 << 20
    ]
    print(
        json.dumps(
            {
                "gpu": [d.name for d in sampler.devices],
                "driver": sampler.driver,
                "cuda": sampler.cuda,
                "seconds": round(elapsed, 1),
                "nvml_calls_per_s": round(calls / elapsed, 1),
                "nvml_ms_per_s": round(spent / 1e6 / elapsed, 2),
                "cpu_percent_with_recording": round(100 * cpu / elapsed, 1),
                "records": kinds,
                "drops_of_64_mib_seen": len(drops),
                "missed": sampler.missed,
                "states": [(s.source, s.state, s.reason) for s in states],
                "readings": [
                    {
                        "name": r.name,
                        "cost_us": round(r.cost_ns / 1e3, 1),
                        "period_ms": round(r.period_ns / 1e6, 1),
                        "gone": r.gone,
                    }
                    for r in sampler.readings
                ],
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
