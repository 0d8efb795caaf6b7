"""Memory beside its peaks: stages without events, curves that differ, errors, RAM."""

from __future__ import annotations

import itertools

import pytest
from tail_bench import MIB, MS, START
from test_memory import PID, TOTAL_MIB, Session, steady

from mgtop.analysis.memory import fullest
from mgtop.analysis.memory_over_time import memory_pins, stage_spans
from mgtop.analysis.model import Model
from mgtop.wire import records as r

OOM = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.44 GiB of "
    "which 1.10 GiB is free. Process 77 has 512.00 MiB memory in use. Including non-PyTorch "
    "memory, this process has 21.00 GiB memory in use. Of the allocated memory 20.00 GiB is "
    "allocated by PyTorch, and 300.00 MiB is reserved by PyTorch but unallocated."
)


class TestStages:
    def watch(self, session: Session, seconds: float, mib: float, percent: float) -> None:
        """So long, so much memory and utilisation, read ten times a second."""
        for _ in range(int(seconds * 10)):
            session.sleep(100)
            session.process_mib = mib
            session.read()
            session.add(r.GpuUtilisation(session.now, 0, percent, None, 200 * MS, "poll"))

    def test_without_events_they_are_guessed_and_said_to_be(self) -> None:
        session = Session()
        for i in range(50):
            self.watch(session, 0.1, 200 * i, 30)
        self.watch(session, 8, 10_000, 0)  # loaded, and nobody asks for anything
        self.watch(session, 1, 14_000, 90)  # the first frame
        self.watch(session, 6, 12_000, 90)
        self.watch(session, 5, 12_000, 0)
        found = session.summary()
        stages = {stage: memory.process_mib for stage, memory in found.stages.items()}
        assert stages == {
            "load": 10_000, "idle": 12_000, "first_frame": 14_000, "steady": 12_000,
        }  # fmt: skip
        assert all(memory.inferred for memory in found.stages.values())
        assert found.peak.stage == "first_frame"

    def test_events_are_believed_before_what_is_seen(self) -> None:
        found = steady(lambda i: 9_000, frames=30).summary()
        assert not any(memory.inferred for memory in found.stages.values())

    def test_the_end_of_loading_by_the_first_request_is_inferred(self) -> None:
        session = Session()
        session.use(9_000)
        session.sleep(10)
        session.begin()
        for _ in range(4):
            session.make()
        found = session.summary()
        assert found.stages["load"].inferred
        assert not found.stages["steady"].inferred

    def test_a_program_that_says_its_weights_are_loaded(self) -> None:
        session = Session()
        self.watch(session, 1, 5_000, 0)
        session.add(r.OutputLine(session.now, 0, "weights_loaded", "Loaded weights"))
        self.watch(session, 1, 5_000, 0)
        spans = stage_spans(session.channels().memory, START, START, session.now)
        assert [span.stage for span in spans] == ["load", "idle"]

    def test_spans_of_a_window(self) -> None:
        session = steady(lambda i: 9_000, frames=10)
        session.event(r.StreamEnd, 1, 10)
        session.sleep(1_000)
        log = session.channels().memory
        spans = stage_spans(log, START, START, session.now)
        assert [span.stage for span in spans] == [
            "load", "idle", "first_frame", "steady", "idle",
        ]  # fmt: skip
        assert all(a.end_ns == b.begin_ns for a, b in itertools.pairwise(spans))
        assert spans[-1].end_ns is None
        (last,) = stage_spans(log, START, session.now - 1, session.now)
        assert last.stage == "idle"


