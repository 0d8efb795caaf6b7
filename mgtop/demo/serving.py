"""Serving one request: from the input clip to frames in a file, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from time import monotonic_ns
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from mgtop import probe
from mgtop.demo.blocks import Blocks
from mgtop.demo.faults.conductor import Watch
from mgtop.demo.faults.fault import Place, Scene
from mgtop.demo.generator import Generator
from mgtop.demo.prefetch import Prefetch
from mgtop.demo.sink import Sink


class Telling(Protocol):
    """Whom a request's progress is told: the probe, or while warming up nobody."""

    def span(self, name: str, index: int | None = None) -> AbstractContextManager[object]:
        """Put this around a named piece of work."""

    def preprocess_done(self) -> None:
        """The first input is on the device."""

    def frame(self, count: int = 1) -> None:
        """So many frames were written."""


class Nobody:
    """Listens to nothing."""

    def span(self, name: str, index: int | None = None) -> AbstractContextManager[object]:
        """Nothing."""
        return nullcontext()

    def preprocess_done(self) -> None:
        """Nothing."""

    def frame(self, count: int = 1) -> None:
        """Nothing."""


class Faultless:
    """No fault strikes."""

    def begin(self, emit: int, scene: Scene) -> None:
        """Nothing."""

    def at(self, place: Place) -> None:
        """Nothing."""

    def emitted(self) -> None:
        """Nothing."""


class Service:
    """What all requests of a run have in common.

    Args:
        generator: the loaded model.
        clip: the input.
        blocks: sizes of the emits.
        stopping: whether the run is to end after the block at hand.
    """

    def __init__(
        self, generator: Generator, clip: Path, blocks: Blocks, stopping: Callable[[], bool]
    ) -> None:
        self.blocks = blocks
        self.capacity = max(8, 2 * blocks.size)
        self._generator = generator
        self._clip = clip
        self._stopping = stopping

    def serve(
        self,
        telling: Telling,
        faults: Watch | Faultless,
        path: Path,
        *,
        fps: float,
        emits: int,
        seed: int,
        queue: Callable[[str, int, int], None] = probe.queue,
    ) -> tuple[int, list[int]]:
        """Serve one request.

        Args:
            telling: whom to tell.
            faults: what strikes on the way.
            path: of the video, made anew.
            fps: at which it is to be played.
            emits: how many to make.
            seed: of the noise.
            queue: whom to tell of the prefetch queue.

        Returns:
            Frames made, and the times of the emits, ns.
        """
        shape = self._generator.shape
        stream = self._generator.stream(seed)
        prefetch = Prefetch(
            self._clip, self.capacity, lambda index: telling.span("decode", index), queue
        )
        frames = 0
        times: list[int] = []
        with torch.inference_mode(), Sink(path, shape.width, shape.height, fps) as sink:
            scene = Scene(prefetch, sink, stream, self.blocks.first)
            faults.begin(0, scene)
            with prefetch:
                for emit in range(emits):
                    if self._stopping():
                        break
                    if emit:
                        scene.count = self.blocks.size
                        faults.begin(emit, scene)
                    self._make_block(telling, faults, scene, emit)
                    frames += scene.count
                    telling.frame(scene.count)
                    times.append(monotonic_ns())
                    faults.emitted()
        return frames, times

    def _make_block(
        self, telling: Telling, faults: Watch | Faultless, scene: Scene, emit: int
    ) -> None:
        """Everything between two emits."""
        faults.at("between")
        faults.at("queue")
        scene.pictures = torch.stack(scene.prefetch.take(scene.count)).permute(0, 3, 1, 2)
        with telling.span("resize"):
            faults.at("resize")
            small = self._resize(scene.pictures)
        with telling.span("h2d"):
            given = self._upload(small)
        if emit == 0:
            telling.preprocess_done()
        latents = scene.stream.sample(given, _Steps(telling, faults))
        with telling.span("vae_decode"):
            faults.at("vae_decode")
            video = scene.stream.decode(latents)
        with telling.span("postprocess"):
            faults.at("postprocess")
            pictures = _to_bytes(video)
        with telling.span("encode"):
            scene.sink.encode(pictures)
        with telling.span("write"):
            faults.at("write")
            scene.sink.write()

    def _resize(self, pictures: Tensor) -> Tensor:
        """``[n, 3, …]`` bytes to the size of the stream."""
        size = (self._generator.shape.height, self._generator.shape.width)
        return functional.interpolate(pictures, size=size, mode="bilinear", antialias=True)

    def _upload(self, small: Tensor) -> Tensor:
        """Bytes on the CPU to 0…1 on the device, through memory that the GPU can read itself."""
        generator = self._generator
        if generator.device.type == "cuda":
            small = small.contiguous().pin_memory().to(generator.device, non_blocking=True)
        return small.to(generator.dtype).div_(255.0)


class _Steps:
    """Makes a span for each sampling step of a block; faults strike in the first."""

    def __init__(self, telling: Telling, faults: Watch | Faultless) -> None:
        self._telling = telling
        self._faults = faults
        self._first = True

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._telling.span("forward"):
            if self._first:
                self._first = False
                self._faults.at("forward")
            yield


def _to_bytes(video: Tensor) -> Tensor:
    """Frames 0…1, ``[n, 3, height, width]``, to ``[n, height, width, 3]`` bytes on the CPU."""
    scaled = video.clamp(0, 1).mul_(255).round_().to(torch.uint8)
    return scaled.permute(0, 2, 3, 1).contiguous().cpu()
