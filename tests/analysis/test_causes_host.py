"""Causes that the process and the kernel tell: work, waits, collections, compilations."""

from __future__ import annotations

import pytest
from tail_bench import MS, PROC, WORKER, Bench, late_frame

from mgtop.wire import records as r


class TestSupply:
    def test_a_slow_resize_is_supply_by_what_it_took_beyond_its_usual_time(self) -> None:
        found = late_frame(lambda b: b.frame(resize=lambda: b.run(150)))
        assert found.cause == "supply"
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(150, abs=0.1)
        assert found.share("supply").bound == "exact"
        evidence = found.evidence("supply")
        assert (evidence.state, evidence.value, evidence.unit) == ("present", 156.0, "ms")
        assert evidence.source == "spans (resize)"
        # The resize began 150 + 6 + 24 + 8 ms before the frame came out.
        assert evidence.lead_ms == pytest.approx(188, abs=0.1)

    def test_waiting_inside_a_decode_is_supply_and_not_blocked(self) -> None:
        found = late_frame(lambda b: (b.span("decode", lambda: b.sleep(120)), b.frame())[0])
        assert found.names == ["supply"]
        assert found.state("blocked") == "absent"

    def test_usual_supply_is_absent(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: b.run(150)))
        assert found.state("supply") == "absent"

    def test_without_any_span_it_is_not_resolved(self) -> None:
        bench = Bench()
        for i in range(30):
            bench.run(200 if i == 20 else 40)
            bench.emit()
        found = bench.judge(20)
        assert [found.state(c) for c in ("supply", "output", "compute")] == ["not_resolved"] * 3
        assert found.cause == "unexplained"

    def test_names_with_a_role_count_and_others_prove_nothing(self) -> None:
        def with_span(name: str) -> str | None:
            bench = Bench()
            for i in range(30):
                bench.span(name, lambda i=i: bench.run(150 if i == 20 else 10))
                bench.run(20)
                bench.emit()
            return bench.judge(20).cause

        assert with_span("loader.fetch") == "supply"
        assert with_span("mux") == "output"
        assert with_span("denoise") == "compute"
        assert with_span("my_own_thing") == "unexplained"

    def test_a_custom_span_inside_passes_its_time_to_the_one_around_it(self) -> None:
        bench = Bench()
        for i in range(30):
            bench.span(
                "resize",
                lambda i=i: bench.span("one_picture", lambda: bench.run(150 if i == 20 else 5)),
            )
            bench.run(30)
            bench.emit()
        assert bench.judge(20).names == ["supply"]


class TestOutput:
    def test_a_sleep_inside_write_is_output(self) -> None:
        found = late_frame(lambda b: b.frame(write=lambda: b.sleep(90)))
        assert found.names == ["output"]
        assert found.ms("output") == pytest.approx(90, abs=0.1)

    def test_an_emit_inside_the_span_that_writes_it(self) -> None:
        """The write span ends after its frame's emit: the time before counts for the frame."""
        bench = Bench()
        for i in range(30):
            bench.run(30)
            begin = bench.now
            bench.sleep(150 if i == 20 else 8)
            bench.emit()
            bench.event(
                r.Span,
                1,
                i,
                8,
                bench.now + MS // 10 - begin,
                MS // 100,
                0,
                t_ns=bench.now + MS // 10,
            )
        found = bench.judge(20)
        assert found.names == ["output"]
        assert found.ms("output") == pytest.approx(142, abs=1)


