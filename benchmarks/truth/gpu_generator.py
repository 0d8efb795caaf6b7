"""A streaming generator on a GPU, with faults at known times that only a GPU can have.

    python -m benchmarks.truth.gpu_generator --seconds 30 --fault NAME… --truth FILE

One frame every 40 ms: resize on the CPU, upload, four steps and a decoder on the GPU, the
picture back to the CPU. ``--device cpu`` runs what does not need CUDA, to try it out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.truth.faults import Work, grade, sleep
from benchmarks.truth.generators import until
from benchmarks.truth.gpu_faults import Compiler, Reclaim, run_out_of_memory
from benchmarks.truth.plan import Plan
from benchmarks.truth.truth import Emit, Strike, TruthFile
from mgtop import probe

FAULTS = (
    "gpu_stall",
    "gpu_stall_mid",
    "gpu_supply",
    "gpu_compute",
    "reclaim",
    "small_reclaim",
    "recompile",
    "regraph",
    "oom",
)
"""``gpu_stall``: the CPU sleeps before a frame's work; ``_mid``: between two of its steps.
``reclaim``: at the memory limit the allocator releases hundreds of cached segments.
``small_reclaim``: it releases two, in about a millisecond, in a frame in which the CPU sleeps: it
must not be named. ``recompile``, ``regraph``: Inductor, and Inductor with CUDA graphs, for a new
shape. ``oom``: out of memory, caught, and the frame is made again."""

INTERVAL_MS = 40.0
STEPS = 4
NAME = "a"


class Model:
    """Matrix products of a calibrated length on the device."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        size = 4096 if device.type == "cuda" else 256
        kind = torch.bfloat16 if device.type == "cuda" else torch.float32
        draw = torch.Generator().manual_seed(0)
        self._matrix = (torch.randn(size, size, generator=draw) * 1.5 / size**0.5).to(device, kind)
        self._x = self._matrix.clone()
        self._per_ms = self._calibrate()

    def step(self, ms: float) -> torch.Tensor:
        """Queue about ``ms`` milliseconds of work; the CPU does not wait for it."""
        x: torch.Tensor = self._x
        for _ in range(max(1, round(ms * self._per_ms))):
            x = torch.tanh(x @ self._matrix)
        return x

    def until(self, ms: float) -> None:
        """Work, and wait for it, for so long by the clock."""
        self.wait()
        end = time.monotonic() + ms / 1e3
        while time.monotonic() < end:
            self.step(2.0)
            self.wait()

    def wait(self) -> None:
        """Until the device has done all that was asked of it."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _calibrate(self) -> float:
        self._per_ms = 1.0
        self.step(50)
        took = []
        for _ in range(5):
            self.wait()
            began = time.monotonic_ns()
            self.step(100)
            self.wait()
            took.append((time.monotonic_ns() - began) / 1e6)
        return 100 / min(took)


class Generator:
    """Makes frames, with the faults of the plan in the right places."""

    def __init__(self, options: argparse.Namespace, truth: TruthFile) -> None:
        self.device = torch.device(options.device)
        self.truth, self.work, self.model = truth, Work(), Model(self.device)
        faults = options.fault
        self.plan = Plan(faults, INTERVAL_MS, options.every, (1.5, 10), options.seed)
        cuda = self.device.type == "cuda"
        single = {name for fault in faults for name in fault.split("+")}
        self.reclaim = Reclaim(self.device) if cuda and "reclaim" in single else None
        self.compiler: dict[str, Compiler] = {}
        for fault, mode in (("recompile", None), ("regraph", "reduce-overhead")):
            if fault in single:
                self.compiler[fault] = Compiler(grade, self.device, mode)

    def frame(self, request: Any, emit: int) -> None:
        """All the work of one frame, up to its emit."""
        orders = self.plan.at(emit)
        self._strike("gpu_stall", emit, sleep)
        with request.span("resize"):
            self.work.run(3)
            self._strike("gpu_supply", emit, self.work.until)
        with request.span("h2d"):
            torch.ones(1 << 20).to(self.device)
        if "oom" in orders:
            self._strike("oom", emit, lambda _ms: self._recover(request))
        for step in range(STEPS):
            if step == 2 and {"gpu_stall_mid", "small_reclaim"} & set(orders):
                self.model.wait()  # else what was launched ahead would hide part of the sleep
                self._strike("gpu_stall_mid", emit, sleep)
                self._strike("small_reclaim", emit, sleep)
            with request.span("forward"):
                self.model.step(6)
                if step == 0:
                    self._strike("gpu_compute", emit, self.model.until)
        with request.span("vae_decode"):
            picture = self.model.step(8)
            if self.reclaim is not None:
                self._strike("reclaim", emit, self.reclaim.release)
            if "small_reclaim" in orders and self.device.type == "cuda":
                Reclaim.release_two(self.device)
        with request.span("postprocess"):
            for fault, compiler in self.compiler.items():
                self._strike(fault, emit, compiler.compile)
            self.model.wait()
        with request.span("write"):
            picture[:64].float().cpu()

    def _recover(self, request: Any) -> None:
        """Run out of memory, then make the frame again in three passes."""
        try:
            with request.span("forward"):
                self.model.step(6)
                run_out_of_memory(self.device)
        except (torch.OutOfMemoryError, MemoryError):
            pass
        for _ in range(3):
            with request.span("forward"):
                self.model.step(24)
        self.model.wait()

    def _strike(self, fault: str, emit: int, act: Callable[[float], object]) -> None:
        order = self.plan.at(emit).get(fault)
        if order is None:
            return
        began_ns = time.monotonic_ns()
        act(order.ms)
        self.truth.strike(Strike(fault, NAME, emit, began_ns, time.monotonic_ns()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--seconds", type=float, default=30)
    add("--fault", action="append", default=[], help="one of them, or two joined by +")
    add("--every", type=float, default=8, help="mean emits between strikes")
    add("--seed", type=int, default=0)
    add("--truth", type=Path)
    add("--device", default="cuda", choices=("cuda", "cpu"))
    options = parser.parse_args()
    for name in (name for fault in options.fault for name in fault.split("+")):
        if name not in FAULTS:
            parser.error(f"there is no fault {name!r}: {', '.join(FAULTS)}")
    torch.set_num_threads(1)
    truth = TruthFile(options.truth)
    probe.load_begin()
    with torch.no_grad():
        generator = Generator(options, truth)
        probe.load_done()
        with probe.request(NAME, fps=1000 / INTERVAL_MS) as request:
            request.preprocess_done()
            truth.start(os.getpid(), time.monotonic_ns())
            for emit in until(time.monotonic() + options.seconds):
                generator.frame(request, emit)
                t_ns = time.monotonic_ns()
                request.frame()
                truth.emit(Emit(NAME, emit, emit, 1, t_ns))
    truth.close()


if __name__ == "__main__":
    main()
