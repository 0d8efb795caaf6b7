"""Causes and symptoms that take a GPU's word, by hand-written readings of the known shapes."""

from __future__ import annotations

from typing import Any

import pytest
from tail_bench import MIB, MS, PROC, START, Answer, Bench

from mgtop.wire import records as r

TOTAL = 24_000 * MIB


class GpuBench(Bench):
    """The same generator, with CUDA events, the allocator's counters and NVML as wanted."""

    def __init__(self, *, work: bool = True, torch: bool = True, **named: Any) -> None:
        super().__init__(**named)
        self.work, self.torch = work, torch
        self.retries = self.ooms = self.allocs = self.frees = 0
        self.busy_ms, self.gap_ms = 30.0, 8.0

    def nvml(self, period_ms: float = 15, total: int = TOTAL, state: str = "ok") -> None:
        """NVML says that it lives and covers everything up to a minute from now."""
        covered = self.now + 60_000 * MS if state == "ok" else None
        self.add(r.SourceState(self.now, "nvml", state, "", int(period_ms * MS), covered))
        self.add(r.GpuDevice(self.now, 0, "GPU-1", "Test", total, ordinals=[0]))

    def memory(self, mib: float, at_ms: float = 0) -> None:
        self.add(r.GpuMemory(self.now + int(at_ms * MS), 0, int(mib * MIB)))

    def utilisation(self, percent: float, period_ms: float = 200, source: str = "ring") -> None:
        self.add(r.GpuUtilisation(self.now, 0, percent, None, int(period_ms * MS), source))

    def emit(self, count: int | None = None, tid: int = 11) -> r.FrameEmit:
        frame = super().emit(count, tid)
        if self.torch:
            self.event(
                r.TorchMemory,
                1,
                frame.emit,
                0,
                4_000 * MIB,
                5_000 * MIB,
                4_500 * MIB,
                self.retries,
                self.ooms,
                self.allocs,
                self.frees,
            )
        if self.work:
            self.event(
                r.GpuWork,
                1,
                frame.emit,
                int(self.busy_ms * MS),
                int(self.gap_ms * MS),
                4,
            )
        return frame


def judge(bench: GpuBench, number: int = 20) -> Answer:
    bench.frames(4)
    return bench.judge(number)


