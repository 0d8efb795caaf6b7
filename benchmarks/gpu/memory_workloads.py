"""Programs with a known use of GPU memory, and torch's own figures of it.

    python -m benchmarks.gpu.memory_workloads PART --truth FILE [--device cuda]

Each writes what torch (and, for its own pid, the driver) says of it at the moments that mgtop
reads. ``--device cpu`` runs the same steps without a GPU, to try the harness: nothing is told then.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mgtop import probe

MIB = 1 << 20
FRAME_S = 0.015
Kept = list[torch.Tensor]


class Program:
    """One run: holds tensors, makes frames, writes down the truth."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.device: str = options.device
        self.cuda = self.device == "cuda"
        self.path: Path = options.truth
        self.truth: dict[str, Any] = {"part": options.part, "pid": os.getpid()}
        self.emits: list[dict[str, int]] = []
        self.kept: Kept = []
        if self.cuda:
            torch.cuda.init()
            self.x = torch.randn(1024, 1024, device=self.device)
        else:
            self.x = torch.randn(64, 64)

    def take(self, mib: float) -> torch.Tensor:
        """So much memory, not touched."""
        scale = 1 if self.cuda else 1 / 256
        return torch.empty(max(1, int(mib * MIB * scale)), dtype=torch.uint8, device=self.device)

    def stats(self) -> dict[str, int]:
        """Torch's own figures, bytes."""
        if not self.cuda:
            return {}
        stats = torch.cuda.memory_stats()
        free, total = torch.cuda.mem_get_info()
        return {
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
            "max_allocated": torch.cuda.max_memory_allocated(),
            "max_reserved": torch.cuda.max_memory_reserved(),
            "retries": stats.get("num_alloc_retries", 0),
            "free": free,
            "total": total,
        }

    def empty(self) -> None:
        """Give the cache back."""
        if self.cuda:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()

    def load(self, resident_mib: float, buffer_mib: float = 0, rest_s: float = 1.5) -> None:
        """Weights, with a buffer that loading needs for a while."""
        probe.load_begin()
        time.sleep(0.3)
        buffer = self.take(buffer_mib) if buffer_mib else None
        time.sleep(0.5)
        self.kept.append(self.take(resident_mib))
        if buffer is not None:
            del buffer
            self.empty()
        probe.load_done()
        self.truth["loaded"] = self.stats()
        self.rest(rest_s)

    def rest(self, seconds: float) -> None:
        """No request runs; what is in use now is resident."""
        time.sleep(seconds)
        self.truth["resident"] = {**self.stats(), "process": self.process()}

    def process(self) -> int | None:
        """What the driver says that this very process uses."""
        if not self.cuda:
            return None
        try:
            import pynvml

            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            listed = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
            mine = [p.usedGpuMemory for p in listed if p.pid == os.getpid()]
            if not mine and len(listed) == 1:
                mine = [listed[0].usedGpuMemory]
            return int(mine[0]) if mine and mine[0] is not None else None
        except Exception as error:
            self.truth["nvml"] = str(error)
            return None

    def frames(
        self,
        n: int,
        each: Callable[[int], object] = lambda i: None,
        name: str = "a",
        after: Callable[[int], object] = lambda i: None,
    ) -> None:
        """So many frames of 15 ms."""
        with probe.request(name, width=1280, height=720, steps=4, fps=60) as request:
            request.preprocess_done()
            for i in range(n):
                began = time.perf_counter()
                with request.span("forward"):
                    y = self.x
                    for _ in range(4):
                        y = torch.tanh(y @ self.x)
                    each(i)
                    if self.cuda:
                        torch.cuda.synchronize()
                del y
                left = FRAME_S - (time.perf_counter() - began)
                if left > 0:
                    time.sleep(left)
                request.frame()
                self.emits.append(self.stats())
                after(i)

    def done(self) -> None:
        """Let the samplers see the end, and write the truth."""
        self.truth["end"] = {**self.stats(), "process": self.process()}
        time.sleep(0.7)
        self.truth["emits"] = [
            {key: emit[key] for key in ("allocated", "reserved") if key in emit}
            for emit in self.emits
        ]
        self.save()

    def save(self) -> None:
        """Write the truth."""
        self.path.write_text(json.dumps(self.truth))


def load_only(program: Program) -> None:
    """A peak while loading, then flat."""
    program.load(2_000, buffer_mib=4_000)
    program.frames(100)


def first_frame(program: Program) -> None:
    """A peak at the first frame that is given back."""
    program.load(2_000)

    def each(i: int) -> None:
        if i == 0:
            scratch = program.take(5_000)
            time.sleep(0.4)
            del scratch
            program.empty()

    program.frames(100, each)


def leak(program: Program, mib: float) -> None:
    """A tensor is kept at each frame."""
    program.load(2_000, rest_s=0.7)
    program.frames(200, lambda i: program.kept.append(program.take(mib)))
    program.truth["mib_per_frame"] = mib


