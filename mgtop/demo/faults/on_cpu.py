"""Faults that any machine can have: they wait, or do more work than is needed."""

from __future__ import annotations

import gc
import time
from typing import ClassVar

import torch
from torch.nn import functional

from mgtop.demo.faults.fault import Fault, Place, Scene
from mgtop.demo.generator import Generator
from mgtop.demo.prefetch import Prefetch


class Stall(Fault):
    """The thread sleeps, outside any span: a lock, a slow answer from somewhere."""

    place: ClassVar[Place] = "between"

    def strike(self, ms: float, scene: Scene) -> None:
        """Sleep."""
        time.sleep(ms / 1e3)


class ExpensiveResize(Fault):
    """The input is resized again and again, in the most careful way there is."""

    place: ClassVar[Place] = "resize"

    def strike(self, ms: float, scene: Scene) -> None:
        """Resize one picture after the other until the time is up."""
        assert scene.pictures is not None
        end = time.monotonic() + ms / 1e3
        while True:
            for picture in scene.pictures:
                functional.interpolate(
                    picture[None].float(), size=(144, 256), mode="bicubic", antialias=True
                )
                if time.monotonic() >= end:
                    return


class Collection(Fault):
    """Full garbage collections over a large heap of objects that refer to each other."""

    place: ClassVar[Place] = "postprocess"

    MOST_OBJECTS = 3_000_000

    def settle(self) -> None:
        """Make the heap so large that a strike is a few collections."""
        wanted_ms = min(self.order.ms or 100.0, 100.0) / 3
        self._heap: list[object] = []
        self._took_ms = 0.0
        missing = 25_000
        while missing > len(self._heap) // 10:
            self._grow(missing)
            gc.collect()
            self._took_ms = self._time_one()
            most = min(self.MOST_OBJECTS, 4 * len(self._heap))
            missing = min(most, int(len(self._heap) * wanted_ms / self._took_ms)) - len(self._heap)

    def _grow(self, count: int) -> None:
        """Add ``count`` lists, each of which refers to another, the last to the first."""
        gc.disable()
        try:
            nodes: list[list[object]] = [[] for _ in range(count)]
            for number, node in enumerate(nodes):
                node.append(nodes[number - 1])
            self._heap += nodes
        finally:
            gc.enable()

    def _time_one(self) -> float:
        """What a collection takes, ms, where the model has used the caches before."""
        torch.zeros(32 << 20, dtype=torch.uint8).add_(1)
        begin = time.perf_counter()
        gc.collect()
        return (time.perf_counter() - begin) * 1e3

    def strike(self, ms: float, scene: Scene) -> None:
        """Collect, as often as comes nearest to the time wanted."""
        end = time.perf_counter() + (ms - self._took_ms / 2) / 1e3
        gc.collect()
        while time.perf_counter() < end:
            gc.collect()


class SlowOutput(Fault):
    """The block is written through a pipe whose reader takes its time."""

    place: ClassVar[Place] = "write"

    def strike(self, ms: float, scene: Scene) -> None:
        """Write what was encoded, slowly."""
        scene.sink.write_slowly(ms)


class MoreSteps(Fault):
    """The model takes sampling steps that nobody asked for."""

    place: ClassVar[Place] = "forward"

    def prepare(self, generator: Generator) -> None:
        """See where the model runs."""
        self._on_gpu = generator.device.type == "cuda"

    def strike(self, ms: float, scene: Scene) -> None:
        """Take steps until the time is up; on a GPU each one is waited for."""
        if self._on_gpu:
            torch.cuda.synchronize()
        end = time.monotonic() + ms / 1e3
        while time.monotonic() < end:
            scene.stream.denoise_in_vain()
            if self._on_gpu:
                torch.cuda.synchronize()


class Starvation(Fault):
    """The decoding thread pauses until the queue is empty, and some more."""

    place: ClassVar[Place] = "queue"

    def lead(self, capacity: int, count: int) -> int:
        """So many emits that the decoder cannot be past the frame before which it pauses."""
        return 1 + -(-(capacity + 1) // count)

    def arm(self, prefetch: Prefetch, index: int) -> None:
        """Tell the decoder where to pause."""
        prefetch.pause_before(index)

    def strike(self, ms: float, scene: Scene) -> None:
        """Wait for it."""
        scene.prefetch.starve(ms, scene.count)


class Leak(Fault):
    """Memory that is kept for ever: a reference that nobody drops."""

    place: ClassVar[Place] = "vae_decode"

    MIB: ClassVar[dict[str, float]] = {"cpu": 1.0, "cuda": 16.0}
    """Kept at each strike, unless ordered otherwise."""

    MOST_BYTES = 4 << 30
    """No more than this is kept in all, for the machine's sake."""

    def prepare(self, generator: Generator) -> None:
        """Begin with nothing."""
        self._device = generator.device
        self._kept: list[torch.Tensor] = []
        self._bytes = 0

    def strike(self, ms: float, scene: Scene) -> int:
        """Keep some more, and touch all of it."""
        size = int((self.order.mib or self.MIB[self._device.type]) * (1 << 20))
        if self._bytes + size > self.MOST_BYTES:
            return 0
        self._kept.append(torch.full((size,), 1, dtype=torch.uint8, device=self._device))
        self._bytes += size
        return size
