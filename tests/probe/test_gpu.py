"""The probe beside a real GPU: times on its own line, captured graphs, allocator counters."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import pytest

from mgtop import probe
from mgtop.probe import gpu_work, torch_memory
from mgtop.wire.records import FrameEmit, GpuWork, TorchMemory


@pytest.fixture(scope="module")
def torch() -> Any:
    """The real one, imported only when it is asked for."""
    found = pytest.importorskip("torch", reason="torch is not installed")
    if not found.cuda.is_available():
        pytest.skip("no CUDA device here")
    return found


@pytest.fixture
def work(torch: Any, probed: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """About 10 ms of GPU work, launched in a fraction of that."""
    monkeypatch.setattr(gpu_work, "COST_SHARE", 1e9)
    monkeypatch.setattr(torch_memory, "COST_SHARE", 1e9)
    a = torch.randn(4096, 4096, device="cuda")

    def launch(rounds: int = 10) -> None:
        for _ in range(rounds):
            torch.mm(a, a)

    launch()
    torch.cuda.synchronize()
    yield launch
    torch.cuda.synchronize()


def frame(
    torch: Any, r: probe.Request, work: Any, before_s: float = 0, between_s: float = 0
) -> float:
    """One frame with sleeps of the host; its wall time, ms."""
    began = time.perf_counter()
    time.sleep(before_s)
    for step in range(2):
        with r.span("forward"):
            work()
        if not step:
            time.sleep(between_s)
    with r.span("vae_decode"):
        work()
    torch.cuda.synchronize()
    r.frame()
    return (time.perf_counter() - began) * 1e3


def test_an_idle_gpu_is_seen_on_its_own_line(torch: Any, probed: Any, work: Any) -> None:
    r = probe.request()
    plain = [frame(torch, r, work) for _ in range(10)]
    for _ in range(10):
        frame(torch, r, work, before_s=0.02)
    for _ in range(10):
        frame(torch, r, work, between_s=0.1)
    r.end()
    works = {w.emit: w for w in probed.read(GpuWork)}
    assert sorted(works) == list(range(30))
    assert all(w.pairs == 3 for w in works.values())
    usual_ms = statistics.median(plain[3:])
    for emit in range(3, 10):
        assert works[emit].busy_ns / 1e6 == pytest.approx(usual_ms, rel=0.15, abs=1.0)
        assert works[emit].gap_ns / 1e6 < 1.5
    for emit in range(11, 20):
        assert 20 <= works[emit].gap_ns / 1e6 < 24
    lead_ms = works[5].busy_ns / 1e6 / 3
    for emit in range(21, 30):  # launches ran ahead: only what is left of the sleep is idle
        assert works[emit].gap_ns / 1e6 == pytest.approx(100 - lead_ms, rel=0.1, abs=2)


def test_a_graph_is_captured_and_replayed_beside_the_probe(
    torch: Any, probed: Any, work: Any
) -> None:
    r = probe.request()
    frame(torch, r, work)
    graph = torch.cuda.CUDAGraph()
    with r.span("forward"), torch.cuda.graph(graph), r.span("vae_decode"):
        work(3)
        r.frame()
    for _ in range(5):
        with r.span("forward"):
            graph.replay()
        torch.cuda.synchronize()
        r.frame()
    r.end()
    works = [w.emit for w in probed.read(GpuWork)]
    assert {0, 3, 4, 5, 6} <= set(works)
    assert sum(isinstance(event, FrameEmit) for event in probed.pipe.events) == 7


def test_the_allocators_counters_are_those_that_torch_tells(
    torch: Any, probed: Any, work: Any
) -> None:
    r = probe.request()
    kept = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    r.frame()
    stats = torch.cuda.memory_stats()
    (memory,) = probed.read(TorchMemory)
    assert memory.allocated_bytes == stats["allocated_bytes.all.current"] >= kept.numel()
    assert memory.reserved_bytes == stats["reserved_bytes.all.current"]
    assert memory.peak_bytes == stats["allocated_bytes.all.peak"]
    assert memory.retries == stats["num_alloc_retries"]
    assert memory.driver_allocs == stats["num_device_alloc"]
    assert memory.segments == stats["segment.all.current"]
    assert memory.inactive_bytes == stats["inactive_split_bytes.all.current"]
    r.end()


def test_the_probe_does_not_wait_for_the_gpu(torch: Any, probed: Any, work: Any) -> None:
    r = probe.request()
    frame(torch, r, work)
    began = time.perf_counter()
    with r.span("forward"):
        work(30)
    r.frame()
    launched = time.perf_counter() - began
    torch.cuda.synchronize()
    whole = time.perf_counter() - began
    assert launched < whole / 3
    r.end()
