"""What is kept of the records, how long, and which curves they become."""

from __future__ import annotations

import tracemalloc

import pytest
from tail_bench import MIB, MS, PROC, START, Bench

from mgtop.analysis.causes import attribute
from mgtop.analysis.channels import Channels
from mgtop.analysis.recent import Recent
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

S = 1_000 * MS


def fed(*records: r.AnyRecord) -> Channels:
    channels = Channels()
    for record in records:
        channels.feed(record)
    return channels


class TestRecent:
    def test_what_is_in_force_and_what_lies_between(self) -> None:
        recent: Recent[str] = Recent(10)
        for t, item in ((10, "a"), (30, "c"), (20, "b")):
            recent.add(t, item)
        assert list(recent) == ["a", "b", "c"]
        assert recent.between(10, 30) == ["b", "c"]
        assert recent.since(20) == ["b", "c"]
        assert [recent.at(t) for t in (5, 10, 25, 99)] == [None, "a", "b", "c"]
        assert [recent.after(t) for t in (5, 20, 31)] == ["a", "b", None]
        assert recent.last() == "c"

    def test_number_and_age_are_bounded(self) -> None:
        by_number: Recent[int] = Recent(100)
        by_age: Recent[int] = Recent(100_000, keep_ns=1_000)
        for i in range(10_000):
            by_number.add(i, i)
            by_age.add(i, i)
        assert 100 <= len(by_number) <= 126
        assert by_number.last() == 9_999
        assert 1_000 <= len(by_age) <= 1_000 + 64 + 256
        assert by_age.forgotten == 10_000 - len(by_age)


class TestWatermarks:
    def test_only_sources_that_live_hold_judgement_back(self) -> None:
        channels = fed(
            r.SourceState(START, "probe", "ok", "", 20 * MS, START - 5),
            r.SourceState(START, "nvml", "ok", "", 15 * MS, START - 9),
            r.SourceState(START, "host", "stale", "hangs", 100 * MS, None),
            r.SourceState(START, "nvml.ecc:0", "absent", "not on this card"),
        )
        assert channels.covered_ns() == {"probe": START - 5, "nvml": START - 9}
        channels.feed(r.SourceState(START + S, "nvml", "failed", "GPU is lost", 15 * MS))
        assert channels.covered_ns() == {"probe": START - 5}


class TestCurves:
    def test_memory_used_and_total_of_each_gpu(self) -> None:
        channels = fed(
            r.SourceState(START, "nvml", "ok", "", 15 * MS, START),
            r.GpuDevice(START, 0, "GPU-1", "Test", 24_000 * MIB, ordinals=[0]),
            r.GpuMemory(START, 0, 4_000 * MIB),
            r.GpuMemory(START + 900 * MS, 0, 5_000 * MIB),
        )
        series = channels.store.columns("vram:0", START, START + 2 * S, 4)
        assert (series.unit, series.limit, series.reason) == ("MiB", 24_000.0, None)
        # Unchanged values are repeated once a second only, so they hold that long.
        assert series.high == [4_000.0, 5_000.0, 5_000.0, 5_000.0]
        assert series.low == [4_000.0, 4_000.0, 5_000.0, 5_000.0]

    def test_memory_of_the_targets_processes_is_their_sum_and_no_neighbours(self) -> None:
        channels = fed(
            r.GpuProcess(START, 0, 1, 300 * MIB, "target", "pid"),
            r.GpuProcess(START, 0, 2, 200 * MIB, "target", "pid"),
            r.GpuProcess(START, 0, 3, 900 * MIB, "neighbour", "none"),
            r.GpuProcess(START + MS, 0, 2, 0, "target", "pid"),
        )
        series = channels.store.columns("vram_process:0", START, START + 40 * MS, 1)
        assert (series.high, series.low, series.last) == ([500.0], [300.0], 300.0)

    def test_a_driver_that_does_not_tell_single_processes(self) -> None:
        channels = fed(r.GpuProcess(START, 0, 1, None, "target", "pid"))
        series = channels.store.columns("vram_process:0", START, START + S, 1)
        assert series.high == [None]
        assert series.reason is not None
        assert "does not tell" in series.reason

    def test_the_best_source_of_utilisation_is_drawn(self) -> None:
        channels = fed(
            r.GpuUtilisation(START, 0, 10, None, 200 * MS, "poll"),
            r.GpuUtilisation(START + 200 * MS, 0, 90, None, 200 * MS, "ring"),
            r.GpuUtilisation(START + 400 * MS, 0, 20, None, 200 * MS, "poll"),
        )
        series = channels.store.columns("gpu:0", START, START + 600 * MS, 3)
        assert series.high[2] == 90.0
        assert series.last == 90.0

    def test_cpu_of_the_tree_and_of_the_machine(self) -> None:
        def at(k: int, busy_ms: float, tree_ms: float | None) -> r.HostCpu:
            idle = int((400 * k - busy_ms) * MS)
            tree = None if tree_ms is None else int(tree_ms * MS)
            return r.HostCpu(START + k * 100 * MS, 4, int(busy_ms * MS), idle, tree, 1, 1)

        channels = fed(at(0, 0, 0), at(1, 100, 50), at(2, 300, 200))
        process = channels.store.columns("cpu_process", START, START + 300 * MS, 3)
        system = channels.store.columns("cpu_system", START, START + 300 * MS, 3)
        assert process.high[1:] == [50.0, 150.0]
        assert system.high[1:] == [25.0, 50.0]
        assert (system.limit, process.limit) == (100.0, None)
        untold = fed(at(0, 0, None), at(1, 100, None))
        assert untold.store.columns("cpu_process", START, START + S, 1).high == [None]

    def test_without_a_driver_the_empty_charts_say_why(self) -> None:
        channels = fed(r.SourceState(START, "nvml", "absent", "no NVIDIA driver here"))
        series = channels.store.columns("vram:0", START, START + S, 2)
        assert series.high == [None, None]
        assert series.reason == "no NVIDIA driver here"