class TestCurvesThatDiffer:
    def session(self, emit_ms: float, period_ms: int = 100) -> Session:
        """Every frame reserves 3,000 MiB more for a moment that polling does not see."""
        session = Session()
        session.add(r.SourceState(START, "nvml.processes:0", "ok", "", period_ms * MS, START))
        session.begin()
        session.process_mib = 5_000
        for i in range(40):
            session.run(emit_ms)
            session.read()
            session.emit()
            session.event(
                r.TorchMemory, 1, i, 0, 4_000 * MIB, 4_500 * MIB, 7_400 * MIB, 0, 0, 0, 0,
                None, None, 7_500 * MIB,
            )  # fmt: skip
        return session

    def test_polling_that_missed_a_peak_is_told_with_the_interval_to_use(self) -> None:
        found = self.session(emit_ms=160).summary()
        (one,) = [one for one in found.differ if one.kind == "missed"]
        # 7,500 by the framework and 500 that the driver counts beside it, against 5,000.
        assert one.mib == pytest.approx(3_000)
        assert one.share == pytest.approx(3_000 / 8_000)
        assert one.stage == "first_frame"
        assert (one.period_ms, one.use_ms) == (100, 80)
        assert "every 80 ms" in one.text

    def test_frames_too_quick_for_any_polling(self) -> None:
        found = self.session(emit_ms=40).summary()
        (one,) = [one for one in found.differ if one.kind == "missed"]
        assert one.use_ms is None
        assert "the framework's own readings" in one.text

    def test_within_10_percent_nothing_is_said(self) -> None:
        session = Session(torch=True)
        session.process_mib = 5_400
        session.begin()
        for _ in range(40):
            session.allocated, session.reserved = 4_500, 5_000
            session.read()
            session.make()
        assert session.summary().differ == []

    def test_memory_outside_the_framework(self) -> None:
        session = Session(torch=True)
        session.process_mib = 5_000
        session.begin()
        for _ in range(40):
            session.allocated, session.reserved = 900, 1_000
            session.read()
            session.make()
        (one,) = session.summary().differ
        assert (one.kind, one.mib) == ("outside", 4_000)
        assert one.share == pytest.approx(0.8)


class TestErrors:
    def test_amounts_of_the_message_and_what_was_in_use(self) -> None:
        session = steady(lambda i: 9_000, frames=40)
        session.event(r.Failure, "OutOfMemoryError", OOM, 1, 40)
        (found,) = session.summary().ooms
        assert {name: round(mib, 2) for name, mib in found.amounts_mib.items()} == {
            "requested": 2_048, "total": 24_002.56, "free": 1_126.4, "allocated": 20_480,
            "unallocated": 300, "process": 21_504, "others": 512,
        }  # fmt: skip
        assert (found.process_mib, found.device_mib) == (9_000, 9_500)
        assert (found.allocated_mib, found.request) == (None, "r1")
        assert found.seen == ["raised"]
        assert found.t_ms == pytest.approx((session.now - START) / 1e6)

    def test_a_printed_message_adds_what_the_counter_did_not_say(self) -> None:
        session = Session(torch=True)
        session.begin()
        session.make()
        session.ooms = 1
        session.make()
        session.add(r.OutputLine(session.now + 30 * MS, 0, "oom", OOM, {"requested": 2 << 30}))
        (found,) = session.summary().ooms
        assert found.amounts_mib == {"requested": 2_048}
        assert found.seen == ["counted", "printed"]

    def test_a_later_unrelated_error_does_not_hide_it(self) -> None:
        session = steady(lambda i: 9_000, frames=40)
        session.event(r.Failure, "OutOfMemoryError", OOM, 1, 40)
        session.sleep(500)
        session.event(r.Failure, "AttributeError", "'NoneType' object has no attribute 'shape'")
        session.add(r.OutputLine(session.now, 0, "error", "AttributeError: 'NoneType' object"))
        session.add(r.TargetExit(session.now, 1, None))
        model = Model()
        model.feed_all(session.records)
        model.finish()
        verdict = model.summary().verdict
        assert (verdict.code, verdict.cause) == ("memory", "oom")
        assert "at frame 40" in verdict.text
        assert any("it asked for 2,048 MiB" in line for line in verdict.because)
        assert any("9,000 MiB by the process" in line for line in verdict.because)

    def full(self, environment: dict[str, str], oom: bool = False) -> Session:
        """At the limit frames take five times as long; where drivers spill, that is why."""
        session = Session()
        session.records[0] = r.SessionStart(START, 0, 1, "0", "t", environment=environment)
        session.begin()
        for i in range(60):
            session.use(12_000 if i < 30 else 23_800, other=0)
            session.run(100 if i < 30 else 500)
            session.emit()
        if oom:
            session.event(r.Failure, "OutOfMemoryError", OOM, 1, 60)
        return session

    def test_spill_without_an_error(self) -> None:
        session = self.full({"os": "Ubuntu", "kernel": "5.15.0-microsoft-standard-WSL2"})
        found = session.summary()
        assert found.spill is not None
        assert found.spill.slower == pytest.approx(5, rel=0.05)
        assert found.ooms == []
        pins = memory_pins(session.channels().memory, START, session.now)
        assert [pin.kind for pin in pins] == ["spill"]
        model = Model()
        model.feed_all(session.records)
        model.finish()
        verdict = model.summary().verdict
        assert (verdict.code, verdict.cause) == ("memory", "spill")
        assert "without any error" in verdict.text

    def test_on_plain_linux_drivers_do_not_spill(self) -> None:
        assert self.full({"os": "Ubuntu", "kernel": "6.8.0"}).summary().spill is None

    def test_with_an_error_it_is_no_spill(self) -> None:
        found = self.full({"os": "Windows 11"}, oom=True).summary()
        assert found.spill is None
        assert len(found.ooms) == 1

    def test_errors_and_retries_are_pinned(self) -> None:
        session = Session(torch=True)
        session.begin()
        for i in range(6):
            session.retries = int(i >= 3)
            session.make()
        session.event(r.Failure, "OutOfMemoryError", OOM, 1, 6)
        channels = session.channels()
        pins = memory_pins(channels.memory, START, session.now + 1)
        assert [(pin.kind, pin.stage, pin.frame) for pin in pins] == [
            ("retry", "steady", 3), ("oom", "steady", 6),
        ]  # fmt: skip
        assert memory_pins(channels.memory, START, START + 1) == []
        assert fullest(channels) == 0