class TestAllocRetry:
    @staticmethod
    def reclaiming(forward_ms: float, frees: int, *, before_ms: float = 0) -> GpuBench:
        bench = GpuBench(work=False)
        bench.frames(20)

        def reclaim() -> None:
            bench.run(forward_ms)
            bench.retries += 1
            bench.frees += frees
            bench.allocs += 1

        bench.frame(before=lambda: bench.sleep(before_ms), forward=reclaim)
        return bench

    def test_many_small_segments_released(self) -> None:
        found = judge(self.reclaiming(118, 1_982))
        assert found.names == ["alloc_retry"]
        assert found.share("alloc_retry").bound == "upper"
        assert found.ms("alloc_retry") == pytest.approx(118, abs=0.1)
        evidence = found.evidence("alloc_retry")
        assert (evidence.state, evidence.value, evidence.unit) == ("present", 1.0, "retries")

    def test_a_reclaim_of_one_millisecond_does_not_explain_a_long_stall(self) -> None:
        """Present, and not the cause: the step that it happened in lost no time."""
        found = judge(self.reclaiming(1, 7, before_ms=200))
        assert found.state("alloc_retry") == "present"
        assert "alloc_retry" not in found.names

    def test_nor_one_in_the_same_span_as_the_stall(self) -> None:
        """Seven segments cannot take 200 ms, wherever the rest went."""
        bench = GpuBench(work=False)
        bench.frames(20)

        def both() -> None:
            bench.sleep(200)
            bench.retries += 1
            bench.frees += 7

        bench.frame(forward=both)
        found = judge(bench)
        assert found.cause == "unexplained"
        assert found.state("alloc_retry") == "present"
        assert found.ms("alloc_retry") < 100

    def test_a_reading_within_the_frame_tells_in_which_span_it_was(self) -> None:
        bench = GpuBench()
        bench.frames(20)

        def longer() -> None:
            bench.run(100)
            emit = bench.next_index
            bench.event(
                r.TorchMemory, 1, emit, 0, 4_000 * MIB, 5_000 * MIB, 4_500 * MIB, 0, 0, 0, 0
            )

        def reclaim() -> None:
            bench.run(60)
            bench.retries, bench.frees, bench.allocs = 1, 1_000, 1_000

        bench.busy_ms = 190.0
        bench.frame(before=lambda: bench.span("forward", longer), forward=reclaim)
        bench.busy_ms = 30.0
        found = judge(bench)
        assert set(found.names) == {"compute", "alloc_retry"}
        assert found.ms("alloc_retry") == pytest.approx(60, rel=0.25)
        assert found.ms("compute") == pytest.approx(100, rel=0.25)

    def test_steady_counters_are_absent(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        found = judge(bench)
        assert found.state("alloc_retry") == "absent"

    def test_driver_calls_without_a_retry_count_too(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)

        def grow() -> None:
            bench.run(60)
            bench.allocs += 60

        bench.frame(forward=grow)
        found = judge(bench)
        assert found.cause == "alloc_retry"
        assert found.evidence("alloc_retry").unit == "driver calls"

    def test_a_model_that_empties_its_cache_at_each_frame(self) -> None:
        bench = GpuBench(work=False)
        for i in range(26):
            bench.frees += 30
            bench.allocs += 30
            bench.frame(forward=lambda: bench.run(100) if i == 20 else None)  # noqa: B023
        found = bench.judge(20)
        assert found.state("alloc_retry") == "absent"

    def test_thinned_readings_do_not_say_in_which_frame(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(18)
        bench.torch = False
        bench.frames(2)
        bench.frame(before=lambda: bench.sleep(100))
        bench.frames(2)
        bench.torch = True
        bench.retries += 1
        bench.frees += 500
        found = judge(bench)
        assert found.state("alloc_retry") == "not_resolved"

    def test_without_torch_it_is_not_resolved(self) -> None:
        bench = GpuBench(work=False, torch=False)
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        assert judge(bench).state("alloc_retry") == "not_resolved"


class TestComputeOnGpu:
    def test_the_gpu_was_busy_for_longer(self) -> None:
        """The step returns at once and the wait lies in the encode: it is still compute."""
        bench = GpuBench()
        bench.frames(20)
        bench.busy_ms = 130
        bench.frame(write=lambda: bench.sleep(100))
        bench.busy_ms = 30
        found = judge(bench)
        assert found.names == ["compute"]
        assert found.evidence("compute").source == "CUDA events"
        assert found.ms("compute") == pytest.approx(100, abs=0.1)
        assert found.state("blocked") == "absent"

    def test_off_a_core_inside_a_step_is_unresolved_without_the_gpus_word(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)
        bench.frame(forward=lambda: bench.sleep(100))
        found = judge(bench)
        assert found.cause == "unexplained"
        assert found.state("blocked") == "not_resolved"
        assert found.state("compute") == "not_resolved"

    def test_a_long_stall_with_utilisation_at_the_top_is_compute(self) -> None:
        bench = GpuBench(work=False)
        bench.nvml()
        bench.frames(20)
        begin = bench.now
        bench.frame(forward=lambda: bench.sleep(1_000))
        for k in range(1, 6):
            record = r.GpuUtilisation(begin + k * 200 * MS, 0, 100, None, 200 * MS, "ring")
            bench.add(record)
        found = judge(bench)
        assert found.names == ["compute"]
        assert found.share("compute").bound == "upper"
        assert found.state("gpu_idle") == "absent"
        assert found.state("blocked") == "absent"


class TestBlockedOnGpu:
    def test_a_sleep_with_the_gpu_idle(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.gap_ms = 8 + 140
        bench.frame(before=lambda: bench.sleep(150))
        bench.gap_ms = 8
        found = judge(bench)
        assert found.names == ["blocked"]
        assert found.ms("blocked") == pytest.approx(140, abs=0.1)
        assert found.state("gpu_idle") == "present"

    def test_a_sleep_after_the_last_work_shows_in_the_next_gap(self) -> None:
        """The probe tells a gap with the work that ends it: that of the next emit."""
        bench = GpuBench()
        bench.frames(20)
        bench.sleep(2)
        bench.span("forward", lambda: bench.run(38))
        bench.sleep(150)
        bench.emit()
        bench.gap_ms = 8 + 150
        bench.frame()
        bench.gap_ms = 8
        found = judge(bench)
        assert found.state("gpu_idle") == "present"
        assert found.names == ["blocked"]
        assert found.ms("blocked") == pytest.approx(150, abs=1)

    def test_a_gap_that_made_the_next_emit_late_is_the_next_ones(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.frame(forward=lambda: bench.sleep(150))
        bench.gap_ms = 8 + 150
        bench.frame(before=lambda: bench.sleep(150))
        bench.gap_ms = 8
        assert judge(bench).state("gpu_idle") == "absent"

    def test_a_sleep_between_spans_without_the_gpus_word_is_a_bound(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(150))
        found = judge(bench)
        assert found.names == ["blocked"]
        assert found.share("blocked").bound == "upper"
        assert found.state("gpu_idle") == "not_resolved"

    def test_not_in_a_program_that_waits_for_the_gpu_there(self) -> None:
        bench = GpuBench(work=False)
        for i in range(26):
            bench.span("forward", lambda: bench.run(5))
            bench.sleep(30 if i != 20 else 180)
            bench.emit()
        found = bench.judge(20)
        assert found.state("blocked") == "not_resolved"
        assert found.cause == "unexplained"

    def test_nor_in_one_without_spans(self) -> None:
        bench = GpuBench(work=False)
        for i in range(26):
            bench.run(30)
            bench.sleep(1 if i != 20 else 180)
            bench.emit()
        assert bench.judge(20).cause == "unexplained"

    def test_a_process_that_nvml_lists_uses_the_gpu(self) -> None:
        bench = GpuBench(work=False, torch=False)
        bench.nvml()
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), 500 * MIB, "target", "pid"))
        bench.frames(20)
        bench.frame(forward=lambda: bench.sleep(100))
        assert judge(bench).state("blocked") == "not_resolved"


class TestVramDrop:
    @staticmethod
    def falling(fall_mib: float, *, period_ms: float = 15, over_ms: float = 0) -> GpuBench:
        bench = GpuBench()
        bench.nvml(period_ms)
        for _ in range(20):
            bench.memory(20_000)
            bench.frame()
        bench.memory(20_000)
        steps = 10 if over_ms else 1
        for k in range(1, steps + 1):
            bench.memory(20_000 - fall_mib * k / steps, at_ms=30 + over_ms * k / steps)
        bench.frame(forward=lambda: bench.run(max(100, over_ms)))
        return bench

    def test_a_fall_of_a_part_of_the_memory(self) -> None:
        found = judge(self.falling(400))
        evidence = found.evidence("vram_drop")
        assert (evidence.state, evidence.unit, evidence.source) == (
            "present",
            "MiB",
            "nvml memory",
        )
        assert evidence.value == pytest.approx(400)
        assert evidence.period_ms == 15
        # It began 30 ms into an interval of 140.
        assert evidence.lead_ms == pytest.approx(110, abs=1)
        assert "vram_drop" not in found.names

    def test_below_the_threshold_it_is_absent(self) -> None:
        assert judge(self.falling(100)).state("vram_drop") == "absent"  # 0.5 % are 120 MiB

    def test_a_slow_decline_is_no_drop(self) -> None:
        assert judge(self.falling(400, over_ms=2_000)).state("vram_drop") == "absent"

    def test_polled_too_seldom_it_is_not_resolved(self) -> None:
        assert judge(self.falling(0, period_ms=100)).state("vram_drop") == "not_resolved"

    def test_without_readings_or_from_a_dead_source_it_is_not_resolved(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        assert judge(bench).state("vram_drop") == "not_resolved"
        bench = self.falling(0)
        bench.records.insert(
            -8, r.SourceState(bench.emits[-1].t_ns - 20 * MS, "nvml", "stale", "hangs", 15 * MS)
        )
        assert judge(bench).state("vram_drop") == "not_resolved"

    def test_a_table_of_readings_without_heartbeats(self) -> None:
        """Imported readings tell their own period."""
        bench = GpuBench()
        bench.add(r.GpuDevice(bench.now, 0, "GPU-1", "Test", TOTAL, ordinals=[0]))
        for k in range(60):
            bench.memory(20_000, at_ms=20 * k)
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        found = judge(bench)
        assert found.evidence("vram_drop").period_ms == 20
        assert found.state("vram_drop") == "absent"


class TestGpuIdle:
    def test_a_tail_shorter_than_the_period_is_not_resolved(self) -> None:
        bench = GpuBench(work=False)
        bench.nvml()
        for _ in range(20):
            bench.frame()
            bench.utilisation(100)
        bench.frame(before=lambda: bench.sleep(60))
        bench.utilisation(40)
        evidence = judge(bench).evidence("gpu_idle")
        assert evidence.state == "not_resolved"
        assert evidence.period_ms == 200
        assert evidence.source == "nvml utilisation (ring)"

    def test_a_long_one_is_told_by_utilisation(self) -> None:
        bench = GpuBench(work=False)
        bench.nvml()
        bench.frames(20)
        begin = bench.now
        bench.frame(before=lambda: bench.sleep(1_000))
        for k, percent in enumerate((90, 0, 0, 0, 30), start=1):
            record = r.GpuUtilisation(begin + k * 200 * MS, 0, percent, None, 200 * MS, "ring")
            bench.add(record)
        found = judge(bench)
        evidence = found.evidence("gpu_idle")
        assert evidence.state == "present"
        assert evidence.value == pytest.approx(20 + 600 + 140)
        assert evidence.lead_ms == pytest.approx(1_040 - 200, abs=1)
        assert found.cause == "blocked"

    def test_a_polled_value_may_be_of_the_past_and_needs_two_periods(self) -> None:
        def seen(length_ms: float) -> str:
            bench = GpuBench(work=False)
            bench.nvml()
            bench.frames(20)
            begin = bench.now
            bench.frame(before=lambda: bench.sleep(length_ms))
            bench.add(r.GpuUtilisation(begin + 350 * MS, 0, 0, None, 200 * MS, "poll"))
            bench.add(r.GpuUtilisation(begin + 900 * MS, 0, 0, None, 200 * MS, "poll"))
            return judge(bench).state("gpu_idle")

        assert seen(380) == "not_resolved"
        assert seen(1_000) == "present"

    def test_by_cuda_events_it_is_told_for_any_length(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.gap_ms = 8 + 50
        bench.frame(before=lambda: bench.sleep(50))
        bench.gap_ms = 8
        evidence = judge(bench).evidence("gpu_idle")
        assert (evidence.state, evidence.value, evidence.source) == (
            "present",
            58.0,
            "CUDA events",
        )

    def test_the_usual_gap_is_absent(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.busy_ms = 130
        bench.frame(forward=lambda: bench.run(100))
        bench.busy_ms = 30
        assert judge(bench).state("gpu_idle") == "absent"


class TestOom:
    def test_an_exception_that_the_probe_saw(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)

        def fail() -> None:
            bench.run(90)
            bench.event(r.Failure, "torch.OutOfMemoryError", "CUDA out of memory.", 1, 20)

        bench.frame(forward=fail)
        found = judge(bench)
        assert found.names == ["oom"]
        assert found.share("oom").bound == "upper"
        assert found.evidence("oom").source == "exceptions"

    def test_a_step_of_the_allocators_counter(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)
        bench.ooms = 1
        bench.frame(forward=lambda: bench.run(90))
        assert judge(bench).evidence("oom").source == "torch allocator counters"

    def test_a_line_of_output_a_little_late(self) -> None:
        bench = GpuBench(work=False)
        bench.frames(20)
        bench.frame(forward=lambda: bench.run(90))
        line = r.OutputLine(bench.now + 20 * MS, 0, "oom", "CUDA out of memory")
        bench.add(line)
        found = judge(bench)
        assert found.names == ["oom"]

    def test_none_is_absent_where_the_probe_watches(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        assert judge(bench).state("oom") == "absent"


class TestSpill:
    @staticmethod
    def full(kernel: str, forward_ms: float, mib: float = 23_500) -> Answer:
        bench = GpuBench(work=False)
        bench.records.insert(
            0,
            r.SessionStart(START, 0, 1, "0", "t", environment={"os": "Linux", "kernel": kernel}),
        )
        bench.nvml()
        bench.memory(mib)
        bench.frames(20)
        bench.frame(forward=lambda: bench.sleep(forward_ms))
        return judge(bench)

    def test_memory_at_the_limit_and_steps_a_multiple_under_wsl(self) -> None:
        found = self.full("5.15.167.4-microsoft-standard-WSL2", 200)
        assert found.names == ["spill"]
        assert found.share("spill").bound == "upper"
        assert found.evidence("spill").value == pytest.approx(97.9, abs=0.1)

    def test_not_on_plain_linux_and_not_with_memory_free(self) -> None:
        assert self.full("6.8.0-45-generic", 200).state("spill") == "absent"
        assert self.full("5.15-microsoft-WSL2", 200, mib=12_000).state("spill") == "absent"
        assert self.full("5.15-microsoft-WSL2", 15).state("spill") == "absent"

    def test_without_memory_readings_it_is_not_resolved(self) -> None:
        bench = GpuBench(work=False)
        environment = {"kernel": "microsoft-WSL2"}
        bench.records.insert(0, r.SessionStart(START, 0, 1, "0", "t", environment=environment))
        bench.frames(20)
        bench.frame(forward=lambda: bench.run(200))
        assert judge(bench).state("spill") == "not_resolved"


class TestNeighbour:
    @staticmethod
    def beside(before_mib: int | None, after_mib: int, **fault: Any) -> Answer:
        bench = GpuBench(work=False)
        bench.nvml()
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), 5_000 * MIB, "target", "pid"))
        if before_mib is not None:
            used = before_mib * MIB
            bench.add(r.GpuProcess(bench.now, 0, 77, used, "neighbour", "none", "game"))
        bench.frames(20)
        now = bench.now + 20 * MS
        bench.add(r.GpuProcess(now, 0, 77, after_mib * MIB, "neighbour", "none", "game"))
        bench.frame(**(fault or {"forward": lambda: bench.run(120)}))
        return judge(bench)

    def test_another_program_came(self) -> None:
        found = self.beside(None, 900)
        assert found.names == ["neighbour"]
        assert found.share("neighbour").bound == "upper"
        assert found.evidence("neighbour").value == pytest.approx(900)

    def test_another_program_grew(self) -> None:
        assert self.beside(500, 800).names == ["neighbour"]

    def test_one_that_stays_as_it_is_may_still_work_unseen(self) -> None:
        found = self.beside(500, 500)
        assert found.state("neighbour") == "not_resolved"
        assert found.names == ["compute"]

    @staticmethod
    def resident(rise_mib: float, *, own_allocs: int = 0, listed: bool = True) -> Answer:
        """The device's memory is read every 20 ms, the list of processes hardly ever."""
        bench = GpuBench()
        bench.nvml(20)
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), 5_000 * MIB, "target", "pid"))
        if listed:
            bench.add(r.GpuProcess(bench.now, 0, 77, 500 * MIB, "neighbour", "none", "game"))
        bench.memory(5_500)
        bench.frames(40)
        bench.memory(5_500)
        bench.memory(5_500 + rise_mib, at_ms=20)
        bench.allocs += own_allocs
        bench.busy_ms = 115.0
        bench.frame(forward=lambda: bench.run(120))
        bench.busy_ms = 30.0
        bench.frames(4)
        return bench.judge(40)

    def test_memory_that_the_target_did_not_ask_for_is_the_neighbours(self) -> None:
        found = self.resident(2_048)
        assert found.names == ["neighbour"]
        evidence = found.evidence("neighbour")
        assert (evidence.state, evidence.source) == ("present", "nvml memory")
        assert evidence.value == pytest.approx(2_048)

    def test_memory_that_the_target_may_have_asked_for_is_not(self) -> None:
        assert "neighbour" not in self.resident(2_048, own_allocs=1).names
        assert self.resident(2_048, listed=False).names == ["compute"]
        assert self.resident(10).names == ["compute"]

    @staticmethod
    def working(usual: float, then: float) -> Answer:
        """A neighbour's share of the GPU, read once a second, over frames of 40 ms."""
        bench = GpuBench()
        bench.nvml()
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), 5_000 * MIB, "target", "pid"))
        bench.add(r.GpuProcess(bench.now, 0, 77, 500 * MIB, "neighbour", "none", "game"))
        second = 1_000 * MS
        for number in range(4):
            bench.frames(24)
            share = then if number == 3 else usual
            if number == 3:
                bench.busy_ms = 115.0
                bench.frame(forward=lambda: bench.run(120))
                bench.busy_ms = 30.0
            bench.frames(2)
            for pid, percent, whose in ((77, share, "neighbour"), (r.pid_of(PROC), 60, "target")):
                bench.add(r.GpuProcessWork(bench.now, 0, pid, percent, second, whose))
        bench.frames(4)
        return bench.judge(26 * 3 + 24)

    def test_a_neighbour_that_works_more_than_usual(self) -> None:
        found = self.working(0, 20)
        assert found.names == ["neighbour"]
        evidence = found.evidence("neighbour")
        assert (evidence.value, evidence.unit) == (20.0, "%")
        assert evidence.source == "nvml process utilisation"
        assert evidence.period_ms == pytest.approx(1_000)

    def test_one_that_always_works_as_much_is_absent(self) -> None:
        found = self.working(45, 45)
        assert found.names == ["compute"]
        assert found.state("neighbour") == "absent"

    def test_alone_it_is_absent(self) -> None:
        bench = GpuBench()
        bench.nvml()
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), 5_000 * MIB, "target", "pid"))
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        assert judge(bench).state("neighbour") == "absent"


