"""Answers that were wrong when they were scored against the truth, each as a small case."""

from __future__ import annotations

from tail_bench import MAIN, MIB, MS, PROC, WORKER, Answer, Bench, late_frame

from mgtop.wire import records as r

OTHER = 13
"""Thread of another request."""


class TestModelThread:
    """A worker computes, the main thread emits: what the worker does between its spans."""

    @staticmethod
    def judged(*, working_ms: float = 0, sleeping_ms: float = 0, delay_ms: float = 0) -> Answer:
        bench = Bench()
        cpu, delay = 0, 0
        for i in range(26):
            late = i == 20
            if late:  # between its spans
                cpu += int(working_ms * MS)
                delay += int(delay_ms * MS)
                bench.sleep(working_ms + sleeping_ms + delay_ms)
            begin = bench.now
            cpu += 30 * MS
            bench.sleep(30)
            bench.event(
                r.Span, 1, i, bench.number("forward"), 30 * MS, 30 * MS, 0, cpu, delay, tid=WORKER
            )
            assert bench.now - begin == 30 * MS
            bench.span("write", lambda: bench.run(8))
            bench.emit()
        return bench.judge(20)

    def test_work_in_no_span_is_not_waiting(self) -> None:
        found = self.judged(working_ms=200)
        assert found.cause == "unexplained"
        assert found.state("blocked") == "absent"

    def test_nor_is_work_in_one_whose_name_says_nothing(self) -> None:
        bench = Bench()
        cpu = 0
        for i in range(26):
            if i == 20:
                bench.sleep(200)
                cpu += 200 * MS
                number = bench.number("shuffle")
                bench.event(r.Span, 1, i, number, 200 * MS, 200 * MS, 0, cpu, 0, tid=WORKER)
            bench.sleep(30)
            cpu += 30 * MS
            number = bench.number("forward")
            bench.event(r.Span, 1, i, number, 30 * MS, 30 * MS, 0, cpu, 0, tid=WORKER)
            bench.emit()
        assert bench.judge(20).cause == "unexplained"

    def test_a_sleep_between_its_spans_is(self) -> None:
        found = self.judged(sleeping_ms=200)
        assert found.cause == "blocked"
        assert 195 <= found.ms("blocked") <= 205

    def test_what_it_waits_for_a_core_is_contention(self) -> None:
        found = self.judged(delay_ms=200)
        assert found.names == ["cpu_contention"]
        assert 190 <= found.ms("cpu_contention") <= 205

    def test_a_sleep_and_more_work_in_its_step(self) -> None:
        bench = Bench()
        for i in range(26):
            work, sleep = (80, 70) if i == 20 else (30, 0)
            bench.foreign_span("forward", bench.now, work + sleep, index=i, cpu_ms=work)
            bench.sleep(work + sleep)
            bench.emit()
        found = bench.judge(20)
        assert found.names == ["blocked", "compute"]
        assert 65 <= found.ms("blocked") <= 75
        assert 45 <= found.ms("compute") <= 55

    def test_half_and_half(self) -> None:
        found = self.judged(working_ms=100, sleeping_ms=150)
        assert found.names == ["blocked"]
        assert 145 <= found.ms("blocked") <= 155


class TestScatter:
    """What varies from frame to frame anyway is no cause of a late one."""

    @staticmethod
    def judged(forward_ms: float) -> Answer:
        bench = Bench()
        for i in range(40):
            varies = (0, 6, 3, 9, 1, 8)[i % 6]
            if i == 20:
                bench.frame(before=lambda: bench.sleep(60), forward=lambda: bench.run(forward_ms))
            else:
                bench.frame(forward=lambda varies=varies: bench.run(varies))
        return bench.judge(20)

    def test_a_step_as_long_as_others_often_are(self) -> None:
        assert self.judged(14).names == ["blocked"]

    def test_one_that_is_longer_than_they_ever_are(self) -> None:
        assert self.judged(30).names == ["blocked", "compute"]

    def test_a_stall_at_every_fourth_frame_is_no_scatter(self) -> None:
        bench = Bench()
        for i in range(40):
            bench.frame(forward=lambda i=i: bench.collect(90 if i % 4 == 0 else 0.5))
        assert bench.judge(20).names == ["gc"]