class TestCompute:
    def test_a_longer_step_on_the_cpu(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: b.run(100)))
        assert found.names == ["compute"]
        assert found.ms("compute") == pytest.approx(100, abs=0.1)
        assert found.evidence("compute").source == "spans (host side)"

    def test_waiting_for_worker_threads_grows_with_the_work(self) -> None:
        """A step that always waits a fifth of its time does so in a longer one too."""
        bench = Bench()
        for i in range(30):
            work = 5 if i == 20 else 1
            bench.span("forward", lambda w=work: (bench.run(24 * w), bench.sleep(6 * w)))
            bench.span("write", lambda: bench.run(8))
            bench.emit()
        found = bench.judge(20)
        assert found.names == ["compute"]
        assert found.ms("compute") == pytest.approx(120, abs=0.5)

    def test_a_sleep_inside_a_step_is_no_computing(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: b.sleep(100)))
        assert found.names == ["blocked"]
        assert found.state("compute") == "absent"

    def test_long_spans_of_which_nobody_knows_whether_they_ran(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: b.run(100)), Bench(counters=False))
        assert found.state("compute") == "not_resolved"
        assert found.cause == "unexplained"


class TestGc:
    def test_a_collection_between_spans(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.collect(80)))
        assert found.names == ["gc"]
        assert found.ms("gc") == pytest.approx(80, abs=0.1)
        assert found.evidence("gc").lead_ms == pytest.approx(118, abs=0.1)

    def test_inside_a_resize_it_is_gc_and_not_supply(self) -> None:
        found = late_frame(lambda b: b.frame(resize=lambda: b.collect(80)))
        assert found.names == ["gc"]
        assert found.state("supply") == "absent"

    def test_another_threads_collection_holds_this_one_up(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.collect(80, tid=WORKER)))
        assert found.names == ["gc"]
        assert found.state("blocked") == "absent"

    def test_what_every_frame_collects_is_usual(self) -> None:
        bench = Bench()
        for i in range(30):
            bench.collect(10)
            bench.frame(forward=lambda: bench.run(100) if i == 20 else None)  # noqa: B023
        found = bench.judge(20)
        assert found.names == ["compute"]
        assert found.state("gc") == "absent"
        assert found.evidence("gc").value == pytest.approx(10)

    def test_many_short_ones_are_in_the_counter_only(self) -> None:
        def many(b: Bench) -> None:
            for _ in range(100):
                b.collect(0.6)

        found = late_frame(lambda b: b.frame(before=lambda: many(b)))
        assert found.names == ["gc"]
        assert found.ms("gc") == pytest.approx(60, abs=0.1)

    def test_where_nobody_watches_it_is_not_resolved(self) -> None:
        bench = Bench(counters=False)
        found = late_frame(lambda b: b.frame(before=lambda: b.run(80)), bench)
        assert found.state("gc") == "not_resolved"