def window(program: Program) -> None:
    """A key-value window: 20 MiB a frame until frame 60, then the oldest goes."""
    program.load(2_000, rest_s=0.7)
    cache: Kept = []

    def each(i: int) -> None:
        if len(cache) >= 60:
            cache.pop(0)
        cache.append(program.take(20))

    program.frames(200, each)


def sawtooth(program: Program) -> None:
    """At the card's limit, scratch memory of changing size: it is given back and asked for anew."""
    program.load(500, rest_s=0.7)
    if program.cuda:
        free, _ = torch.cuda.mem_get_info()
        program.kept.append(program.take(free / MIB - 6_000))
    program.rest(0.7)
    some: Kept = []

    def each(i: int) -> None:
        # Each round's blocks are a little larger than the last one's, whose cache fits none.
        cycle, at = divmod(i, 12)
        if at == 0:
            some.clear()
        some.append(program.take(300 + 7 * cycle if at else 300))

    program.frames(240, each)


def flat_high(program: Program) -> None:
    """High at every frame, and flat."""
    program.load(2_000, rest_s=0.7)
    if program.cuda:
        free, _ = torch.cuda.mem_get_info()
        program.kept.append(program.take(0.8 * free / MIB))
    program.rest(0.7)

    def each(i: int) -> None:
        scratch = program.take(1_000)
        del scratch

    program.frames(120, each)


def between_polls(program: Program) -> None:
    """A peak of 20 ms in one frame that polling every 100 ms has little chance to see."""
    program.load(1_000, rest_s=0.7)

    def each(i: int) -> None:
        if i in (40, 47, 61):
            scratch = program.take(3_000 + i)
            del scratch
            program.empty()

    program.frames(100, each)


def two(program: Program) -> None:
    """Two processes of the program on one card."""
    truth = str(program.path) + ".child"
    module = "benchmarks.gpu." + Path(sys.argv[0]).stem  # this one, or the pretended GPU
    command = [sys.executable, "-m", module, "child", "--truth", truth, "--device", program.device]
    child = subprocess.Popen(command)
    program.load(1_000, rest_s=4)
    program.frames(300)
    program.truth["both"] = {"process": program.process()}
    child.wait()


def child(program: Program) -> None:
    """The second of the two."""
    program.load(3_000, rest_s=3)
    program.frames(250, name="child")


def neighbour(program: Program) -> None:
    """Somebody else's process: no probe, not of the target."""
    program.kept.append(program.take(3_000))
    print("there", flush=True)
    time.sleep(60)


def segments(program: Program) -> None:
    """Two thousand cached segments of 20 MiB, some with something in use; then a reclaim."""
    program.load(1_000, rest_s=0.5)
    many = [program.take(19) for _ in range(2_000)]
    program.kept += many[::100]
    del many
    took: list[float] = []
    last = time.perf_counter()

    def after(i: int) -> None:
        nonlocal last
        now = time.perf_counter()
        took.append(now - last)
        last = now

    program.frames(500, after=after)
    program.truth["frame_ms"] = [1e3 * value for value in took]
    if program.cuda:
        torch.cuda.synchronize()
        began = time.perf_counter()
        torch.cuda.empty_cache()
        program.truth["reclaim_ms"] = 1e3 * (time.perf_counter() - began)


def out_of_memory(program: Program) -> None:
    """Memory runs out at frame 30, and an error that has nothing to do with it ends the program."""
    program.load(500, rest_s=0.7)
    if program.cuda:
        torch.cuda.set_per_process_memory_fraction(0.05)

    def each(i: int) -> None:
        if i < 30:
            program.kept.append(program.take(20))
            return
        program.kept.append(program.take(40_000_000 if not program.cuda else 400_000))

    try:
        program.frames(60, each)
    except (RuntimeError, MemoryError) as error:
        program.truth["error"] = f"{type(error).__name__}: {error}"
    program.done()
    result: Any = None
    print(result.shape)


def out_at_load(program: Program) -> None:
    """The weights do not fit."""
    if program.cuda:
        torch.cuda.set_per_process_memory_fraction(0.02)
    try:
        program.load(40_000_000 if not program.cuda else 40_000)
    except (RuntimeError, MemoryError) as error:
        program.truth["error"] = f"{type(error).__name__}: {error}"
        program.save()
        raise


PARTS: dict[str, Callable[[Program], None]] = {
    "load_only": load_only,
    "first_frame": first_frame,
    "leak_0.5": lambda program: leak(program, 0.5),
    "leak_5": lambda program: leak(program, 5.0),
    "leak_50": lambda program: leak(program, 50.0),
    "window": window,
    "sawtooth": sawtooth,
    "flat_high": flat_high,
    "between_polls": between_polls,
    "expandable": lambda program: leak(program, 5.0),
    "async": lambda program: leak(program, 5.0),
    "two": two,
    "child": child,
    "neighbour": neighbour,
    "segments": segments,
    "segments_expandable": segments,
    "out_of_memory": out_of_memory,
    "out_at_load": out_at_load,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        program = Program(options)
        PARTS[options.part](program)
        program.done()


if __name__ == "__main__":
    main()
