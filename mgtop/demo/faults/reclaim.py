"""GPU memory near its limit: the allocator has to give a fragmented cache back to the driver."""

from __future__ import annotations

import os
import time
from typing import ClassVar

import torch

from mgtop.demo.errors import DemoError
from mgtop.demo.faults.fault import Fault, Place, Scene
from mgtop.demo.generator import Generator

SEGMENT = 20 << 20
"""Bytes of a segment: each is an allocation of its own at the driver, and is freed alone."""

LEAST_SEGMENTS = 400
MOST_SEGMENTS = 4000

USUAL_MS = 120.0
"""What is aimed at while loading, where no ``ms`` was ordered."""


class Reclaim(Fault):
    """Fills the cache with small segments, then asks for more than fits under the limit.

    The allocator finds no room, frees every cached segment one by one, and asks again
    (``num_alloc_retries``). The number of segments decides how long that takes.
    """

    place: ClassVar[Place] = "vae_decode"

    def prepare(self, generator: Generator) -> None:
        """See that there is enough memory, and measure what a reclaim takes."""
        if "expandable_segments:true" in _allocator_settings():
            raise DemoError(
                "--fault vram: with expandable_segments:True there is no fragmented cache to give "
                "back; unset PYTORCH_CUDA_ALLOC_CONF and PYTORCH_ALLOC_CONF."
            )
        self._device = generator.device
        free, self._total = torch.cuda.mem_get_info(self._device)
        most = min(MOST_SEGMENTS, int(free * 0.8) // SEGMENT)
        if most < LEAST_SEGMENTS:
            raise DemoError(
                f"--fault vram: it needs {LEAST_SEGMENTS * SEGMENT >> 20} MiB of free GPU memory "
                f"and a quarter more; there are {free >> 20} MiB."
            )
        self._most = most
        torch.cuda.empty_cache()
        self._segments = LEAST_SEGMENTS
        for _ in range(3):  # the first is not typical, and a segment costs more among many
            self.strike(self.order.ms or USUAL_MS, None)

    def strike(self, ms: float, scene: Scene | None) -> None:
        """Fragment and reclaim, with as many segments as took ``ms`` by the last time's measure."""
        begin = time.perf_counter()
        self._reclaim(self._segments)
        took_ms = (time.perf_counter() - begin) * 1e3
        wanted = round(self._segments * ms / took_ms)
        self._segments = min(self._most, max(LEAST_SEGMENTS, wanted))

    def _reclaim(self, segments: int) -> None:
        device = self._device
        retries = torch.cuda.memory_stats(device)["num_alloc_retries"]
        limit = torch.cuda.memory_reserved(device) + (segments + 8) * SEGMENT
        torch.cuda.set_per_process_memory_fraction(min(1.0, limit / self._total), device)
        cached = [torch.empty(SEGMENT, dtype=torch.uint8, device=device) for _ in range(segments)]
        del cached
        large = torch.empty(segments * SEGMENT * 7 // 10, dtype=torch.uint8, device=device)
        del large
        if torch.cuda.memory_stats(device)["num_alloc_retries"] == retries:
            raise DemoError("--fault vram: this allocator gave nothing back (another backend?).")
        torch.cuda.empty_cache()  # else the next strike would be served from the large segment


def _allocator_settings() -> str:
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    return " ".join(os.environ.get(name, "") for name in names).lower().replace(" ", "")
