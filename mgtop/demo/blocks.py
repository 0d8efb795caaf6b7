"""How many frames each emit carries."""

from __future__ import annotations

from dataclasses import dataclass

MOST_FRAMES_PER_LATENT = 4


@dataclass(frozen=True)
class Blocks:
    """The rhythm of one stream: a first block, then blocks of ``size`` frames.

    A causal video decoder makes one frame of its very first latent and ``per_latent`` of every
    other, so that L latents give 1 + per_latent · (L − 1) frames at first, then per_latent · L.
    ``per_latent`` is the largest number up to 4 that divides ``size``.
    """

    size: int

    @property
    def per_latent(self) -> int:
        """Frames that the decoder makes of one latent."""
        return next(n for n in range(MOST_FRAMES_PER_LATENT, 0, -1) if self.size % n == 0)

    @property
    def latents(self) -> int:
        """Latents of each block."""
        return self.size // self.per_latent

    @property
    def first(self) -> int:
        """Frames of the first block."""
        return self.size - self.per_latent + 1

    def frames_of(self, emit: int) -> int:
        """Frames that emit number ``emit`` (from 0) carries."""
        return self.first if emit == 0 else self.size

    def first_frame_of(self, emit: int) -> int:
        """Index of the first frame of emit number ``emit``."""
        return 0 if emit == 0 else self.first + (emit - 1) * self.size

    def emits_for(self, frames: int) -> int:
        """Emits that it takes to give at least ``frames`` frames."""
        rest = max(0, frames - self.first)
        return 1 + -(-rest // self.size)