class TestUntold:
    def test_a_thread_that_always_waits_for_nobody_knows_whom_tells_nothing(self) -> None:
        """It emits what a thread without spans has made: that one may have been computing."""
        bench = Bench()
        for i in range(26):
            bench.sleep(230 if i == 20 else 30)
            bench.run(5)
            bench.emit()
        found = bench.judge(20)
        assert found.cause == "unexplained"
        assert found.state("blocked") == "not_resolved"

    def test_a_thread_that_seldom_waits_is_blocked(self) -> None:
        bench = Bench()
        for i in range(26):
            bench.sleep(202 if i == 20 else 2)
            bench.run(33)
            bench.emit()
        assert bench.judge(20).cause == "blocked"

    def test_one_that_paces_itself_beside_its_steps_is_blocked(self) -> None:
        bench = Bench()
        for i in range(26):
            bench.sleep(215 if i == 20 else 15)
            bench.span("forward", lambda: bench.run(25))
            bench.emit()
        assert bench.judge(20).cause == "blocked"


class TestCompilation:
    def test_a_wait_elsewhere_in_the_interval_is_named_beside_it(self) -> None:
        found = late_frame(
            lambda b: b.frame(before=lambda: b.sleep(150), forward=lambda: b.compile(170))
        )
        assert found.names == ["compile", "blocked"]
        assert 145 <= found.ms("blocked") <= 155

    def test_waiting_inside_it_is_its_own(self) -> None:
        """Compilers have other processes compile, and wait for them."""
        bench = Bench()
        bench.frames(20)

        def compile_elsewhere() -> None:
            bench.sleep(200)
            bench.compiles += 1
            bench.event(r.Compile, 200 * MS, "forward")

        bench.frame(forward=compile_elsewhere)
        bench.frames(5)
        found = bench.judge(20)
        assert found.names == ["compile"]
        assert 195 <= found.ms("compile") <= 205

    def test_another_threads_does_not_hold_up_one_that_runs(self) -> None:
        bench = Bench()
        bench.frames(20)
        begin = bench.now

        def beside() -> None:
            bench.run(300)
            bench.event(r.Compile, 250 * MS, "other", tid=OTHER, t_ns=begin + 270 * MS)

        bench.frame(forward=beside)
        bench.frames(5)
        found = bench.judge(20)
        assert found.names == ["compute"]
        assert 290 <= found.ms("compute") <= 310

    def test_another_threads_holds_up_one_that_stands_still(self) -> None:
        """It holds the interpreter: nobody else runs."""
        bench = Bench()
        bench.frames(20)
        begin = bench.now

        def beside() -> None:
            bench.sleep(300)
            bench.event(r.Compile, 290 * MS, "other", tid=OTHER, t_ns=begin + 305 * MS)

        bench.frame(forward=beside)
        bench.frames(5)
        assert bench.judge(20).cause == "compile"


class TestQueueOfAnotherRequest:
    @staticmethod
    def bench(other_serves: int) -> Answer:
        """The main thread sleeps; a queue that another thread drains is empty meanwhile."""
        bench = Bench()
        bench.event(r.Name, 20, "prefetch-b")
        for i in range(26):
            bench.event(r.Queue, 20, 1, 4, tid=WORKER)
            bench.event(r.Span, other_serves, i, bench.number("forward"), 10 * MS, tid=OTHER)
            bench.event(r.Queue, 20, 0, 4, tid=OTHER)
            if i == 20:
                bench.sleep(200)
            bench.event(r.Queue, 20, 1, 4, tid=WORKER)
            bench.event(r.Queue, 20, 2, 4, tid=WORKER)
            bench.event(r.Queue, 20, 1, 4, tid=OTHER)
            bench.frame()
        return bench.judge(20)

    def test_is_not_this_ones(self) -> None:
        found = self.bench(other_serves=2)
        assert found.names == ["blocked"]

    def test_of_this_ones_own_model_thread_is(self) -> None:
        assert self.bench(other_serves=1).names == ["queue"]


