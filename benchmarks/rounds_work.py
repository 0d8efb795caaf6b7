"""Frames of real torch work whose cost grows with the number of steps in a known way.

python -m benchmarks.rounds_work KIND STEPS SEED FRAMES    as a program that mgtop can run
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable

import torch

from mgtop import probe

KINDS = ("linear", "superlinear", "sublinear", "flat")
TOKENS = 32


class Work:
    """One frame of a kind: steps of a small model, then a decoder.

    ``linear``: every step runs the model. ``superlinear``: every step attends to all steps
    before it. ``sublinear``: features are reused, so that only steps 1, 2, 4, 8, … run it.
    ``flat``: the decoder is all that costs. Sizes and the decoder's share differ by seed.
    """

    def __init__(self, kind: str, seed: int) -> None:
        rng = random.Random(f"{kind}{seed}")
        torch.manual_seed(seed)
        self._kind = kind
        self._width = rng.choice([256, 320, 384])
        self._layers = rng.choice([2, 3])
        self._decoder = rng.choice([1, 2, 4]) if kind != "flat" else 24
        self._weight = torch.randn(self._width, self._width) / math.sqrt(self._width)
        self._tokens = torch.randn(TOKENS * 4, self._width)

    def frame(self, steps: int) -> torch.Tensor:
        """Make one."""
        x = self._tokens
        for step in range(1, steps + 1):
            if self._kind == "linear" or (self._kind == "sublinear" and step & (step - 1) == 0):
                repeat = 1 if self._kind == "linear" else 4
                x = self._model(x, self._layers * repeat)
            elif self._kind == "superlinear":
                context = self._tokens[:TOKENS].repeat(step, 1)
                x = self._model(context, self._layers)[: TOKENS * 4]
        return self._model(x, self._decoder)

    def _model(self, x: torch.Tensor, layers: int) -> torch.Tensor:
        for _ in range(layers):
            x = torch.tanh(x @ self._weight)
        return x


def frame_times_ms(
    make: Callable[[int], object], steps: int, frames: int
) -> list[tuple[float, float]]:
    """Duration of each of so many frames, and the CPU time that this thread had in it."""
    times = []
    for _ in range(frames):
        begin, busy = time.perf_counter_ns(), time.thread_time_ns()
        make(steps)
        done, worked = time.perf_counter_ns(), time.thread_time_ns()
        times.append(((done - begin) / 1e6, (worked - busy) / 1e6))
    return times


def main() -> None:
    kind, steps, seed, frames = sys.argv[1], *map(int, sys.argv[2:5])
    torch.set_num_threads(1)
    work = Work(kind, seed)
    probe.load_done()
    with probe.request("r", steps=steps, seed=seed) as request:
        request.preprocess_done()
        for _ in range(frames):
            work.frame(steps)
            request.frame()


if __name__ == "__main__":
    main()
