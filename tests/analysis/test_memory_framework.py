"""The framework's own account: processes summed, cards apart, allocators that differ."""

from __future__ import annotations

from typing import Any

import pytest
from tail_bench import MIB, PROC, START
from test_memory import PID, TOTAL_MIB, Session, steady

from mgtop.analysis.channels import Channels
from mgtop.analysis.memory import memory_summary
from mgtop.analysis.memory_figures import MemorySummary
from mgtop.wire import records as r

OTHER = r.proc_of(5151, 2000)


def torch_memory(
    session: Session,
    allocated: float,
    reserved: float,
    *,
    proc: int = PROC,
    device: int = 0,
    request: int = 1,
    emit: int = 5,
    peak: float | None = None,
    reserved_peak: float | None = None,
    retries: int = 0,
) -> None:
    """What an allocator holds now."""
    session.add(
        r.TorchMemory(
            session.now, 0, proc, 11, request, emit, device, int(allocated * MIB),
            int(reserved * MIB), int((allocated if peak is None else peak) * MIB), retries, 0, 0, 0,
            reserved_peak_bytes=int((reserved if reserved_peak is None else reserved_peak) * MIB),
        )
    )  # fmt: skip


def allocator(session: Session, device: int = 0, **about: Any) -> None:
    session.add(r.TorchAllocator(session.now, 0, PROC, 11, device, **about))


def running(nvml: bool = True) -> Session:
    """A request in its steady stage."""
    session = Session(nvml=nvml)
    session.begin()
    for _ in range(4):
        session.make()
    return session


def steady_mib(found: MemorySummary, what: str) -> float | None:
    value = getattr(found.stages["steady"], f"{what}_mib")
    assert value is None or isinstance(value, float)
    return value


class TestProcesses:
    def test_those_of_one_card_are_summed(self) -> None:
        session = running()
        torch_memory(session, 3_000, 4_000)
        torch_memory(session, 1_000, 1_500, proc=OTHER)
        torch_memory(session, 2_000, 4_000)
        found = session.summary()
        assert steady_mib(found, "allocated") == 4_000
        assert steady_mib(found, "reserved") == 5_500

    def test_one_that_has_left_no_longer_counts(self) -> None:
        session = running()
        torch_memory(session, 3_000, 4_000, proc=OTHER)
        session.sleep(10)
        torch_memory(session, 1_000, 1_000)
        session.add(r.GpuProcess(session.now, 0, 5151, 0, "target", "pid"))
        session.sleep(2_000)
        torch_memory(session, 1_500, 2_000)
        channels = session.channels()
        assert channels.memory.gpus[0].in_use["reserved"] == 2_000 * MIB

    def test_a_peak_of_one_is_told_on_top_of_the_other(self) -> None:
        session = running()
        torch_memory(session, 1_000, 1_000, proc=OTHER)
        torch_memory(session, 2_000, 2_000)
        torch_memory(session, 2_000, 2_000, peak=2_500, reserved_peak=2_600)
        found = session.summary()
        assert steady_mib(found, "allocated") == 3_500
        assert steady_mib(found, "reserved") == 3_600

    def test_neighbours_are_told_apart(self) -> None:
        session = steady(lambda i: 9_000, frames=30)
        session.add(r.GpuProcess(session.now, 0, 77, 3_000 * MIB, "neighbour", "none", "python"))
        found = session.summary()
        assert found.peak.mib == 9_000
        (gpu,) = found.gpus
        assert (gpu.others_mib, gpu.processes, gpu.process_mib) == (3_000, 1, 9_000)