class TestWorkerThreads:
    """What other threads waited for a core is this one's loss only where it waits for them."""

    @staticmethod
    def judged(*, usual_wait_ms: float, says_spans: bool) -> Answer:
        bench = Bench()
        pid = r.pid_of(PROC)
        for i in range(26):
            bench.add(
                r.HostThread(
                    bench.now, pid, WORKER, "t", 30 * i * MS, (80 if i > 20 else 0) * MS + i * MS
                )
            )
            if says_spans:
                bench.foreign_span("decode", bench.now, 3, index=i + 2)
            late = 100 if i == 20 else 0
            bench.frame(forward=lambda late=late: bench.sleep(usual_wait_ms + late))
        bench.add(r.HostThread(bench.now, pid, WORKER, "t", 900 * MS, 110 * MS))
        return bench.judge(20)

    def test_a_step_that_always_waits_for_its_workers(self) -> None:
        found = self.judged(usual_wait_ms=1, says_spans=False)
        assert "cpu_contention" in found.names

    def test_a_step_that_never_does(self) -> None:
        found = self.judged(usual_wait_ms=0, says_spans=False)
        assert found.names == ["blocked"]

    def test_a_thread_with_work_of_its_own_is_no_worker(self) -> None:
        found = self.judged(usual_wait_ms=1, says_spans=True)
        assert found.names == ["blocked"]


def test_the_emitting_threads_own_spans_make_no_model_thread_of_it() -> None:
    """Work of the emitting thread between its own spans stays what it was: not explained."""
    bench = Bench()
    cpu = 0
    for i in range(26):
        if i == 20:
            bench.run(200)
            cpu += 200 * MS
        bench.run(30)
        cpu += 30 * MS
        bench.event(r.Span, 1, i, bench.number("forward"), 30 * MS, 30 * MS, 0, cpu, 0, tid=MAIN)
        bench.emit()
    assert bench.judge(20).cause == "unexplained"


