"""A torch with one GPU that works by the clock of the test: streams, events, graph capture.

What it keeps of the real one: work is queued and returns at once; an event happens when the work
before it on its stream is done; asking for the time between events that have not happened raises;
asking anything while a graph is captured is an error; an event stays on its first device.
"""

from __future__ import annotations

import types
from typing import Any


class Gpu:
    """``now_ms`` is the host's clock; ``busy_until[stream]`` is where a stream's work ends."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.busy_until: dict[str, float] = {}
        self.stream = "default"
        self.device = 0
        self.initialized = True
        self.capturing = False
        self.records = 0
        self.events_made = 0
        self.stats_calls = 0
        self.stats: dict[str, Any] = memory_stats()
        self.others: dict[int, dict[str, Any]] = {}
        self.fraction = 1.0
        self.backend = "native"
        self.segments: list[dict[str, Any]] = []
        self.snapshot_arguments: list[Any] = []

    def launch(self, ms: float) -> None:
        """Queue work on the current stream."""
        start = max(self.now_ms, self.busy_until.get(self.stream, 0.0))
        self.busy_until[self.stream] = start + ms

    def sleep(self, ms: float) -> None:
        """The host does something else, or waits."""
        self.now_ms += ms

    def synchronize(self) -> None:
        self.now_ms = max([self.now_ms, *self.busy_until.values()])

    def module(self) -> types.ModuleType:
        """What stands in ``sys.modules["torch"]``."""
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool = False) -> None:
                assert enable_timing
                gpu.events_made += 1
                self.at_ms: float | None = None
                self.device: int | None = None

            def record(self) -> None:
                assert not gpu.capturing, "recorded into a graph"
                assert self.device in (None, gpu.device), "an event stays on its first device"
                self.device = gpu.device
                gpu.records += 1
                self.at_ms = max(gpu.now_ms, gpu.busy_until.get(gpu.stream, 0.0))

            def query(self) -> bool:
                assert not gpu.capturing, "a query breaks the capture"
                assert self.at_ms is not None
                return gpu.now_ms >= self.at_ms

            def elapsed_time(self, end: Event) -> float:
                assert not gpu.capturing
                if not (self.query() and end.query()):
                    raise RuntimeError("device not ready")
                assert self.device == end.device
                assert self.at_ms is not None
                assert end.at_ms is not None
                return end.at_ms - self.at_ms

            def synchronize(self) -> None:
                raise AssertionError("the probe waits for the GPU")

        def read_stats(device: int) -> dict[str, Any]:
            if device in gpu.others:
                return gpu.others[device]
            assert device == gpu.device
            gpu.stats_calls += 1
            return gpu.stats

        def snapshot(arguments: Any) -> dict[str, Any]:
            gpu.snapshot_arguments.append(arguments)
            if arguments is not None and len(arguments) != 2:
                raise RuntimeError("mempool_id must be a pair")  # as torch up to 2.12 does
            return {"segments": gpu.segments, "allocator_settings": {"expandable_segments": False}}

        torch = types.ModuleType("torch")
        torch.__version__ = "2.11.0+cu130"  # type: ignore[attr-defined]
        torch._C = types.SimpleNamespace(  # type: ignore[attr-defined]
            _cuda_memoryStats=read_stats,
            _cuda_getDevice=lambda: gpu.device,
            _cuda_getDeviceCount=lambda: 1 + len(gpu.others),
            _cuda_getAllocatorBackend=lambda: gpu.backend,
            _cuda_getMemoryFraction=lambda device: gpu.fraction,
            _cuda_memorySnapshot=snapshot,
        )
        torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
            Event=Event,
            get_device_properties=lambda device: types.SimpleNamespace(total_memory=80 << 30),
            is_initialized=lambda: gpu.initialized,
            is_current_stream_capturing=lambda: gpu.capturing,
        )
        return torch


def memory_stats() -> dict[str, Any]:
    """The shape of ``torch._C._cuda_memoryStats``, with different numbers everywhere."""

    def pools(current: int, peak: int) -> dict[str, dict[str, int]]:
        return {
            "all": {"current": current, "peak": peak, "allocated": 9, "freed": 8},
            "small_pool": {"current": 1, "peak": 1, "allocated": 1, "freed": 1},
            "large_pool": {"current": 2, "peak": 2, "allocated": 2, "freed": 2},
        }

    return {
        "allocated_bytes": pools(30 << 30, 41 << 30),
        "reserved_bytes": pools(45 << 30, 46 << 30),
        "inactive_split_bytes": pools(3 << 20, 4 << 20),
        "segment": pools(77, 99),
        "num_alloc_retries": 3,
        "num_ooms": 1,
        "num_device_alloc": 120,
        "num_device_free": 43,
    }
