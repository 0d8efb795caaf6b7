"""The faults that generators commit. Each is the real thing, made as long as was ordered."""

from __future__ import annotations

import gc
import queue
import threading
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import torch

FAULTS = (
    "stall",
    "stall_in_step",
    "lock",
    "supply",
    "late_decode",
    "gc",
    "compute",
    "output",
    "output_wait",
    "queue",
    "compile",
    "untold",
    "other_span",
)
"""``stall``, ``stall_in_step``: a sleep between spans, and inside ``forward``. ``lock``: another
thread really holds one. ``supply``: more work in ``resize``. ``late_decode``: the prefetching
thread decodes for longer. ``output``, ``output_wait``: more work in ``encode``, waiting in
``write``. ``queue``: the prefetching thread pauses. ``untold``, ``other_span``: work in no span
at all, and in one whose name says nothing to mgtop; no channel sees it."""


class Work:
    """Real matrix work of a calibrated length; torch lets other threads run meanwhile."""

    SIZE = 256

    def __init__(self) -> None:
        self._matrix = torch.randn(self.SIZE, self.SIZE, generator=torch.Generator().manual_seed(0))
        self._matrix *= 1.5 / self.SIZE**0.5  # neither dies out nor grows
        self._per_ms = self._calibrate()

    def run(self, ms: float) -> None:
        """About ``ms`` milliseconds of matrix products."""
        self._products(max(1, round(ms * self._per_ms)))

    def until(self, ms: float) -> None:
        """Products for so long by the clock."""
        end = time.monotonic() + ms / 1e3
        while time.monotonic() < end:
            self._products(1)

    def _products(self, count: int) -> None:
        x = self._matrix
        for _ in range(count):
            x = torch.tanh(x @ self._matrix)

    def _calibrate(self) -> float:
        """Products per ms; the best of several, since the machine may be busy."""
        self._products(100)
        took = []
        for _ in range(8):
            began = time.monotonic_ns()
            self._products(40)
            took.append(time.monotonic_ns() - began)
        return 40 / (min(took) / 1e6)


class Heap:
    """Objects that refer to each other, so many that a full collection takes some 8 ms."""

    WANTED_MS = 8.0

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # what torch brought is not part of it
        self._nodes: list[list[object]] = []
        self._took_ms = 0.0
        while self._took_ms < 0.8 * self.WANTED_MS and len(self._nodes) < 2_000_000:
            self._grow(20_000)
            gc.collect()
            began = time.monotonic_ns()
            gc.collect()
            self._took_ms = (time.monotonic_ns() - began) / 1e6

    def _grow(self, count: int) -> None:
        gc.disable()
        try:
            nodes: list[list[object]] = [[] for _ in range(count)]
            for number, node in enumerate(nodes):
                node.append(nodes[number - 1])
            self._nodes += nodes
        finally:
            gc.enable()

    def collect(self, ms: float) -> None:
        """Collect, as often as comes nearest to the time wanted."""
        end = time.monotonic() + (ms - self._took_ms / 2) / 1e3
        gc.collect()
        while time.monotonic() < end:
            gc.collect()


class LockHolder:
    """Another thread that takes a lock and keeps it for as long as it is told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held = threading.Event()
        self._orders: queue.SimpleQueue[float] = queue.SimpleQueue()
        threading.Thread(target=self._hold, name="lock-holder", daemon=True).start()

    def prepare(self, ms: float) -> None:
        """Have the lock taken."""
        self._held.clear()
        self._orders.put(ms)
        self._held.wait()

    def acquire(self, _ms: float) -> None:
        """Wait for it like anybody who needs it."""
        with self._lock:
            pass

    def _hold(self) -> None:
        while True:
            ms = self._orders.get()
            with self._lock:
                self._held.set()
                time.sleep(ms / 1e3)


class Compiler:
    """Functions that torch compiles again, for shapes that they have not seen."""

    SHAPES = 6
    """Dynamo gives up on a function after eight."""

    def __init__(self) -> None:
        self._calls = 0
        self.compile_once()
        began = time.monotonic_ns()
        self.compile_once()
        self._took_ms = (time.monotonic_ns() - began) / 1e6

    def compile(self, ms: float) -> None:
        """Compile, as often as comes nearest to the time wanted."""
        end = time.monotonic() + (ms - self._took_ms / 2) / 1e3
        self.compile_once()
        while time.monotonic() < end:
            self.compile_once()

    def compile_once(self) -> None:
        """One compilation."""
        number = self._calls % self.SHAPES
        if number == 0:
            code = grade.__code__.replace(co_name=f"grade_{self._calls}")
            copy = types.FunctionType(code, grade.__globals__)
            self._function: Callable[[Any], Any] = torch.compile(
                copy, backend="eager", dynamic=False
            )
        self._calls += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, about its insides
            self._function(torch.ones(8, 8 + number))


def grade(x: torch.Tensor) -> torch.Tensor:
    """What is compiled: a few operations of postprocessing."""
    y = x * 1.1
    y = y - y.mean(dim=(-2, -1), keepdim=True) * 0.1
    return torch.sigmoid(4 * (y - 0.5)) * 0.5 + x * 0.5


def sleep(ms: float) -> None:
    """Let this thread do nothing."""
    time.sleep(ms / 1e3)