class TestStopped:
    """SIGSTOP, Ctrl-Z: the process stands still, whatever it was at."""

    @staticmethod
    def stopped(bench: Bench, ms: float, seen_late_ms: float = 10) -> None:
        begin = bench.now
        bench.sleep(ms)
        late = int(seen_late_ms * MS)
        bench.add(r.TargetStopped(begin + late, PROC, True))
        bench.add(r.TargetStopped(bench.now + late, PROC, False))

    def test_inside_a_resize_it_is_no_supply(self) -> None:
        found = late_frame(lambda b: b.frame(resize=lambda: self.stopped(b, 300)))
        assert found.cause == "blocked"
        assert 285 <= found.ms("blocked") <= 305
        assert "supply" not in found.names
        assert found.evidence("blocked").source == "the process was stopped"

    def test_inside_a_step(self) -> None:
        found = late_frame(lambda b: b.frame(forward=lambda: self.stopped(b, 300)))
        assert found.names == ["blocked"]
        assert 285 <= found.ms("blocked") <= 305

    def test_inside_a_write(self) -> None:
        found = late_frame(lambda b: b.frame(write=lambda: self.stopped(b, 300)))
        assert found.cause == "blocked"

    def test_without_the_counters_too(self) -> None:
        found = late_frame(
            lambda b: b.frame(before=lambda: self.stopped(b, 300)), Bench(counters=False)
        )
        assert found.cause == "blocked"
        assert 285 <= found.ms("blocked") <= 305

    def test_with_a_gpu_in_use_too(self) -> None:
        bench = Bench()
        bench.event(r.TorchMemory, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        found = late_frame(lambda b: b.frame(forward=lambda: self.stopped(b, 300)), bench)
        assert found.cause == "blocked"

    def test_beside_work_both_are_named(self) -> None:
        def both(bench: Bench) -> None:
            self.stopped(bench, 200)
            bench.run(150)

        found = late_frame(lambda b: b.frame(resize=lambda: both(b)))
        assert found.names == ["blocked", "supply"]
        assert 140 <= found.ms("supply") <= 165

    def test_the_models_thread_in_its_step(self) -> None:
        bench = Bench()
        for i in range(26):
            begin = bench.now
            if i == 20:
                self.stopped(bench, 300)
            bench.sleep(30)
            took = (bench.now - begin) / MS
            bench.foreign_span("forward", begin, took, index=i, cpu_ms=30)
            bench.emit()
        found = bench.judge(20)
        assert found.names == ["blocked"]
        assert 285 <= found.ms("blocked") <= 305

    def test_another_process_was(self) -> None:
        bench = Bench()
        bench.frames(20)
        begin = bench.now
        bench.add(r.TargetStopped(begin, PROC + 1, True))
        bench.frame(resize=lambda: bench.run(200))
        bench.add(r.TargetStopped(bench.now, PROC + 1, False))
        bench.frames(5)
        assert bench.judge(20).names == ["supply"]

    def test_one_that_is_stopped_still_when_the_log_ends(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.add(r.TargetStopped(bench.now, PROC, True))
        assert bench.channels().process(PROC).stopped(bench.now - MS, bench.now + MS) == [
            (bench.now, bench.now + MS)
        ]


class TestSteal:
    """The hypervisor gave the core to somebody else: the thread ran, and yet stood still."""

    @staticmethod
    def judged(stolen_ms: float, *, usual_ms: float = 0, in_step: bool = True) -> Answer:
        bench = Bench()
        steal = 0.0
        for i in range(26):
            bench.add(r.HostCpu(bench.now, 2, 0, 0, None, 1, 1, steal_ns=int(steal * MS)))
            if i == 20:
                steal += stolen_ms
            steal += usual_ms

            def stands(late: bool = i == 20) -> None:
                bench.sleep(100 if late else 0)

            if in_step:
                bench.frame(forward=stands)
            else:
                bench.frame(before=stands)
        bench.add(r.HostCpu(bench.now, 2, 0, 0, None, 1, 1, steal_ns=int(steal * MS)))
        return bench.judge(20)

    def test_inside_a_step(self) -> None:
        found = self.judged(100)
        assert found.names == ["cpu_contention"]
        assert found.share("cpu_contention").bound == "upper"
        assert found.evidence("cpu_contention").source == "steal time"

    def test_between_spans(self) -> None:
        assert self.judged(100, in_step=False).names == ["cpu_contention"]

    def test_only_as_much_as_was_stolen(self) -> None:
        found = self.judged(30)
        assert found.names == ["blocked", "cpu_contention"]
        assert 25 <= found.ms("cpu_contention") <= 35

    def test_what_is_always_stolen_explains_nothing(self) -> None:
        assert self.judged(5, usual_ms=30).names == ["blocked"]

    def test_machines_that_do_not_tell(self) -> None:
        bench = Bench()
        for i in range(26):
            bench.add(r.HostCpu(bench.now, 2, 0, 0, None, 1, 1))
            bench.frame(before=lambda late=i == 20: bench.sleep(100 if late else 0))
        assert bench.judge(20).names == ["blocked"]


class TestGpuBusyForLonger:
    """Spans return at once and the wait for the GPU is in none: its own time line tells."""

    @staticmethod
    def judged(bench: Bench, *, came_ms_ago: float | None = None, oom: bool = False) -> Answer:
        neighbour = r.GpuProcess(bench.now, 0, 77, 0, "neighbour", "none")
        bench.add(r.GpuDevice(bench.now, 0, "GPU-1", "Test", 24_000 * MIB, ordinals=[0]))
        bench.add(r.GpuProcess(bench.now, 0, r.pid_of(PROC), MIB, "target", "pid"))
        bench.add(neighbour)
        for i in range(60):
            late = i == 50
            if late and came_ms_ago is not None:
                at = bench.now - int(came_ms_ago * MS)
                bench.add(r.GpuProcess(at, 0, 77, 2_000 * MIB, "neighbour", "none"))
            bench.span("forward", lambda: bench.run(3))
            if late and oom:
                bench.event(r.Failure, "OutOfMemoryError", "CUDA out of memory", 1, i)
            bench.sleep(137 if late else 37)
            frame = bench.emit()
            busy = 130 if late else 30
            bench.event(r.GpuWork, 1, frame.emit, busy * MS, 5 * MS, 1)
        return bench.judge(50)

    def test_by_itself_it_is_compute(self) -> None:
        assert self.judged(Bench()).names == ["compute"]

    def test_a_frame_made_again_after_running_out_of_memory(self) -> None:
        found = self.judged(Bench(), oom=True)
        assert found.names == ["oom"]
        assert 95 <= found.ms("oom") <= 105
        assert found.share("oom").bound == "upper"

    def test_beside_a_neighbour_that_just_came(self) -> None:
        found = self.judged(Bench(), came_ms_ago=-20)
        assert found.names == ["neighbour"]
        assert 95 <= found.ms("neighbour") <= 105

    def test_beside_one_that_came_in_the_frames_before(self) -> None:
        """Time is shared as long as it works, not only in the frame that it came in."""
        assert self.judged(Bench(), came_ms_ago=400).names == ["neighbour"]

    def test_beside_one_that_has_been_there_for_long(self) -> None:
        found = self.judged(Bench(), came_ms_ago=1_500)
        assert found.names == ["compute"]
        assert found.state("neighbour") == "not_resolved"
