"""A torch that pretends to have a GPU, so that the memory programs can be tried without one.

Its caching allocator counts as torch's does (current, peak, segments, retries, a cap) and holds
no memory; matrix work runs on the CPU. ``python -m benchmarks.gpu.pretend PART --truth FILE``
runs a program of ``benchmarks.gpu.memory_workloads`` on it.
"""

# ruff: noqa: D102, SLF001 (it mimics what torch calls its own)

from __future__ import annotations

import sys
import types
from typing import Any

import torch

MIB = 1 << 20
TOTAL = 80 << 30


def told(size: int) -> str:
    """A size as torch's messages tell it."""
    return f"{size / MIB:.2f} MiB" if size < 1 << 30 else f"{size / (1 << 30):.2f} GiB"


class Segment:
    """A piece from the driver with one block at its beginning."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.used = 0


class Held:
    """Stands for a tensor; what it holds is free when it goes."""

    def __init__(self, allocator: Allocator, segment: Segment, size: int) -> None:
        self._allocator, self._segment, self.size = allocator, segment, size

    def __del__(self) -> None:
        self._segment.used = 0
        self._allocator.allocated -= self.size


class Allocator:
    """One segment for each block of 10 MiB and more, 20 MiB for smaller ones; best fit."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.allocated = self.peak = self.reserved_peak = 0
        self.retries = self.ooms = self.asked = self.freed = 0
        self.fraction = 1.0

    @property
    def reserved(self) -> int:
        return sum(segment.total for segment in self.segments)

    def take(self, size: int) -> Held:
        size = -(-size // 512) * 512
        fits = [s for s in self.segments if not s.used and s.total >= size]
        segment = min(fits, key=lambda s: s.total, default=None)
        if segment is None:
            total = 20 * MIB if MIB < size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
            if self.reserved + total > TOTAL * self.fraction:
                self.retries += 1
                self.empty()
                if self.reserved + total > TOTAL * self.fraction:
                    self.ooms += 1
                    raise torch.OutOfMemoryError(self._message(size))
            segment = Segment(total)
            self.segments.append(segment)
            self.asked += 1
            self.reserved_peak = max(self.reserved_peak, self.reserved)
        segment.used = size
        self.allocated += size
        self.peak = max(self.peak, self.allocated)
        return Held(self, segment, size)

    def _message(self, size: int) -> str:
        return (
            f"CUDA out of memory. Tried to allocate {told(size)}. GPU 0 has a total capacity of "
            f"{told(TOTAL)} of which {told(TOTAL - self.reserved)} is free. Of the allocated "
            f"memory {told(self.allocated)} is allocated by PyTorch, and "
            f"{told(self.reserved - self.allocated)} is reserved by PyTorch but unallocated."
        )

    def empty(self) -> None:
        free = [segment for segment in self.segments if not segment.used]
        self.freed += len(free)
        self.segments = [segment for segment in self.segments if segment.used]

    def stats(self, _device: int = 0) -> dict[str, Any]:
        def all_of(current: int, peak: int) -> dict[str, Any]:
            return {"all": {"current": current, "peak": peak}}

        return {
            "allocated_bytes": all_of(self.allocated, self.peak),
            "reserved_bytes": all_of(self.reserved, self.reserved_peak),
            "inactive_split_bytes": all_of(0, 0),
            "segment": all_of(len(self.segments), 0),
            "num_alloc_retries": self.retries,
            "num_ooms": self.ooms,
            "num_device_alloc": self.asked,
            "num_device_free": self.freed,
        }

    def snapshot(self, _arguments: object) -> dict[str, Any]:
        return {
            "segments": [
                {
                    "device": 0, "address": 0, "total_size": s.total, "allocated_size": s.used,
                    "active_size": s.used, "stream": 0, "segment_type": "large",
                    "segment_pool_id": (0, 0), "is_expandable": False,
                    "blocks": [
                        {"size": s.used, "requested_size": s.used, "state": "active_allocated"},
                    ] * bool(s.used)
                    + [{"size": s.total - s.used, "requested_size": 0, "state": "inactive"}]
                    * (s.total > s.used),
                }
                for s in self.segments
            ]
        }  # fmt: skip


class Event:
    """A CUDA event that has happened at once."""

    def __init__(self, enable_timing: bool = False) -> None:
        self.enable_timing = enable_timing

    def record(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, _end: Event) -> float:
        return 1.0


def install() -> None:
    """Put the pretended GPU in place of torch's functions."""
    allocator = Allocator()
    real_empty, real_randn = torch.empty, torch.randn

    def empty(*size: Any, device: Any = None, **options: Any) -> Any:
        if device == "cuda":
            return allocator.take(int(size[0]))
        return real_empty(*size, **options)

    def randn(*size: Any, device: Any = None) -> Any:
        return real_randn(64, 64) if device == "cuda" else real_randn(*size)

    torch.empty, torch.randn = empty, randn  # type: ignore[assignment]
    core: Any = torch._C
    core._cuda_memoryStats = allocator.stats
    core._cuda_getDevice = lambda: 0
    core._cuda_getDeviceCount = lambda: 1
    core._cuda_getAllocatorBackend = lambda: "native"
    core._cuda_getMemoryFraction = lambda _device: allocator.fraction
    core._cuda_memorySnapshot = allocator.snapshot
    cuda: Any = torch.cuda
    cuda.init = lambda: None
    cuda.Event = Event
    cuda.is_initialized = lambda: True
    cuda.is_current_stream_capturing = lambda: False
    cuda.current_stream = lambda *_: types.SimpleNamespace(query=lambda: True)
    cuda.synchronize = lambda *_: None
    cuda.empty_cache = allocator.empty
    cuda.memory_allocated = lambda: allocator.allocated
    cuda.memory_reserved = lambda: allocator.reserved
    cuda.max_memory_allocated = lambda: allocator.peak
    cuda.max_memory_reserved = lambda: allocator.reserved_peak
    cuda.memory_stats = allocator.stats
    cuda.mem_get_info = lambda: (TOTAL - allocator.reserved, TOTAL)
    cuda.get_device_properties = lambda _device: types.SimpleNamespace(total_memory=TOTAL)
    cuda.set_per_process_memory_fraction = lambda share: setattr(allocator, "fraction", share)


if __name__ == "__main__":
    install()
    from benchmarks.gpu.memory_workloads import main

    sys.exit(main())