class TestThrottle:
    @staticmethod
    def throttled(at_limit_ms: float, usual_ms: float = 0, mhz: int | None = None) -> Answer:
        """Counters are read once a second; frames are of 40 ms. ``mhz``: the clock around it."""
        bench = GpuBench(work=False)
        bench.nvml()
        total = 0.0
        for second in range(4):
            bench.add(r.GpuThrottle(bench.now, 0, int(total * MS), 0, 0, 0, 0))
            total += usual_ms
            late = second == 2
            for i in range(25):
                if mhz is not None and i % 12 == 0:
                    clock = mhz if late and i == 12 else 1_800
                    bench.add(r.GpuState(bench.now, 0, clock))
                if late and i == 10:
                    bench.frame(forward=lambda: bench.run(80))
                    total += at_limit_ms
                else:
                    bench.frame()
        bench.add(r.GpuThrottle(bench.now, 0, int(total * MS), 0, 0, 0, 0))
        return bench.judge(60)

    def test_clocks_lowered_around_a_slow_step(self) -> None:
        found = self.throttled(70)
        assert found.cause == "throttle"
        assert found.share("throttle").bound == "upper"
        assert found.evidence("throttle").period_ms == pytest.approx(1_080)

    def test_no_more_than_the_clock_accounts_for(self) -> None:
        assert self.throttled(70, mhz=1_790).names == ["compute"]
        found = self.throttled(70, mhz=600)
        assert found.names[0] in ("throttle", "compute")
        assert 20 < found.ms("throttle") < 70

    def test_a_card_that_is_always_at_its_limit(self) -> None:
        found = self.throttled(0, usual_ms=400)
        assert found.state("throttle") == "absent"
        assert found.names == ["compute"]

    def test_without_counters_it_is_not_resolved(self) -> None:
        bench = GpuBench()
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(100))
        assert judge(bench).state("throttle") == "not_resolved"


class TestObserver:
    @staticmethod
    def calling(ms: float, *, sleep_ms: float = 100, watched: bool = True) -> Answer:
        bench = GpuBench(work=False)
        if watched:
            bench.nvml()
        bench.frames(20)
        if ms:
            end = bench.now + int((ms + 10) * MS)
            bench.add(r.ObserverCall(end, "nvmlDeviceGetMemoryInfo", int(ms * MS), 0))
        bench.frame(forward=lambda: bench.sleep(sleep_ms))
        return judge(bench)

    def test_a_long_driver_call_where_nothing_else_explains_it(self) -> None:
        found = self.calling(90)
        assert found.names == ["observer"]
        assert found.share("observer").bound == "upper"

    def test_a_short_one_does_not(self) -> None:
        assert self.calling(3).cause == "unexplained"

    def test_none_is_absent_and_unwatched_is_not_resolved(self) -> None:
        assert self.calling(0).state("observer") == "absent"
        assert self.calling(0, watched=False).state("observer") == "not_resolved"
