"""What the probe's CUDA events and allocator counters cost a program on a GPU.

    python benchmarks/gpu/probe_cost.py

Frames of four ``forward`` spans, with the probe and without it in turn; each call is timed.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.probe import Times, machine, reader
from mgtop import probe


def main(frames: int = 600) -> None:
    """Print what the probe's calls cost beside real GPU work, and what that does to a frame."""
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)

    def forward() -> None:
        for _ in range(40):
            torch.mm(a, a)

    def bare() -> None:
        for _ in range(4):
            forward()
        torch.cuda.synchronize()

    spent: dict[str, list[int]] = {"enter": [], "exit": [], "frame": []}

    def timed(what: str, call: Callable[..., object], *arguments: object) -> None:
        began = perf_counter_ns()
        call(*arguments)
        spent[what].append(perf_counter_ns() - began)

    def probed() -> None:
        for _ in range(4):
            span = request.span("forward")
            timed("enter", span.__enter__)
            forward()
            timed("exit", span.__exit__, None, None, None)
        torch.cuda.synchronize()
        timed("frame", request.frame)

    with tempfile.TemporaryDirectory() as name:
        fifo = Path(name) / "events.fifo"
        with reader(fifo):
            os.environ["MGTOP_FIFO"] = str(fifo)
            request = probe.request("benchmark")
            walls: dict[str, list[int]] = {"without the probe": [], "with it": []}
            for _ in range(6):
                for label, one in (("without the probe", bare), ("with it", probed)):
                    for at in range(frames // 6 + 20):
                        began = perf_counter_ns()
                        one()
                        if at >= 20:
                            walls[label].append(perf_counter_ns() - began)
    print(f"{machine()}, {torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"n = {frames} frames of 4 forward spans; µs (min, P50, P99)\n")
    for label, raw in [*spent.items(), *walls.items()]:
        times = Times(raw)
        shown = (times.at(share) / 1000 for share in (0, 0.5, 0.99))
        print(f"{label:20}" + "".join(f"{value:12,.1f}" for value in shown))


if __name__ == "__main__":
    main()
