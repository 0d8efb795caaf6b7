"""The networks: a causal transformer that denoises latents, and a convolutional decoder.

The weights are random. What is real is the work: the same layers, caches and copies as in a
trained generator, in small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

STRIDE = 8
"""Pixels of a latent cell, each way."""

CHANNELS = 16
"""Channels of a latent; the first three hold the picture, shrunk."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the networks for one stream.

    Args:
        width: of a frame, pixels.
        height: of a frame, pixels.
        latents: latents of a block.
        per_latent: frames that the decoder makes of a latent.
        dim: width of the transformer.
        layers: of the transformer.
        window: latents before the block that attention reaches back to; a multiple of
            ``latents``.
        features: channels inside the decoder.
    """

    width: int
    height: int
    latents: int
    per_latent: int
    dim: int
    layers: int
    window: int
    features: int

    @property
    def patch(self) -> int:
        """Latent cells of a token, each way: fine where a latent stands for more frames."""
        return 2 if self.per_latent > 1 else 4

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of a latent."""
        return self.height // STRIDE, self.width // STRIDE

    @property
    def tokens(self) -> int:
        """Tokens of one latent."""
        rows, columns = self.grid
        return (rows // self.patch) * (columns // self.patch)

    @property
    def heads(self) -> int:
        """Attention heads, of 32 channels each."""
        return self.dim // 32


class KeyValueWindow:
    """Keys and values of the latents of the recent past, in memory that is allocated once.

    Per layer: room for the block at hand, then a ring of ``window`` latents. Until the ring is
    full attention reaches less far, so the first blocks are somewhat cheaper.
    """

    def __init__(self, shape: Shape, device: torch.device, dtype: torch.dtype) -> None:
        self._block = shape.latents * shape.tokens
        self._ring = shape.window * shape.tokens
        size = (shape.layers, 1, shape.heads, self._block + self._ring, 32)
        self._keys = torch.zeros(size, device=device, dtype=dtype)
        self._values = torch.zeros(size, device=device, dtype=dtype)
        self._filled = 0
        self._next = 0

    def put(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Set the block's own keys and values, ``[1, heads, tokens, 32]``.

        Returns:
            All keys and values that the block may look at, its own among them.
        """
        end = self._block + self._filled
        self._keys[layer][:, :, : self._block] = keys
        self._values[layer][:, :, : self._block] = values
        return self._keys[layer][:, :, :end], self._values[layer][:, :, :end]

    def commit(self) -> None:
        """The block is finished: it becomes the newest part of the past."""
        begin = self._block + self._next
        for kept in (self._keys, self._values):
            kept[:, :, :, begin : begin + self._block] = kept[:, :, :, : self._block]
        self._next = (self._next + self._block) % self._ring
        self._filled = min(self._filled + self._block, self._ring)


class Layer(nn.Module):
    """Attention over the block and its past, then a feed-forward network."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(dim)
        self.norm_forward = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, 3 * dim)
        self.to_out = nn.Linear(dim, dim)
        self.widen = nn.Linear(dim, 4 * dim)
        self.narrow = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor, layer: int, past: KeyValueWindow) -> Tensor:
        """``x``: tokens of the block, ``[1, tokens, dim]``; the same comes out."""
        tokens = x.shape[1]
        qkv = self.to_qkv(self.norm_attention(x)).view(1, tokens, 3, self.heads, 32)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        keys, values = past.put(layer, key, value)
        seen = functional.scaled_dot_product_attention(query, keys, values)
        x = x + self.to_out(seen.transpose(1, 2).reshape(1, tokens, -1))
        change: Tensor = self.narrow(functional.gelu(self.widen(self.norm_forward(x))))
        return x + change