class TestSegmentMaps:
    def test_one_that_was_taken(self) -> None:
        session = Session(torch=True)
        session.begin()
        session.make()
        session.event(r.SegmentMap, 1, 0, 12 * MS, "20261201-050000", 77, 4_000 * MIB, 3_000 * MIB)
        (found,) = session.summary().segment_maps
        assert (found.request, found.frame, found.took_ms, found.segments) == ("r1", 0, 12, 77)
        assert found.path == f"snapshots/20261201-050000/segments-{PID}.json"
        calls = session.channels().host.observer_calls
        assert [(call.call, call.duration_ns) for call in calls] == [("segment map", 12 * MS)]

    def test_one_that_could_not_be(self) -> None:
        session = Session(torch=True)
        session.begin()
        session.event(r.SegmentMap, 1, 0, MS, "t", None, None, None, "RuntimeError: no")
        (found,) = session.summary().segment_maps
        assert (found.segments, found.error) == (None, "RuntimeError: no")


class TestRam:
    def session(self, mib_a_frame: float, frames: int = 200) -> Session:
        session = Session(nvml=False)
        session.begin()
        for i in range(frames):
            used = int((1_000 + mib_a_frame * i) * MIB)
            session.add(r.HostMemory(session.now, 16_000 * MIB, 8_000 * MIB, used))
            session.run(100)
            session.emit()
        return session

    def test_a_leak_without_a_gpu_is_one_of_ram(self) -> None:
        session = self.session(2.0)
        found = session.summary()
        assert found.shape == "unknown"
        assert found.growth is None
        assert found.peak.mib is None
        assert found.host.shape == "rising"
        assert found.host.growth is not None
        assert found.host.growth.mib_per_frame == pytest.approx(2.0, rel=0.02)
        assert found.host.frames_to_limit == pytest.approx(4_000, rel=0.02)
        assert found.host.minutes_to_limit == pytest.approx(4_000 / 600, rel=0.03)
        assert (found.host.peak_mib, found.host.stage) == (pytest.approx(1_398), "steady")
        model = Model()
        model.feed_all(session.records)
        model.finish()
        verdict = model.summary().verdict
        assert verdict.code == "memory"
        assert "no GPU memory" in verdict.text

    def test_flat_ram(self) -> None:
        found = self.session(0.0).summary()
        assert (found.host.shape, found.host.frames_to_limit) == ("flat", None)

    def test_the_limit_is_the_cgroups_where_it_has_one(self) -> None:
        session = self.session(2.0)
        session.add(
            r.HostMemory(session.now, 16_000 * MIB, 8_000 * MIB, 1_400 * MIB,
                         cgroup_bytes=1_500 * MIB, cgroup_limit_bytes=2_000 * MIB)
        )  # fmt: skip
        found = session.summary()
        assert found.host.limit_mib == 2_000
        assert found.host.frames_to_limit == pytest.approx(250, rel=0.02)


def test_nothing_is_read_of_a_gpu_that_is_not_the_targets() -> None:
    session = Session(nvml=False)
    session.add(r.GpuDevice(START, 0, "GPU-1", "T", TOTAL_MIB * MIB))
    session.add(r.GpuDevice(START, 1, "GPU-2", "T", TOTAL_MIB * MIB, ordinals=[0]))
    session.begin()
    for _ in range(5):
        session.add(r.GpuMemory(session.now, 0, 20_000 * MIB))
        session.add(r.GpuMemory(session.now, 1, 1_000 * MIB))
        session.make()
    found = session.summary()
    assert [gpu.uuid for gpu in found.gpus] == ["GPU-2"]
    assert found.stages["steady"].device_mib == 1_000