class TestCpuContention:
    def test_waiting_for_a_core(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.wait_for_core(70)))
        assert found.names == ["cpu_contention"]
        assert found.ms("cpu_contention") == pytest.approx(70, abs=0.1)
        assert found.state("blocked") == "absent"

    def test_inside_spans_it_is_taken_out_of_them(self) -> None:
        found = late_frame(
            lambda b: b.frame(
                resize=lambda: b.wait_for_core(50), forward=lambda: b.wait_for_core(40)
            )
        )
        assert found.names == ["cpu_contention"]
        assert found.ms("cpu_contention") == pytest.approx(90, abs=0.1)

    def test_without_schedstat_neither_it_nor_blocked_can_be_told(self) -> None:
        found = late_frame(
            lambda b: b.frame(before=lambda: b.wait_for_core(70)), Bench(schedstat=False)
        )
        assert found.state("cpu_contention") == "not_resolved"
        assert found.state("blocked") == "not_resolved"
        assert found.cause == "unexplained"

    def test_without_schedstat_a_throttled_cgroup_bounds_it(self) -> None:
        bench = Bench(schedstat=False)
        bench.add(r.Cgroup(bench.now, 2, 0.5, 100, 3, 10 * MS))
        bench.frames(20)
        bench.frame(before=lambda: bench.sleep(70))
        bench.add(r.Cgroup(bench.now + 5 * MS, 2, 0.5, 110, 9, 75 * MS))
        bench.frames(3)
        found = bench.judge(20)
        assert found.names == ["cpu_contention"]
        assert found.share("cpu_contention").bound == "upper"
        assert found.ms("cpu_contention") == pytest.approx(65, abs=0.1)
        assert found.evidence("cpu_contention").source == "cgroup"

    def test_major_faults_bound_the_wait_that_nothing_else_explains(self) -> None:
        def faulting(b: Bench) -> None:
            b.sleep(60)
            b.faults += 12

        found = late_frame(lambda b: b.frame(before=lambda: faulting(b)))
        assert found.names == ["cpu_contention"]
        assert found.share("cpu_contention").bound == "upper"
        assert found.evidence("cpu_contention").unit == "major faults"

    def test_one_fault_does_not_explain_a_long_sleep(self) -> None:
        def faulting(b: Bench) -> None:
            b.sleep(400)
            b.faults += 1

        found = late_frame(lambda b: b.frame(before=lambda: faulting(b)))
        assert found.cause == "blocked"
        assert found.ms("cpu_contention") <= 40

    def test_worker_threads_of_a_cpu_step_that_waited_for_a_core(self) -> None:
        pid = r.pid_of(PROC)
        bench = Bench()
        bench.add(r.HostThread(bench.now - MS, pid, WORKER, "omp", 0, 0))
        for _ in range(20):  # it waits a moment for the last of them, as steps do
            bench.frame(forward=lambda: bench.sleep(1))
        bench.add(r.HostThread(bench.now - MS, pid, WORKER, "omp", 400 * MS, 2 * MS))
        bench.frame(forward=lambda: bench.sleep(80))
        bench.add(r.HostThread(bench.now + MS, pid, WORKER, "omp", 430 * MS, 80 * MS))
        bench.frames(3)
        found = bench.judge(20)
        assert found.cause == "cpu_contention"
        assert found.share("cpu_contention").bound == "upper"

    def test_they_do_not_excuse_a_sleep_between_spans(self) -> None:
        pid = r.pid_of(PROC)
        bench = Bench()
        bench.frames(20)
        bench.add(r.HostThread(bench.now - MS, pid, WORKER, "omp", 400 * MS, 2 * MS))
        bench.frame(before=lambda: bench.sleep(80))
        bench.add(r.HostThread(bench.now + MS, pid, WORKER, "omp", 430 * MS, 80 * MS))
        bench.frames(3)
        assert bench.judge(20).names == ["blocked"]


class TestBlocked:
    def test_a_sleep_between_spans(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.sleep(150)))
        assert found.names == ["blocked"]
        assert found.ms("blocked") == pytest.approx(150, abs=0.1)
        assert found.share("blocked").bound == "exact"

    def test_a_sleep_in_a_program_without_spans(self) -> None:
        bench = Bench()
        for i in range(30):
            bench.run(40)
            bench.sleep(150 if i == 20 else 1)
            bench.emit()
        assert bench.judge(20).names == ["blocked"]

    def test_what_it_always_waits_is_usual(self) -> None:
        bench = Bench()
        for i in range(30):
            bench.sleep(30)
            bench.run(100 if i == 20 else 10)
            bench.emit()
        found = bench.judge(20)
        assert found.state("blocked") == "absent"
        assert found.cause == "unexplained"

    def test_waiting_for_a_person_is_no_block(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.sleep(500)
        bench.event(r.Wait, 500 * MS)
        bench.frame()
        bench.frames(3)
        found = bench.judge(20)
        assert found.state("blocked") == "absent"

    def test_another_thread_emits_than_before_so_nothing_is_known(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.sleep(100)
        bench.run(38)
        bench.emit(tid=99)
        found = bench.judge(20)
        assert found.state("blocked") == "not_resolved"


class TestCompile:
    def test_a_compilation_with_its_times(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: b.compile(300)))
        assert found.names == ["compile"]
        assert found.ms("compile") == pytest.approx(300, abs=0.1)
        assert found.share("compile").bound == "exact"

    def test_a_collection_inside_is_the_collections(self) -> None:
        def both(b: Bench) -> None:
            begin = b.now
            b.run(100)
            b.collect(100)
            b.run(100)
            b.compiles += 1
            b.event(r.Compile, b.now - begin, "forward")

        found = late_frame(lambda b: b.frame(forward=lambda: both(b)))
        assert found.names == ["compile", "gc"]
        assert found.ms("compile") == pytest.approx(200, abs=0.1)
        assert found.ms("gc") == pytest.approx(100, abs=0.1)

    def test_a_counter_alone_is_bounded_by_the_compute_spans(self) -> None:
        found = late_frame(
            lambda b: b.frame(
                before=lambda: b.sleep(100), forward=lambda: b.compile(120, event=False)
            )
        )
        assert found.share("compile").bound == "upper"
        assert found.ms("compile") == pytest.approx(120, abs=0.1)
        assert found.ms("blocked") == pytest.approx(100, abs=0.1)
        assert "compute" not in found.names

    def test_a_line_of_output_counts_as_a_counter(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.frame(forward=lambda: bench.run(200))
        bench.add(r.OutputLine(bench.now - 30 * MS, 0, "compile", "autotuning mm"))
        bench.frames(3)
        found = bench.judge(20)
        assert found.cause == "compile"
        assert found.evidence("compile").source == "output"

    def test_a_short_compilation_does_not_claim_a_long_step(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: (b.compile(1), b.run(150))[0]))
        assert found.names == ["compute"]
        assert found.evidence("compile").value == pytest.approx(1)

    def test_none_is_absent(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.sleep(100)))
        assert found.state("compile") == "absent"


