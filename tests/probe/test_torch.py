"""What the probe reads from torch, with a fake one that has a GPU."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections.abc import Iterator
from typing import Any

import pytest
from fake_torch import Gpu, memory_stats

from mgtop import probe
from mgtop.probe import gpu_work, outlet, torch_memory, torch_watch
from mgtop.wire.records import (
    FrameEmit,
    GpuWork,
    Hello,
    Span,
    TorchAllocator,
    TorchMemory,
)


@pytest.fixture
def gpu(probed: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    """A fake GPU; recording and reading cost nothing unless the test says so."""
    made = Gpu()
    monkeypatch.setitem(sys.modules, "torch", made.module())
    monkeypatch.setattr(torch_watch, "_torch", None)
    monkeypatch.setattr(torch_watch, "seen", 0)
    monkeypatch.setattr(torch_memory, "_not_before_ns", 0)
    monkeypatch.setattr(torch_memory, "_usual_ns", 0.0)
    torch_memory.forget()
    monkeypatch.setattr(torch_memory, "COST_SHARE", 1e9)
    monkeypatch.setattr(gpu_work, "COST_SHARE", 1e9)
    yield made
    made.capturing = False


def frame(r: probe.Request, gpu: Gpu, steps: int = 2, work_ms: float = 10, pause_ms: float = 0):
    """One frame as most models make it: launch the steps, wait for the result, emit."""
    gpu.sleep(pause_ms)
    for _ in range(steps):
        with r.span("forward"):
            gpu.launch(work_ms)
    with r.span("vae_decode"):
        gpu.launch(work_ms)
    gpu.synchronize()
    r.frame(count=4)


class TestMemory:
    def test_counters_are_read_at_emits(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        r.frame()
        early, emitted, memory = probed.read(TorchMemory, FrameEmit)
        assert (early.request, early.emit, early.reserved_bytes) == (0, 0, 45 << 30)
        assert (memory.request, memory.emit, memory.t_ns) == (r.number, 0, emitted.t_ns)
        assert memory.device == 0
        assert memory.allocated_bytes == 30 << 30
        assert memory.reserved_bytes == 45 << 30
        assert memory.peak_bytes == 41 << 30
        assert memory.inactive_bytes == 3 << 20
        assert (memory.retries, memory.ooms) == (3, 1)
        assert (memory.driver_allocs, memory.driver_frees) == (120, 43)
        assert memory.segments == 77
        assert memory.reserved_peak_bytes == 46 << 30
        r.end()

    def test_a_reading_is_thinned_by_what_it_costs(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch_memory, "COST_SHARE", 0.003)
        r = probe.request()
        probed.read()
        torch_memory.forget()
        clock = [10**12]
        monkeypatch.setattr(
            torch_memory, "monotonic_ns", lambda: clock.append(clock[-1] + 18_000) or clock[-1]
        )
        for n in range(100):
            torch_memory.read(outlet.current, torch_watch.modules["torch"], 0, 1, n, n * 1_000_000)
        # 18 µs may be spent every 6 ms.
        assert [m.emit for m in probed.read(TorchMemory)] == list(range(0, 100, 6))
        r.end()

    def test_a_span_that_took_long_is_followed_by_a_reading(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch_watch, "_usual_span_ns", {})
        monkeypatch.setattr(torch_watch, "_span_not_before_ns", 0)
        r = probe.request()
        for seconds in (0.001, 0.001, 0.02):
            with r.span("forward"):
                time.sleep(seconds)
            with r.span("vae_decode"):
                pass
            r.frame()
        read = probed.read(TorchMemory, FrameEmit, Span)
        late = [i for i, event in enumerate(read) if isinstance(event, Span)][4]
        after = read[late + 1]
        assert isinstance(after, TorchMemory)
        assert (after.request, after.emit, after.t_ns) == (r.number, 2, read[late].t_ns)
        assert sum(isinstance(event, TorchMemory) for event in read) == 1 + 3 + 1
        assert isinstance(read[-1], TorchMemory)
        r.end()

    def test_readings_after_spans_have_a_share_of_their_own(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(torch_memory, "COST_SHARE", 1e-9)
        monkeypatch.setattr(torch_watch, "_usual_span_ns", {})
        monkeypatch.setattr(torch_watch, "_span_not_before_ns", 0)
        r = probe.request()
        probed.read(TorchMemory)
        for seconds in (0.001, 0.02, 0.04):
            with r.span("forward"):
                time.sleep(seconds)
        assert len(probed.read(TorchMemory)) == 1
        r.end()

    def test_loading_done_is_read_whether_due_or_not(self, probed: Any, gpu: Gpu) -> None:
        probe.load_begin()
        assert gpu.stats_calls == 0
        probe.load_done()
        (memory,) = probed.read(TorchMemory)
        assert (memory.request, memory.emit) == (0, 0)

    def test_what_the_allocator_is(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYTORCH_ALLOC_CONF", "expandable_segments:True")
        gpu.fraction = 0.5
        r = probe.request()
        r.frame()
        (told,) = probed.read(TorchAllocator)
        assert (told.device, told.backend, told.expandable) == (0, "native", True)
        assert told.settings == "expandable_segments:True"
        assert (told.total_bytes, told.limit_bytes) == (80 << 30, 40 << 30)
        r.end()

    def test_a_torch_that_cannot_tell_what_it_is(self, probed: Any, gpu: Gpu) -> None:
        core = sys.modules["torch"]._C
        del core._cuda_getAllocatorBackend, core._cuda_getMemoryFraction
        r = probe.request()
        r.frame()
        (told,) = probed.read(TorchAllocator)
        assert (told.backend, told.limit_bytes, told.settings) == (None, None, "")
        r.end()

    def test_other_devices_with_memory_are_read_in_turn(self, probed: Any, gpu: Gpu) -> None:
        gpu.others = {1: memory_stats(), 2: memory_stats(), 3: memory_stats()}
        gpu.others[3]["reserved_bytes"]["all"]["peak"] = 0
        r = probe.request()
        for _ in range(8):
            r.frame()
        read = [m.device for m in probed.read(TorchMemory)]
        assert set(read) == {0, 1, 2}
        assert read.count(0) == 9
        assert abs(read.count(1) - read.count(2)) <= 1
        r.end()

    def test_nothing_is_read_before_cuda_is_in_use(self, probed: Any, gpu: Gpu) -> None:
        gpu.initialized = False
        r = probe.request()
        frame(r, gpu)
        assert gpu.stats_calls == gpu.records == 0
        gpu.initialized = True
        r.frame()
        assert gpu.stats_calls == 1
        r.end()

    def test_nothing_is_read_while_a_graph_is_captured(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        frame(r, gpu)
        calls, records = gpu.stats_calls, gpu.records
        gpu.capturing = True
        with r.span("forward"):
            pass
        r.frame()
        assert (gpu.stats_calls, gpu.records) == (calls, records)
        gpu.capturing = False
        r.end()

    def test_a_torch_whose_counters_changed_is_left_alone(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(outlet, "raises", False)
        monkeypatch.setattr(torch_watch, "_errors", 0)
        del gpu.stats["segment"]
        r = probe.request()
        for _ in range(6):
            r.frame()
        assert gpu.stats_calls == 3
        assert len(probed.read(FrameEmit)) == 6
        r.end()

    def test_a_torch_without_cuda(self, probed: Any, gpu: Gpu) -> None:
        torch = gpu.module()
        del torch._C._cuda_memoryStats
        sys.modules["torch"] = torch
        r = probe.request()
        frame(r, gpu)
        assert gpu.stats_calls == gpu.records == 0
        assert probed.read(Hello)[0].torch == "2.11.0+cu130"
        r.end()

    def test_a_torch_that_is_still_being_imported(self, probed: Any, gpu: Gpu) -> None:
        sys.modules["torch"] = types.ModuleType("torch")
        r = probe.request()
        r.frame()
        sys.modules["torch"] = gpu.module()
        sys.modules["torch.late"] = types.ModuleType("torch.late")
        r.frame()
        del sys.modules["torch.late"]
        assert gpu.stats_calls == 1
        r.end()


class TestGpuWork:
    def test_busy_and_idle_of_each_emit(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        frame(r, gpu)
        frame(r, gpu, pause_ms=25)
        frame(r, gpu, work_ms=7)
        r.end()
        works = probed.read(GpuWork)
        assert [(w.request, w.emit) for w in works] == [(r.number, n) for n in range(3)]
        assert [(w.busy_ns, w.gap_ns, w.pairs) for w in works] == [
            (30_000_000, 0, 3),
            (30_000_000, 25_000_000, 3),
            (21_000_000, 0, 3),
        ]
        emits = {f.emit: f.t_ns for f in probed.pipe.events if isinstance(f, FrameEmit)}
        assert all(w.t_ns == emits[w.emit] for w in works)

    def test_idle_between_the_steps(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        for pause in (0, 6):
            with r.span("forward"):
                gpu.launch(10)
            gpu.synchronize()
            gpu.sleep(pause)
            with r.span("vae_decode"):
                gpu.launch(10)
            gpu.synchronize()
            r.frame()
        r.end()
        assert [w.gap_ns for w in probed.read(GpuWork)] == [0, 6_000_000]

    def test_a_stall_that_launches_ran_ahead_of_is_no_idle_time(
        self, probed: Any, gpu: Gpu
    ) -> None:
        r = probe.request()
        with r.span("forward"):
            gpu.launch(50)
        gpu.sleep(30)
        with r.span("vae_decode"):
            gpu.launch(10)
        gpu.synchronize()
        r.frame()
        r.end()
        (work,) = probed.read(GpuWork)
        assert (work.busy_ns, work.gap_ns) == (60_000_000, 0)

    def test_pairs_are_read_later_and_only_when_they_are_over(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        for _ in range(3):
            with r.span("forward"):
                gpu.launch(40)
            r.frame()
        assert probed.read(GpuWork) == []
        gpu.sleep(85)
        with r.span("forward"):
            gpu.launch(40)
        assert [w.emit for w in probed.read(GpuWork)] == [0, 1]
        r.frame()
        gpu.synchronize()
        r.end()
        assert [w.emit for w in probed.read(GpuWork)] == [2, 3]

    def test_spans_within_a_span_are_one_pair(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        with r.span("forward"), r.span("vae_decode"):
            gpu.launch(10)
        gpu.synchronize()
        r.frame()
        r.end()
        (work,) = probed.read(GpuWork)
        assert (work.pairs, work.busy_ns) == (1, 10_000_000)

    def test_other_spans_on_request(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        with r.span("decode"):
            gpu.launch(1)
        with r.span("forward", gpu=False):
            gpu.launch(1)
        assert gpu.records == 0
        with r.span("denoise", gpu=True), probe.span("forward"):
            gpu.launch(10)
        assert gpu.records == 2
        r.end()

    def test_streams_that_overlap_are_counted_once(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        with r.span("forward"):
            gpu.launch(20)
        gpu.stream = "decoder"
        gpu.sleep(5)
        with r.span("vae_decode"):
            gpu.launch(20)
        gpu.synchronize()
        r.frame()
        r.end()
        (work,) = probed.read(GpuWork)
        assert (work.busy_ns, work.gap_ns, work.pairs) == (25_000_000, 0, 2)

    def test_many_steps_lengthen_the_last_pair(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        frame(r, gpu, steps=50, work_ms=2)
        r.end()
        (work,) = probed.read(GpuWork)
        assert work.pairs == gpu_work.MOST_PAIRS
        assert (work.busy_ns, work.gap_ns) == (102_000_000, 0)
        assert gpu.records == 2 * gpu_work.MOST_PAIRS + (51 - gpu_work.MOST_PAIRS)

    def test_events_are_pooled(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        for _ in range(50):
            frame(r, gpu)
        r.end()
        assert len(probed.read(GpuWork)) == 50
        assert gpu.events_made <= 20

    def test_requests_at_once_are_not_told(self, probed: Any, gpu: Gpu) -> None:
        """What looks idle in one may be the other's work."""
        a, b = probe.request("a"), probe.request("b")
        frame(a, gpu)
        frame(b, gpu)
        for r in (a, b, a):
            with r.span("forward"):
                gpu.launch(10)
        gpu.synchronize()
        a.frame()
        b.frame()
        frame(b, gpu)
        frame(b, gpu)
        a.end()
        b.end()
        told = [(w.request, w.emit) for w in probed.read(GpuWork)]
        assert told == [(a.number, 0), (b.number, 0), (b.number, 3)]

    def test_the_thread_that_recorded_reads(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        threads: list[threading.Thread] = []
        for _ in range(2):
            with r.span("forward"):
                gpu.launch(10)
            gpu.synchronize()
            thread = threading.Thread(target=r.frame)
            thread.start()
            thread.join()
            threads.append(thread)
        assert [w.emit for w in probed.read(GpuWork)] == [0]
        r.end()
        works = [w for w in [*probed.pipe.events, *probed.read(GpuWork)] if isinstance(w, GpuWork)]
        assert [w.emit for w in works] == [0, 1]
        assert {w.tid for w in works} == {threading.get_native_id()}

    def test_another_device_is_not_told(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        frame(r, gpu)
        gpu.device = 1
        frame(r, gpu)
        frame(r, gpu)
        r.end()
        assert [w.emit for w in probed.read(GpuWork)] == [0, 2]

    def test_a_capture_within_the_spans(self, probed: Any, gpu: Gpu) -> None:
        r = probe.request()
        frame(r, gpu)
        with r.span("forward"):
            gpu.capturing = True
            with r.span("vae_decode"):
                pass
            r.frame()
            gpu.capturing = False
        frame(r, gpu)
        frame(r, gpu)
        r.end()
        assert [w.emit for w in probed.read(GpuWork)] == [0, 2, 3]

    def test_costly_recording_leaves_frames_out(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gpu_work, "COST_SHARE", 0.01)
        r = probe.request()
        host = [10**12]
        monkeypatch.setattr(
            gpu_work, "monotonic_ns", lambda: host.append(host[-1] + 50_000) or host[-1]
        )
        out = outlet.current
        assert out is not None
        for n in range(20):
            with r.span("forward"):
                gpu.launch(4)
            gpu.synchronize()
            # 100 µs a frame (two calls of 50) may be spent every 10 ms; frames come every 4.
            gpu_work.at_emit(out, r, n, (n + 1) * 4_000_000)
        r.end()
        told = [w.emit for w in probed.read(GpuWork)]
        assert told == [0, 3, 6, 9, 12, 15, 18]
        assert all(w.gap_ns == 0 for w in probed.pipe.events if isinstance(w, GpuWork))

    def test_idle_time_before_a_frame_counts_after_frames_left_out_too(
        self, probed: Any, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(gpu_work, "COST_SHARE", 0.01)
        r = probe.request()
        host = [10**12]
        monkeypatch.setattr(
            gpu_work, "monotonic_ns", lambda: host.append(host[-1] + 50_000) or host[-1]
        )
        out = outlet.current
        assert out is not None
        for n in range(9):
            gpu.sleep(7)
            with r.span("forward"):
                gpu.launch(4)
            gpu.synchronize()
            gpu_work.at_emit(out, r, n, (n + 1) * 4_000_000)
        r.end()
        works = probed.read(GpuWork)
        assert [(w.emit, w.busy_ns, w.gap_ns) for w in works] == [
            (0, 4_000_000, 0),  # what was before the first is not known
            (3, 4_000_000, 7_000_000),
            (6, 4_000_000, 7_000_000),
        ]

    def test_without_a_request_nothing_is_recorded(self, probed: Any, gpu: Gpu) -> None:
        with probe.span("forward"):
            gpu.launch(1)
        assert gpu.records == 0