class TestPeaks:
    def test_what_was_reached_while_loading_is_in_load(self) -> None:
        session = Session(nvml=False)
        session.load(1)
        session.loaded()
        torch_memory(session, 2_000, 2_000, request=0, emit=0, peak=6_000, reserved_peak=6_500)
        session.sleep(500)
        session.begin()
        for _ in range(5):
            session.make()
            torch_memory(session, 2_000, 2_000, peak=6_000, reserved_peak=6_500)
        found = session.summary()
        assert found.stages["load"].allocated_mib == 6_000
        assert found.stages["load"].reserved_mib == 6_500
        assert found.stages["steady"].allocated_mib == 2_000
        assert (found.peak.mib, found.peak.stage) == (6_500, "load")

    def test_one_of_the_second_frame_is_in_the_first_frames_stage(self) -> None:
        session = Session(nvml=False)
        session.begin()
        session.make()
        torch_memory(session, 1_000, 1_000, emit=0)
        session.make()
        torch_memory(session, 1_000, 1_000, emit=1, peak=3_000, reserved_peak=3_000)
        session.make()
        torch_memory(session, 1_000, 1_000, emit=2, peak=3_000, reserved_peak=3_000)
        found = session.summary()
        assert found.stages["first_frame"].allocated_mib == 3_000
        assert found.stages["steady"].allocated_mib == 1_000

    def test_a_program_that_resets_its_peak(self) -> None:
        session = running(nvml=False)
        torch_memory(session, 1_000, 1_000, peak=5_000, reserved_peak=5_000)
        session.sleep(2_000)
        torch_memory(session, 1_000, 1_000, peak=1_400, reserved_peak=1_000)
        channels = session.channels()
        last = channels.memory.gpus[-1].pending[-2]
        assert last.value in (1_400 * MIB, 1_000 * MIB)
        assert memory_summary(channels).stages["steady"].allocated_mib == 5_000

    def test_readings_between_frames_make_no_point(self) -> None:
        session = running(nvml=False)
        for _ in range(40):
            session.sleep(30)
            torch_memory(session, 1_000, 1_000)
        assert session.channels().memory.gpus[-1].points.all() == []


class TestCards:
    def test_each_card_of_several(self) -> None:
        session = Session()
        session.add(r.GpuDevice(START, 1, "GPU-2", "T", TOTAL_MIB * MIB, ordinals=[1]))
        session.begin()
        for _ in range(4):
            session.make()
        torch_memory(session, 3_000, 4_000)
        torch_memory(session, 7_000, 9_000, device=1)
        found = session.summary()
        assert [(gpu.uuid, gpu.reserved_mib) for gpu in found.gpus] == [
            ("GPU-1", 4_000), ("GPU-2", 9_000),
        ]  # fmt: skip
        assert (found.peak.mib, found.peak.source) == (9_000, "framework")

    def test_without_the_driver_torch_tells_the_total(self) -> None:
        session = running(nvml=False)
        allocator(session, backend="native", total_bytes=80 << 30, limit_bytes=40 << 30)
        torch_memory(session, 3_000, 4_000)
        found = session.summary()
        assert found.total_mib == 80 * 1_024
        assert found.allocator.limit_mib == 40 * 1_024
        assert found.gpus[0].gpu == -1
        assert found.unavailable["process"]

    def test_mig_where_the_driver_does_not_tell_of_processes(self) -> None:
        session = Session(nvml=False)
        session.add(r.GpuDevice(START, 0, "MIG-1", "M", 20_000 * MIB, ordinals=[0], mig=True))
        session.begin()
        for _ in range(30):
            session.add(r.GpuMemory(session.now, 0, 6_000 * MIB))
            session.add(r.GpuProcess(session.now, 0, PID, None, "target", "pid"))
            session.make()
            torch_memory(session, 5_000, 5_500, emit=session.emits[-1].emit)
        found = session.summary()
        assert found.total_mib == 20_000
        assert (found.peak.mib, found.peak.source) == (5_500, "framework")
        assert "MIG" in found.unavailable["process"]
        assert found.stages["steady"].device_mib == 6_000
        assert found.gpus[0].mig

    def test_unified_memory_is_the_whole_machines(self) -> None:
        session = Session(nvml=False)
        session.add(
            r.GpuDevice(START, 0, "GPU-1", "GB10", 120_000 * MIB, ordinals=[0], unified=True)
        )
        session.begin()
        for _ in range(30):
            session.add(r.GpuMemory(session.now, 0, 50_000 * MIB))
            session.make()
            torch_memory(session, 5_000, 5_500, emit=session.emits[-1].emit)
        found = session.summary()
        assert (found.peak.mib, found.peak.source) == (5_500, "framework")
        assert "shares the machine's memory" in found.unavailable["device"]
        assert "shares the machine's memory" in found.unavailable["process"]


class TestAllocators:
    def test_an_async_one_counts_no_retries(self) -> None:
        session = running()
        torch_memory(session, 1_000, 1_000)
        assert session.summary().retries == 0
        allocator(session, backend="cudaMallocAsync", settings="backend:cudaMallocAsync")
        torch_memory(session, 1_000, 1_000)
        found = session.summary()
        assert found.retries is None
        assert found.allocator.backend == "cudaMallocAsync"
        assert "does not count retries" in found.unavailable["retries"]
        assert "no segments" in found.unavailable["segments"]

    def test_expandable_segments_are_said(self) -> None:
        session = running()
        allocator(session, backend="native", settings="expandable_segments:True", expandable=True)
        torch_memory(session, 1_000, 1_000)
        assert session.summary().allocator.expandable is True

    def test_retries_are_pinned_with_their_frame(self) -> None:
        session = running()
        torch_memory(session, 1_000, 1_000, emit=3)
        session.make()
        torch_memory(session, 1_000, 1_000, emit=4, retries=2)
        found = session.summary()
        assert found.retries == 2
        (mark,) = found.retry_marks
        assert (mark.stage, mark.frame, mark.count) == ("steady", 4, 2)