class TestBounds:
    def test_hours_of_frames_and_readings_do_not_grow(self) -> None:
        """Once the oldest are due to be forgotten, memory stays: a frame a second for ¼ h."""
        bench = Bench()
        channels = Channels()

        def go_on(frames: int) -> None:
            for i in range(frames):
                bench.sleep(1_000)
                bench.frame()
                bench.add(r.GpuMemory(bench.now, 0, (4_000 + i % 50) * MIB))
                bench.event(r.TorchMemory, 1, bench.emits[-1].emit, 0, 1, 2, 3, 0, 0, 0, 0)
                bench.event(r.Queue, 20, i % 3, 4)
                bench.collect(1.5)
                for record in bench.records:
                    channels.feed(record)
                bench.records.clear()

        tracemalloc.start()
        go_on(900)
        first, _ = tracemalloc.get_traced_memory()
        go_on(900)
        second, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        the_bench_itself = 900 * 500
        assert second - first < the_bench_itself + 200_000
        log = channels.process(PROC)
        assert len(log.works) < 400
        assert len(log.collections) < 200
        assert len(channels.devices.of(0).memory) < 900

    def test_requests_without_end_are_forgotten_in_turn(self) -> None:
        bench = Bench()
        channels = Channels()
        for request in range(1, 200):
            bench.request, bench.emits = request, []
            bench.frames(3)
        for record in bench.records:
            channels.feed(record)
        assert len(channels.streams.of(PROC)) <= 48

    def test_a_long_block_keeps_its_details(self) -> None:
        """Blocks of 20 s: what is 40 s old is still needed to judge the next one."""
        bench = Bench()
        for i in range(24):
            bench.span("decode", lambda i=i: bench.run(25_000 if i == 20 else 100))
            bench.span("forward", lambda: bench.run(20_000))
            bench.emit(count=80)
        found = bench.judge(20)
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(24_900, rel=0.001)


class TestOrder:
    def test_cutting_the_stream_into_lots_changes_nothing(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        bench.frames(5)
        window = bench.window(20)
        whole = bench.channels()
        asked = Channels(AnalysisSettings())
        for record in bench.records:
            asked.feed(record)
            asked.covered_ns()
            asked.profile(window)
        assert attribute(window, whole, bench.settings) == attribute(window, asked, bench.settings)

    def test_late_spans_of_an_emit_still_count(self) -> None:
        """A thread's span record arrives after the emit it belongs to."""
        bench = Bench()
        bench.frames(20)
        bench.frame(resize=lambda: bench.run(100))
        late = [x for x in bench.records if isinstance(x, r.Span)][-3:]
        for record in late:
            bench.records.remove(record)
        bench.records += late
        bench.frames(2)
        assert bench.judge(20).names == ["supply"]