class TestQueue:
    @staticmethod
    def starving(starve_ms: float, *, worker_span: bool = False) -> Bench:
        """The main thread takes one item a frame; the worker puts it, late in frame 20."""
        bench = Bench()
        bench.event(r.Name, 20, "prefetch")
        bench.event(r.Queue, 20, 1, 4, tid=WORKER)
        for i in range(26):
            late = starve_ms if i == 20 else 0.0
            if late:
                begin = bench.now
                bench.event(r.Queue, 20, 0, 4)
                bench.sleep(late)
                if worker_span:
                    bench.foreign_span("decode", begin, late, index=i)
                bench.event(r.Queue, 20, 1, 4, tid=WORKER)
            bench.event(r.Queue, 20, 0, 4)
            bench.event(r.Queue, 20, 1, 4, tid=WORKER, t_ns=bench.now + MS // 10)
            if worker_span and not late:
                bench.foreign_span("decode", bench.now, 3, index=i)
            bench.frame()
        return bench

    def test_waiting_at_an_empty_queue(self) -> None:
        found = self.starving(120).judge(20)
        assert found.names == ["queue"]
        assert found.ms("queue") == pytest.approx(120, abs=1)

    def test_a_slow_decode_behind_it_is_supply(self) -> None:
        found = self.starving(120, worker_span=True).judge(20)
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(117, abs=1)

    def test_a_wait_at_the_queue_inside_a_decode_span(self) -> None:
        bench = Bench()
        bench.event(r.Name, 20, "prefetch")
        for i in range(26):

            def take(i: int = i) -> None:
                bench.event(r.Queue, 20, 0, 4)
                bench.sleep(120 if i == 20 else 1)
                bench.event(r.Queue, 20, 1, 4, tid=WORKER)

            bench.span("decode", take)
            bench.frame()
        found = bench.judge(20)
        assert found.names == ["queue"]

    def test_an_output_queue_that_the_thread_fills_is_nothing_to_wait_for(self) -> None:
        bench = Bench()
        bench.event(r.Name, 20, "frames")
        for i in range(26):
            bench.frame(before=lambda: bench.sleep(120) if i == 20 else None)  # noqa: B023
            bench.event(r.Queue, 20, 1, 4)
            bench.event(r.Queue, 20, 0, 4, tid=WORKER, t_ns=bench.now + MS)
        assert bench.judge(20).names == ["blocked"]

    def test_dropped_frames_are_shown_and_prove_no_time(self) -> None:
        bench = Bench()
        bench.event(r.Name, 20, "prefetch")
        bench.event(r.Queue, 20, 4, 4, 0)
        bench.frames(20)
        bench.frame(forward=lambda: bench.event(r.Queue, 20, 4, 4, 3) or bench.run(100))
        bench.frames(3)
        found = bench.judge(20)
        assert found.names == ["compute"]
        evidence = found.evidence("queue")
        assert (evidence.state, evidence.value, evidence.unit) == ("present", 3.0, "dropped")

    def test_without_queue_events_it_is_not_resolved(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.sleep(100)))
        assert found.state("queue") == "not_resolved"


