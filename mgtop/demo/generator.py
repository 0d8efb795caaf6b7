"""From input frames to output frames: the model of one run, and the state of one stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor
from torch.nn import functional

from mgtop.demo.blocks import Blocks
from mgtop.demo.model import CHANNELS, STRIDE, Decoder, Denoiser, KeyValueWindow, Shape

SIZES = {"cpu": (128, 3, 24), "cuda": (1024, 8, 96)}
"""By device: width and layers of the transformer, channels of the decoder."""

REACH = 4
"""Latents of the past that attention reaches back to, at least."""

Step = Callable[[], AbstractContextManager[object]]


class Generator:
    """The loaded networks. Streams share it; it holds nothing of any of them."""

    def __init__(
        self, device: torch.device, blocks: Blocks, width: int, height: int, steps: int, seed: int
    ) -> None:
        dim, layers, features = SIZES[device.type]
        latents = blocks.latents
        self.device = device
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.steps = steps
        self.shape = Shape(
            width=width,
            height=height,
            latents=latents,
            per_latent=blocks.per_latent,
            dim=dim,
            layers=layers,
            window=latents * max(2, -(-REACH // latents)),
            features=features,
        )
        with _seeded(seed):
            self.denoiser = Denoiser(self.shape).to(device, self.dtype).eval()
            self.decoder = Decoder(self.shape).to(device, self.dtype).eval()
            mixing = torch.randn(CHANNELS, 3, 1, 1) * 0.5
        mixing[:3] = torch.eye(3)[:, :, None, None]
        self._mixing = mixing.to(device, self.dtype)

    @property
    def parameters(self) -> int:
        """Number of weights."""
        both = (self.denoiser, self.decoder)
        return sum(weight.numel() for network in both for weight in network.parameters())

    def stream(self, seed: int) -> Stream:
        """Begin a stream, whose noise comes from ``seed``."""
        return Stream(self, seed)

    def latents_of(self, frames: Tensor) -> Tensor:
        """Shrink frames ``[n, 3, height, width]`` (0 to 1) to one latent per ``per_latent``.

        At the start of a stream the first latent has one frame only.
        """
        small = functional.avg_pool2d(frames, STRIDE)
        per_latent = self.shape.per_latent
        missing = self.shape.latents * per_latent - len(small)
        if missing:
            small = torch.cat((small[:1].expand(missing, -1, -1, -1), small))
        small = small.view(-1, per_latent, *small.shape[1:]).mean(dim=1)
        return functional.conv2d(small, self._mixing)


class Stream:
    """What one stream keeps from block to block: attention's past, the last latent, noise."""

    def __init__(self, generator: Generator, seed: int) -> None:
        shape = generator.shape
        self._generator = generator
        self._past = KeyValueWindow(shape, generator.device, generator.dtype)
        self._noise = torch.Generator(generator.device).manual_seed(seed)
        self._size = (shape.latents, CHANNELS, *shape.grid)
        self._last: Tensor | None = None
        self._at = 0

    def sample(self, frames: Tensor, step: Step = nullcontext) -> Tensor:
        """Sample the latents of the next block.

        Args:
            frames: the input, ``[n, 3, height, width]``, 0 to 1, on the device.
            step: makes a context to put around each pass through the transformer.
        """
        generator = self._generator
        given = generator.latents_of(frames)
        x = torch.randn(
            self._size, generator=self._noise, device=generator.device, dtype=generator.dtype
        )
        x = 0.5 * given + 0.5 * x
        for number in range(generator.steps):
            noise = 1.0 - number / generator.steps
            with step():
                clean = self.denoise(x, given, noise)
                x = torch.lerp(x, clean, 1.0 / (generator.steps - number))
        with step():  # once more without noise, for what later blocks look back at
            self.denoise(x, given, 0.0)
            self._past.commit()
        self._at += len(x)
        return x

    def denoise(self, x: Tensor, given: Tensor, noise: float) -> Tensor:
        """One pass through the transformer."""
        clean: Tensor = self._generator.denoiser(x, given, noise, self._at, self._past)
        return clean

    def denoise_in_vain(self) -> None:
        """One pass more, whose result is thrown away."""
        generator = self._generator
        x = torch.zeros(self._size, device=generator.device, dtype=generator.dtype)
        self.denoise(x, x, 1.0)

    def decode(self, latents: Tensor) -> Tensor:
        """Frames of the block, ``[n, 3, height, width]``; of the very first latent only one."""
        first = self._last is None
        before = latents[:1] if self._last is None else self._last
        self._last = latents[-1:].clone()
        frames: Tensor = self._generator.decoder(latents, before)
        return frames[self._generator.shape.per_latent - 1 :] if first else frames


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
