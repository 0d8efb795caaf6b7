"""Memory over a session: stages, the four readings, peaks, shapes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from tail_bench import MIB, MS, PROC, START, Bench

from mgtop.analysis.channels import Channels
from mgtop.analysis.memory import memory_summary
from mgtop.analysis.summary import MemorySummary
from mgtop.wire import records as r

TOTAL_MIB = 24_000
S = 1_000 * MS
PID = r.pid_of(PROC)


class Session(Bench):
    """A run with a load, requests and readings of memory where they are wanted."""

    def __init__(self, nvml: bool = True, torch: bool = False) -> None:
        super().__init__()
        self.nvml, self.torch = nvml, torch
        self.process_mib = self.other_mib = 0.0
        self.allocated = self.reserved = self.peak = 0.0
        self.retries = self.ooms = 0
        self.add(r.SessionStart(START, 0, 1, "0", "t"))
        if nvml:
            self.add(r.GpuDevice(START, 0, "GPU-1", "T", TOTAL_MIB * MIB, ordinals=[0]))
            self.add(r.SourceState(START, "nvml", "ok", "", 15 * MS, START))

    def use(self, mib: float, other: float | None = None) -> None:
        """The process has so much 1 ms from now; the device that and what others have."""
        self.sleep(1)
        self.process_mib = mib
        if other is not None:
            self.other_mib = other
        self.read()

    def read(self) -> None:
        if self.nvml:
            used = int((self.process_mib + self.other_mib) * MIB)
            self.add(r.GpuMemory(self.now, 0, used))
            if self.process_mib:
                used = int(self.process_mib * MIB)
                self.add(r.GpuProcess(self.now, 0, PID, used, "target", "pid"))

    def load(self, seconds: float = 5) -> None:
        self.event(r.Load, False)
        self.sleep(seconds * 1_000)

    def loaded(self) -> None:
        self.sleep(1)
        self.event(r.Load, True)

    def begin(self) -> None:
        self.event(r.RequestReceived, self.request, f"r{self.request}", {}, 0)

    def make(self, count: int = 1) -> None:
        """A frame of 100 ms, and what is read at its emit."""
        self.run(100)
        self.emit(count)
        if self.torch:
            self.peak = max(self.peak, self.allocated)
            self.event(
                r.TorchMemory,
                self.request,
                self.emits[-1].emit,
                0,
                int(self.allocated * MIB),
                int(self.reserved * MIB),
                int(self.peak * MIB),
                self.retries,
                self.ooms,
                0,
                0,
            )

    def summary(self) -> MemorySummary:
        return memory_summary(self.channels())


def steady(mib_at: Callable[[int], float], frames: int = 100) -> Session:
    """Load to 8,000 MiB, then frames with as much as ``mib_at`` says."""
    session = Session()
    session.use(0, other=500)
    session.load()
    session.use(8_000)
    session.loaded()
    session.sleep(3_000)
    session.read()
    session.begin()
    for i in range(frames):
        session.use(mib_at(i))
        session.make()
    session.sleep(2_000)
    session.read()
    return session


def test_nothing_read_is_nothing_known() -> None:
    found = memory_summary(Channels())
    assert found == MemorySummary(unavailable=found.unavailable)
    assert found.retries is None
    assert found.unavailable["process"] == "no GPU's memory was read"


def test_a_session_on_the_cpu_has_only_nulls() -> None:
    session = Session(nvml=False)
    session.load()
    session.loaded()
    session.begin()
    for _ in range(60):
        session.make()
    found = session.summary()
    assert found == MemorySummary(unavailable=found.unavailable)


class TestReadings:
    def test_the_four_readings_and_the_peak_of_each_stage(self) -> None:
        session = steady(lambda i: 11_000 if i == 0 else 9_000 + 10 * (i == 50))
        found = session.summary()
        assert found.total_mib == TOTAL_MIB
        assert found.baseline_mib == 0.0
        assert found.resident_mib == 8_000
        assert found.first_frame_mib == 11_000
        assert found.steady_mib == 9_000
        assert found.peak.mib == 11_000
        assert found.peak.stage == "first_frame"
        assert found.peak.source == "process"
        # 5 s of loading and 3 s of rest before the first frame.
        assert found.peak.t_ms == pytest.approx(8_000, abs=10)
        assert found.peak_extra_mib == 3_000
        assert list(found.stages) == ["load", "idle", "first_frame", "steady"]
        assert found.stages["load"].process_mib == 8_000
        assert found.stages["steady"].process_mib == 9_010
        assert found.stages["steady"].allocated_mib is None

    def test_the_devices_memory_is_never_the_processs_own(self) -> None:
        session = steady(lambda i: 9_000)
        found = session.summary()
        assert found.peak.mib == 9_000
        assert found.stages["steady"].device_mib == 9_500
        session = Session()
        session.use(0, other=6_000)
        session.begin()
        for _ in range(30):
            session.make()
        alone = session.summary()
        assert alone.peak.mib is None
        assert alone.resident_mib is None
        assert alone.stages["steady"].device_mib == 6_000
        assert alone.stages["steady"].process_mib is None

    def test_zero_before_loading_is_only_claimed_where_it_was_read(self) -> None:
        session = Session()
        session.load()
        session.use(4_000)
        session.loaded()
        session.begin()
        for _ in range(5):
            session.make()
        assert session.summary().baseline_mib is None

    def test_two_processes_on_one_card_are_summed(self) -> None:
        session = steady(lambda i: 9_000)
        session.add(r.GpuProcess(session.now, 0, PID + 1, 1_000 * MIB, "target", "pid"))
        assert session.summary().peak.mib == 10_000

    def test_of_several_cards_the_fullest_of_the_targets(self) -> None:
        session = steady(lambda i: 9_000)
        session.add(r.GpuDevice(session.now, 1, "GPU-2", "T", TOTAL_MIB * MIB, ordinals=[1]))
        session.add(r.GpuMemory(session.now, 1, 13_000 * MIB))
        session.add(r.GpuProcess(session.now, 1, PID, 12_000 * MIB, "target", "pid"))
        assert session.summary().peak.mib == 12_000

    def test_the_framework_alone_is_said_to_be_the_frameworks(self) -> None:
        session = Session(nvml=False, torch=True)
        session.begin()
        for i in range(40):
            session.allocated, session.reserved = 5_000, 6_000
            session.peak = 5_800 if i >= 5 else 5_000
            session.make()
        found = session.summary()
        assert found.peak.source == "framework"
        assert found.peak.mib == 6_000
        assert found.total_mib is None
        # The allocator's own peak rose at the sixth frame: it was reached there.
        assert found.stages["steady"].allocated_mib == 5_800
        assert found.stages["first_frame"].allocated_mib == 5_000
        assert found.stages["steady"].reserved_mib == 6_000
        assert found.stages["steady"].process_mib is None

    def test_side_by_side(self) -> None:
        session = Session(torch=True)
        session.load()
        session.use(7_000)
        session.loaded()
        session.begin()
        for _ in range(30):
            session.allocated, session.reserved = 5_000, 6_000
            session.make()
        stage = session.summary().stages["steady"]
        assert (stage.process_mib, stage.allocated_mib, stage.reserved_mib) == (7_000, 5_000, 6_000)

    def test_the_stages_of_a_second_request(self) -> None:
        session = steady(lambda i: 9_000, frames=30)
        session.event(r.StreamEnd, 1, 30)
        session.use(8_500)
        session.sleep(1_000)
        session.request, session.emits = 2, []
        session.begin()
        session.use(12_000)
        session.make()
        session.use(9_000)
        for _ in range(5):
            session.make()
        found = session.summary()
        assert found.peak.stage == "first_frame"
        assert found.stages["idle"].process_mib == 9_000  # what it still had when the request ended
        assert found.stages["steady"].process_mib == 9_000

    def test_blocks_count_as_frames(self) -> None:
        session = Session()
        session.begin()
        for i in range(4):
            session.use(9_000 + 100 * i)
            session.make(count=12)
        found = session.summary()
        assert found.stages["first_frame"].process_mib == 9_100
        assert found.stages["steady"].process_mib == 9_300

    def test_readings_wait_for_the_event_that_names_their_stage(self) -> None:
        """A reading of 10 ms after an emit can be written before it."""
        session = Session()
        session.begin()
        session.use(9_000)
        session.make()
        session.make()
        emit = session.records.pop()
        session.add(r.GpuProcess(emit.t_ns + 10 * MS, 0, PID, 11_000 * MIB, "target", "pid"))
        session.add(emit)
        session.sleep(3_000)
        session.use(9_000)
        assert session.summary().peak.stage == "steady"


class TestShape:
    def test_flat(self) -> None:
        source = random.Random(1)
        found = steady(lambda i: 9_000 + source.choice([0, 2, 4])).summary()
        assert found.shape == "flat"
        assert found.growth_mib_per_frame == pytest.approx(0, abs=0.05)
        assert found.frames_to_limit is None

    def test_load_only(self) -> None:
        session = Session()
        session.load()
        session.use(15_000)
        session.use(9_000)
        session.loaded()
        session.begin()
        for _ in range(60):
            session.use(9_100)
            session.make()
        found = session.summary()
        assert (found.shape, found.peak.stage) == ("load_only", "load")

    def test_first_frame(self) -> None:
        found = steady(lambda i: 13_000 if i == 0 else 9_000).summary()
        assert (found.shape, found.peak.stage) == ("first_frame", "first_frame")

    def test_rising_with_the_growth_and_the_frames_left(self) -> None:
        found = steady(lambda i: 9_000 + 5 * i, frames=200).summary()
        assert found.shape == "rising"
        assert found.growth_mib_per_frame == pytest.approx(5, rel=0.02)
        # 24,000 less 500 of others less 9,995 of its own.
        assert found.frames_to_limit == pytest.approx((24_000 - 10_495) / 5, rel=0.02)

    def test_a_leak_under_noise(self) -> None:
        source = random.Random(2)
        found = steady(lambda i: 9_000 + 0.5 * i + source.uniform(-2, 2), frames=200).summary()
        assert found.shape == "rising"
        assert found.growth_mib_per_frame == pytest.approx(0.5, rel=0.1)

    def test_a_window_that_fills_up_and_stays_is_no_leak(self) -> None:
        found = steady(lambda i: 9_000 + 20 * min(i, 60), frames=200).summary()
        assert found.shape == "flat"
        assert found.frames_to_limit is None

    def test_sawtooth_near_the_limit(self) -> None:
        session = steady(lambda i: 18_000 + 1_000 * (i % 20) / 4, frames=200)
        assert session.summary().shape == "sawtooth"

    def test_a_sawtooth_far_from_the_limit_is_something_else(self) -> None:
        session = steady(lambda i: 4_000 + 1_000 * (i % 20) / 4, frames=200)
        assert session.summary().shape != "sawtooth"

    def test_retries_make_a_sawtooth_where_polling_saw_none(self) -> None:
        session = Session(nvml=False, torch=True)
        session.begin()
        for i in range(60):
            session.allocated, session.reserved = 5_000, 6_000
            session.retries = i // 15
            session.make()
        found = session.summary()
        assert (found.shape, found.retries) == ("sawtooth", 3)

    def test_too_few_frames_are_unknown(self) -> None:
        found = steady(lambda i: 9_000, frames=10).summary()
        assert (found.shape, found.growth_mib_per_frame) == ("unknown", None)

    def test_long_sessions_keep_a_bounded_even_sample(self) -> None:
        session = steady(lambda i: 9_000 + 0.01 * i, frames=3_000)
        channels = session.channels()
        points = channels.memory.gpus[0].points.all()
        assert 200 < len(points) < 600
        gaps = {b.frames - a.frames for a, b in itertools.pairwise(points[:-1])}
        assert gaps == {8}
        assert memory_summary(channels).growth_mib_per_frame == pytest.approx(0.01, rel=0.05)

    def test_flat_runs_with_noise_are_not_called_rising(self) -> None:
        source = random.Random(3)
        shapes = []
        for _ in range(40):
            session = Session(nvml=False, torch=True)
            session.begin()
            for _ in range(60):
                session.reserved = 9_000 + source.gauss(0, 30)
                session.make()
            shapes.append(session.summary().shape)
        assert "rising" not in shapes


class TestOom:
    def test_it_ends_with_its_stage_and_frame(self) -> None:
        session = steady(lambda i: 9_000, frames=40)
        session.event(r.Failure, "torch.OutOfMemoryError", "CUDA out of memory. Tried", 1, 40)
        (found,) = session.summary().ooms
        assert (found.stage, found.frame) == ("steady", 40)
        assert found.message == "torch.OutOfMemoryError: CUDA out of memory. Tried"

    def test_raised_printed_and_counted_it_is_one(self) -> None:
        session = Session(torch=True)
        session.begin()
        for _ in range(3):
            session.make()
        session.event(r.Failure, "torch.OutOfMemoryError", "CUDA out of memory", 1, 3)
        session.ooms = 1
        session.make()
        for line in ("Traceback: OutOfMemoryError", "torch.OutOfMemoryError: CUDA out of memory x"):
            session.add(r.OutputLine(session.now + 30 * MS, 0, "oom", line))
        (found,) = session.summary().ooms
        assert found.message == "torch.OutOfMemoryError: CUDA out of memory"

    def test_what_was_printed_says_more_than_a_counter(self) -> None:
        session = Session(torch=True)
        session.begin()
        session.make()
        session.ooms = 1
        session.make()
        for line in ("OutOfMemoryError", "torch.OutOfMemoryError: CUDA out of memory. Tried"):
            session.add(r.OutputLine(session.now + 30 * MS, 0, "oom", line))
        (found,) = session.summary().ooms
        assert found.message == "torch.OutOfMemoryError: CUDA out of memory. Tried"

    def test_two_are_two(self) -> None:
        session = Session()
        session.begin()
        for i in range(2):
            session.make()
            session.event(r.Failure, "torch.OutOfMemoryError", "CUDA out of memory", 1, i)
            session.sleep(1_000)
        assert len(session.summary().ooms) == 2

    def test_at_load(self) -> None:
        session = Session()
        session.load()
        session.add(r.OutputLine(session.now, 0, "oom", "CUDA out of memory"))
        (found,) = session.summary().ooms
        assert (found.stage, found.frame) == ("load", None)

    def test_another_error_is_none(self) -> None:
        session = Session()
        session.begin()
        session.make()
        session.event(r.Failure, "ValueError", "bad shape", 1, 1)
        session.add(r.OutputLine(session.now, 0, "error", "boom"))
        assert session.summary().ooms == []


@pytest.mark.parametrize(("in_use_mib", "count"), [(TOTAL_MIB - 500, 1), (TOTAL_MIB - 5_000, 0)])
def test_what_memory_errors_hide_behind_counts_where_memory_is_short(
    in_use_mib: int, count: int
) -> None:
    session = Session()
    session.load()
    session.use(in_use_mib)
    session.read()
    line = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate"
    session.add(r.OutputLine(session.now, 0, "oom_suspect", line))
    assert len(session.summary().ooms) == count


def test_asking_for_it_changes_nothing() -> None:
    session = steady(lambda i: 9_000 + i)
    asked = Channels()
    for record in session.records:
        asked.feed(record)
        memory_summary(asked)
    assert memory_summary(asked) == session.summary()
