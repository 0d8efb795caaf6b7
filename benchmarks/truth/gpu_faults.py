"""Faults of GPU memory and of compilation for a GPU, and a neighbour on it."""

from __future__ import annotations

import itertools
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

MIB = 1 << 20
SEGMENT = 20 * MIB
"""An allocation of this size is a segment of its own at the driver, and is released alone."""
LEAST_SEGMENTS, MOST_SEGMENTS = 400, 2_000


class Reclaim:
    """A fragmented cache of small segments that the allocator must give back at its limit.

    On an H200 releasing 382 of them took 21 ms and 1,982 took 118 ms.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        _, self._total = torch.cuda.mem_get_info(device)
        self._cycle(LEAST_SEGMENTS)
        began = time.monotonic()
        self._cycle(LEAST_SEGMENTS)
        self._ms = (time.monotonic() - began) * 1e3 / LEAST_SEGMENTS

    def release(self, ms: float) -> None:
        """Fill the cache and have it released; with as many segments as take so long."""
        self._cycle(min(MOST_SEGMENTS, max(LEAST_SEGMENTS, round(ms / self._ms))))

    def _cycle(self, segments: int) -> None:
        _reclaim(self._device, self._total, segments, SEGMENT)

    @staticmethod
    def release_two(device: torch.device) -> None:
        """Two segments of 200 MiB: a reclaim that costs next to nothing."""
        _, total = torch.cuda.mem_get_info(device)
        _reclaim(device, total, 2, 200 * MIB)


def _reclaim(device: torch.device, total: int, segments: int, size: int) -> None:
    retries = _retries(device)
    limit = torch.cuda.memory_reserved(device) + segments * size + 8 * SEGMENT
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total), 0)
    cached = [torch.empty(size, dtype=torch.uint8, device=device) for _ in range(segments)]
    del cached
    large = torch.empty(int(segments * size * 0.7) + 8 * SEGMENT, dtype=torch.uint8, device=device)
    del large
    torch.cuda.empty_cache()  # else the next one would be served from the large segment
    torch.cuda.set_per_process_memory_fraction(1.0, 0)
    if _retries(device) == retries:
        raise SystemExit("the allocator gave nothing back: expandable segments, or another backend")


def _retries(device: torch.device) -> int:
    return int(torch.cuda.memory_stats(device).get("num_alloc_retries", 0))


def run_out_of_memory(device: torch.device) -> None:
    """Ask for more than there is.

    Raises:
        torch.OutOfMemoryError: always (on the CPU: MemoryError).
    """
    if device.type != "cuda":
        raise MemoryError("asked for on the CPU")
    _, total = torch.cuda.mem_get_info(device)
    torch.empty(2 * total, dtype=torch.uint8, device=device)


class Compiler:
    """A function that is compiled again and again, each time for a shape it has not seen.

    Args:
        function: of one tensor.
        device: where it runs.
        mode: of ``torch.compile``; ``reduce-overhead`` records CUDA graphs.
    """

    SHAPES = 6
    """Dynamo gives up on a function after eight."""

    def __init__(
        self, function: Callable[[torch.Tensor], torch.Tensor], device: torch.device, mode: Any
    ) -> None:
        self._function, self._device, self._mode = function, device, mode
        self._calls = itertools.count()
        self.compile(0)

    def compile(self, _ms: float) -> None:
        """Compile once, and run it until it is warm: graphs are recorded at a later call."""
        number = next(self._calls)
        if number % self.SHAPES == 0:
            code = self._function.__code__.replace(co_name=f"compiled_{self._mode}_{number}")
            copy = types.FunctionType(code, self._function.__globals__)
            self._compiled = torch.compile(copy, mode=self._mode, dynamic=False)
        shape = (64, 64 * (1 + number % self.SHAPES))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(3):
                self._compiled(torch.ones(shape, device=self._device))
        if self._device.type == "cuda":
            torch.cuda.synchronize()


def be_a_neighbour(seconds: float, device: torch.device) -> None:
    """Take memory and compute for so long, then give the memory back."""
    taken = torch.empty(2048 * MIB, dtype=torch.uint8, device=device)
    x = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16) / 90
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(4):
            x = torch.tanh(x @ x)
        torch.cuda.synchronize()
    del taken
    torch.cuda.empty_cache()


def neighbour_loop() -> None:
    """Read seconds from stdin, a line each, and be a neighbour for so long."""
    device = torch.device("cuda")
    torch.zeros(1, device=device)
    print("ready", flush=True)
    for line in iter(input_line, ""):
        be_a_neighbour(float(line), device)
        print("done", flush=True)


def input_line() -> str:
    """The next line of stdin; empty at its end."""
    try:
        return input()
    except EOFError:
        return ""


if __name__ == "__main__":
    neighbour_loop()