class TestGrowth:
    def leak(self, session: Session, frames: int = 200, rate: float = 0.5) -> MemorySummary:
        session.begin()
        for i in range(frames):
            session.allocated = 2_000 + rate * i
            session.reserved = 2_000 + 20 * int(1 + rate * i / 20)
            session.make()
        return session.summary()

    def test_tensors_tell_a_small_leak_that_segments_hide(self) -> None:
        found = self.leak(Session(nvml=False, torch=True))
        assert found.shape == "rising"
        assert found.growth is not None
        assert found.growth.of == "allocated"
        assert found.growth.mib_per_frame == pytest.approx(0.5, rel=0.01)
        assert found.growth.low_mib <= 0.5 <= found.growth.high_mib
        assert found.growth.frames <= 200
        assert "tensors" in found.text

    def test_frames_and_minutes_to_the_programs_own_cap(self) -> None:
        session = Session(nvml=False, torch=True)
        allocator(session, backend="native", total_bytes=80 << 30, limit_bytes=4_000 * MIB)
        found = self.leak(session, rate=5.0)
        # 2,995 of 4,000 MiB are allocated; a frame takes 100 ms.
        assert found.frames_to_limit == pytest.approx(1_005 / 5, abs=2)
        assert found.minutes_to_limit == pytest.approx(found.frames_to_limit * 0.1 / 60, rel=0.01)

    def test_what_the_allocator_keeps_unused_can_still_be_filled(self) -> None:
        session = Session(torch=True)
        session.process_mib = 9_000
        session.read()
        session.begin()
        for i in range(100):
            session.allocated, session.reserved = 2_000 + 10 * i, 8_000
            session.make()
        session.read()
        found = session.summary()
        # 24,000 less 9,000 in use, and 8,000 less 2,990 inside of that.
        assert found.frames_to_limit == pytest.approx((15_000 + 5_010) / 10, rel=0.01)

    def test_fragmentation_is_told_from_tensors_that_are_kept(self) -> None:
        session = Session(nvml=False, torch=True)
        session.begin()
        for i in range(150):
            session.allocated, session.reserved = 2_000, 3_000 + 10 * i
            session.make()
        found = session.summary()
        assert (found.shape, found.growth.of if found.growth else None) == ("rising", "reserved")
        assert "fragmentation" in found.text

    def test_few_frames_may_be_a_window_that_fills(self) -> None:
        found = self.leak(Session(nvml=False, torch=True), frames=60, rate=20.0)
        assert found.shape == "rising"
        assert "too few to tell" in found.text

    def test_a_window_that_filled_is_said(self) -> None:
        session = Session(nvml=False, torch=True)
        session.begin()
        for i in range(200):
            session.allocated = session.reserved = 2_000 + 20 * min(i, 60)
            session.make()
        found = session.summary()
        assert found.shape == "flat"
        assert found.filled is not None
        assert found.filled.mib == pytest.approx(1_160, abs=40)
        assert found.filled.by_frame == pytest.approx(58, abs=3)
        assert "no leak" in found.text

    def test_it_depends_on_the_records_alone(self) -> None:
        """However often somebody looked meanwhile, what is said at the end is the same."""
        session = Session(nvml=False, torch=True)
        self.leak(session)
        watched = Channels()
        for i, record in enumerate(session.records):
            watched.feed(record)
            if i % 3 == 0:
                memory_summary(watched)
        assert memory_summary(watched) == memory_summary(session.channels())


def test_the_time_of_each_peak_is_its_own() -> None:
    session = Session(torch=True)
    session.begin()
    for i in range(10):
        session.process_mib = 5_000 + 100 * (i == 6)
        session.read()
        session.allocated, session.reserved = 3_000 + 50 * (i == 8), 4_000
        session.make()
    stage = session.summary().stages["steady"]
    assert stage.process_t_ms == pytest.approx(600, abs=110)
    assert stage.allocated_t_ms == pytest.approx(900, abs=110)
    assert stage.process_t_ms is not None
    assert stage.allocated_t_ms is not None
    assert stage.process_t_ms < stage.allocated_t_ms
    assert stage.t_ms == stage.process_t_ms