class Denoiser(nn.Module):
    """Predicts clean latents from noisy ones, given the input's latents and the past."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.to_tokens = nn.Conv2d(2 * CHANNELS, shape.dim, shape.patch, stride=shape.patch)
        self.layers = nn.ModuleList(Layer(shape.dim, shape.heads) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.dim)
        self.to_latents = nn.ConvTranspose2d(shape.dim, CHANNELS, shape.patch, stride=shape.patch)
        self.register_buffer("places", _waves(shape.tokens, shape.dim))

    def forward(
        self, x: Tensor, given: Tensor, noise: float, at: int, past: KeyValueWindow
    ) -> Tensor:
        """One sampling step.

        Args:
            x: noisy latents of the block, ``[latents, CHANNELS, rows, columns]``.
            given: latents of the input, of the same shape.
            noise: how noisy ``x`` is, from 1 to 0.
            at: number of the block's first latent in the stream.
            past: keys and values; the block's own are left in it.
        """
        shape = self.shape
        grid = self.to_tokens(torch.cat((x, given), dim=1))
        tokens = grid.flatten(2).transpose(1, 2) + self.places
        tokens = tokens.reshape(1, -1, shape.dim)
        numbers = torch.arange(at, at + shape.latents).repeat_interleave(shape.tokens)
        when = _waves_at(numbers * 10.0 + noise * 1000.0, shape.dim)
        tokens = tokens + when.to(tokens)
        for number, layer in enumerate(self.layers):
            tokens = layer(tokens, number, past)
        tokens = self.norm(tokens).view(shape.latents, shape.tokens, shape.dim)
        change = self.to_latents(tokens.transpose(1, 2).reshape(grid.shape))
        clean: Tensor = given + 0.25 * change
        return clean


class Decoder(nn.Module):
    """Frames from latents, causally: of each latent it sees the one before, too."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        wide = shape.features
        self.enter = nn.Conv2d(2 * CHANNELS, 2 * wide, 3, padding=1)
        self.narrow = nn.Conv2d(2 * wide, wide, 3, padding=1)
        self.refine = nn.Conv2d(wide, wide, 3, padding=1)
        self.leave = nn.Conv2d(wide, 12 * shape.per_latent, 3, padding=1)

    def forward(self, latents: Tensor, before: Tensor) -> Tensor:
        """Decode a block.

        Args:
            latents: ``[latents, CHANNELS, rows, columns]``.
            before: the latent before the first of them, ``[1, CHANNELS, rows, columns]``.

        Returns:
            ``[latents · per_latent, 3, height, width]``, about 0 to 1.
        """
        shape = self.shape
        earlier = torch.cat((before, latents[:-1]))
        x = functional.silu(self.enter(torch.cat((latents, earlier), dim=1)))
        x = functional.silu(self.narrow(functional.interpolate(x, scale_factor=2)))
        x = functional.silu(self.refine(functional.interpolate(x, scale_factor=2)))
        detail = functional.pixel_shuffle(self.leave(x), 2)
        detail = detail.view(-1, 3, shape.height, shape.width)
        steps = torch.arange(1, shape.per_latent + 1, device=x.device, dtype=x.dtype)
        share = (steps / shape.per_latent).view(1, -1, 1, 1, 1)
        small = torch.lerp(earlier[:, None, :3], latents[:, None, :3], share).flatten(0, 1)
        picture = functional.interpolate(
            small, size=(shape.height, shape.width), mode="bilinear", align_corners=False
        )
        frames: Tensor = picture + 0.1 * torch.tanh(detail)
        return frames


def _waves(count: int, dim: int) -> Tensor:
    return _waves_at(torch.arange(count, dtype=torch.float32), dim)


def _waves_at(positions: Tensor, dim: int) -> Tensor:
    """Sine and cosine encoding of positions, ``[positions, dim]`` (Vaswani et al. 2017, §3.5)."""
    rates = torch.exp(torch.arange(0, dim, 2) * (-math.log(10_000.0) / dim))
    angles = positions[:, None] * rates
    return torch.cat((angles.sin(), angles.cos()), dim=1)