class TestPrefetch:
    """Work of another thread counts where this one waited for it."""

    def test_work_of_another_thread_for_nobody_knows_what_is_not_waited_for_while_running(
        self,
    ) -> None:
        bench = Bench()
        for i in range(24):
            late = 200 if i == 20 else 0
            if late:
                bench.foreign_span("decode", bench.now, late)
            elif i % 2:
                bench.foreign_span("decode", bench.now, 3)
            bench.frame(before=lambda late=late: bench.run(late))
        found = bench.judge(20)
        assert found.cause == "unexplained"
        assert found.names == []

    def test_a_decode_for_a_later_frame_is_not_this_ones_cause(self) -> None:
        bench = Bench()
        for i in range(26):
            bench.foreign_span("decode", bench.now, 30, index=i + 3)
            if i == 20:
                bench.foreign_span("decode", bench.now, 200, index=i + 4)
            bench.frame(before=lambda: bench.sleep(150) if i == 20 else None)  # noqa: B023
        found = bench.judge(20)
        assert found.names == ["blocked"]

    def test_a_usual_decode_beside_a_sleep_does_not_explain_it(self) -> None:
        """The worker goes on decoding while the main thread sleeps, and says no frame."""
        bench = Bench()
        for i in range(26):
            if i == 20:
                for k in range(5):
                    bench.foreign_span("decode", bench.now + k * 30 * MS, 25)
            else:
                bench.foreign_span("decode", bench.now, 25)
            bench.frame(before=lambda: bench.sleep(300) if i == 20 else None)  # noqa: B023
        found = bench.judge(20)
        assert found.cause == "blocked"
        assert "supply" not in found.names

    def test_the_thread_that_ran_the_model_is_the_one_that_counts(self) -> None:
        """A worker computes, this thread emits: a long step there is compute here."""
        bench = Bench()
        for i in range(26):
            took = 150 if i == 20 else 30
            bench.foreign_span("forward", bench.now, took, index=i)
            bench.sleep(took)
            bench.span("write", lambda: bench.run(8))
            bench.emit()
        found = bench.judge(20)
        assert found.names == ["compute"]
        assert found.ms("compute") == pytest.approx(120, abs=1)

    def test_that_thread_waited_for_a_core(self) -> None:
        bench = Bench()
        for i in range(26):
            took = 150 if i == 20 else 30
            bench.foreign_span("forward", bench.now, took, index=i, delay_ms=took - 30)
            bench.sleep(took)
            bench.emit()
        assert bench.judge(20).names == ["cpu_contention"]

    def test_that_thread_slept_in_its_step(self) -> None:
        bench = Bench()
        for i in range(26):
            took = 150 if i == 20 else 30
            bench.foreign_span("forward", bench.now, took, index=i, cpu_ms=30)
            bench.sleep(took)
            bench.emit()
        found = bench.judge(20)
        assert found.cause == "blocked"
        assert found.state("compute") == "absent"

    def test_that_thread_slept_between_its_steps(self) -> None:
        bench = Bench()
        for i in range(26):
            late = 120 if i == 20 else 0
            bench.foreign_span("forward", bench.now + late * MS, 30, index=i)
            bench.sleep(30 + late)
            bench.emit()
        found = bench.judge(20)
        assert found.names == ["blocked"]
        assert found.ms("blocked") == pytest.approx(120, abs=1)
