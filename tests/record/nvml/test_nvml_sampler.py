"""The sampler over NVML traffic that was recorded on an H200 (benchmarks/gpu/record_traffic.py)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest

from benchmarks.gpu.traffic import Replay
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.wire.records import (
    GpuDevice,
    GpuMemory,
    GpuProcess,
    GpuState,
    GpuThrottle,
    GpuUtilisation,
    Record,
)

TRAFFIC = Path(__file__).parent / "h200.jsonl.gz"
DEVICE_CALLS = (
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlGpmSampleGet",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
)
MIB = 1 << 20
S = 1_000_000_000
R = TypeVar("R", bound=Record)


class Playback:
    """A sampler that runs over the recording in virtual time, without its thread."""

    def __init__(self, target_pids: Callable[[], set[int]] = set) -> None:
        self.now = 0
        self.driver = Replay(TRAFFIC, lambda: self.now)
        self.now = self.driver.begin_ns
        self.sampler = NvmlSampler(
            self.driver,
            target_pids,
            clock=lambda: self.now,
            wall=lambda: self.now + self.driver.wall_offset_ns,
        )
        self.records: list[Record] = []

    def open(self) -> Playback:
        self.sampler.open()
        return self

    def run(self, until_ns: int | None = None) -> list[Record]:
        """Go on to a time on the recording's clock (its end)."""
        until_ns = self.driver.end_ns if until_ns is None else until_ns
        new: list[Record] = []
        while self.now < until_ns:
            wait = self.sampler.step()
            new += self.sampler.drain()
            self.now += max(wait, 1_000_000)
        self.records += new
        return new

    def phase(self, name: str) -> tuple[int, int]:
        """Begin and end of a phase of the scenario."""
        times = [t for t, _ in self.driver.phases] + [self.driver.end_ns]
        at = [phase for _, phase in self.driver.phases].index(name)
        return times[at], times[at + 1]

    def of(self, kind: type[R], phase: str | None = None) -> list[R]:
        begin, end = (0, self.driver.end_ns) if phase is None else self.phase(phase)
        return [r for r in self.records if isinstance(r, kind) and begin <= r.t_ns < end]


@pytest.fixture(scope="module")
def whole() -> Playback:
    playback = Playback().open()
    playback.run()
    return playback


@pytest.fixture
def playback() -> Playback:
    return Playback().open()


def test_the_card_is_recognised(whole: Playback) -> None:
    assert whole.sampler.driver is not None
    assert whole.sampler.driver.startswith("580.")
    assert whole.sampler.cuda == "13.0"
    (device,) = {(d.gpu, d.name, d.total_bytes, d.mig, d.unified) for d in whole.of(GpuDevice)}
    assert device == (0, "NVIDIA H200", 150_754_820_096, False, False)
    assert whole.of(GpuDevice)[0].reserved_bytes == 644_939_776


def test_memory_drops_of_64_mib_that_last_25_ms_are_seen(whole: Playback) -> None:
    used = [r.used_bytes for r in whole.of(GpuMemory, "memory")]
    drops = [a - b for a, b in pairwise(used) if a - b == 64 * MIB]
    assert len(drops) >= 2


def test_unchanged_memory_is_not_written_again_but_once_a_second(whole: Playback) -> None:
    begin, end = whole.phase("alternating")
    readings = whole.of(GpuMemory, "alternating")
    assert len(readings) <= (end - begin) / S + 3


def test_utilisation_follows_the_work(whole: Playback) -> None:
    begin, end = whole.phase("busy")
    busy = [r.percent for r in whole.of(GpuUtilisation) if begin + 1.2 * S < r.t_ns < end]
    idle = [r.percent for r in whole.of(GpuUtilisation, "idle") if r.t_ns < begin - 3 * S]
    assert busy
    assert idle
    assert max(busy) > 80
    assert max(idle) == 0
    assert all(r.period_ns > 0 for r in whole.of(GpuUtilisation))


def test_slow_readings_are_there(whole: Playback) -> None:
    states = [r for r in whole.of(GpuState) if r.sm_mhz is not None]
    assert all(300 <= (r.sm_mhz or 0) <= 2100 for r in states)
    assert all(20 <= (r.temperature_c or 0) <= 90 for r in states)
    assert all(50_000 <= (r.power_mw or 0) <= 700_000 for r in states)
    assert {r.ecc_uncorrected for r in whole.of(GpuState) if r.ecc_uncorrected is not None} == {0}
    assert whole.of(GpuThrottle)
    assert all(r.power_cap_ns is not None for r in whole.of(GpuThrottle))


def test_processes_come_and_go(whole: Playback) -> None:
    both = {r.pid for r in whole.of(GpuProcess, "two processes") if r.used_bytes}
    assert len(both) == 2
    left = {r.pid for r in whole.of(GpuProcess) if r.used_bytes == 0}
    assert left == both


def test_the_target_is_told_from_its_neighbours() -> None:
    probe = Playback().open()
    probe.run()
    first = next(r.pid for r in probe.of(GpuProcess) if r.used_bytes)
    playback = Playback(lambda: {first}).open()
    playback.run()
    relations = {r.pid: (r.relation, r.how) for r in playback.of(GpuProcess)}
    assert relations.pop(first) == ("target", "pid")
    assert set(relations.values()) == {("neighbour", "none")}


def test_its_cost_is_counted(whole: Playback) -> None:
    cost = whole.sampler.cost()
    assert cost is not None
    assert cost[0] > 1_000


def test_it_says_that_all_is_well(whole: Playback) -> None:
    state, *_ = whole.sampler.states(whole.now)
    assert (state.source, state.state) == ("nvml", "ok")
    assert state.covered_ns is not None
    assert state.period_ns == 20_000_000


@pytest.mark.parametrize(
    ("function", "error", "metric", "word"),
    [
        ("nvmlDeviceGetMemoryInfo", 13, "memory", "too old"),
        ("nvmlDeviceGetUtilizationRates", 3, "utilisation", "not supported"),
        ("nvmlDeviceGetComputeRunningProcesses", 4, "processes", "permission"),
        ("nvmlDeviceGetFieldValues", 2, "throttle", "refuses"),
        ("nvmlDeviceGetTotalEccErrors", 3, "ecc", "not supported"),
    ],
)
def test_an_error_costs_its_metric_only(
    playback: Playback, function: str, error: int, metric: str, word: str
) -> None:
    before = {type(r) for r in playback.run(playback.now + 3 * S)}

    def fail(*_: Any) -> Any:
        raise playback.driver.NVMLError(error)

    playback.driver.override[function] = fail
    after = {type(r) for r in playback.run(playback.now + 12 * S)}
    assert len(before - after) <= 1
    overall, *rest = playback.sampler.states(playback.now)
    assert overall.state == "ok"
    (line,) = [state for state in rest if state.source == f"nvml.{metric}:0"]
    assert line.state == "absent"
    assert word in line.reason


def test_an_answer_of_another_shape_costs_its_metric_only(playback: Playback) -> None:
    playback.driver.override["nvmlDeviceGetFieldValues"] = lambda *_: None
    playback.run(playback.now + 3 * S)
    overall, *rest = playback.sampler.states(playback.now)
    assert overall.state == "ok"
    (line,) = [state for state in rest if state.source == "nvml.throttle:0"]
    assert "unexpected answer" in line.reason


def test_a_gpu_lost_midway_is_said_and_comes_back(playback: Playback) -> None:
    playback.run(playback.now + 2 * S)

    def lost(*_: Any) -> Any:
        raise playback.driver.NVMLError(15)

    playback.driver.override.update(dict.fromkeys(DEVICE_CALLS, lost))
    nothing = playback.run(playback.now + 11 * S)
    assert not [r for r in nothing if isinstance(r, (GpuMemory, GpuProcess))]
    overall = playback.sampler.states(playback.now)[0]
    assert overall.state == "failed"
    assert "lost" in overall.reason
    assert overall.covered_ns is None
    playback.driver.override.clear()
    again = playback.run(playback.now + 10 * S)
    assert [r for r in again if isinstance(r, GpuMemory)]
    assert playback.sampler.states(playback.now)[0].state == "ok"


def test_a_driver_that_hangs_holds_up_nobody() -> None:
    driver = Replay(TRAFFIC, time.monotonic_ns)
    hang = threading.Event()

    def hanging(*_: Any) -> Any:
        hang.wait(30)
        raise driver.NVMLError(999)

    driver.override["nvmlDeviceGetFieldValues"] = hanging
    sampler = NvmlSampler(driver)
    sampler.start()
    try:
        deadline = time.monotonic() + 10
        now = time.monotonic_ns
        while sampler.states(now())[0].state != "stale" and time.monotonic() < deadline:
            began = time.monotonic()
            sampler.drain()
            assert time.monotonic() - began < 0.05
            time.sleep(0.02)
        state = sampler.states(now())[0]
        assert state.state == "stale"
        assert "nvmlDeviceGetFieldValues" in state.reason
        began = time.monotonic()
        sampler.stop(timeout_s=0.2)
        assert time.monotonic() - began < 1
    finally:
        hang.set()


@pytest.mark.parametrize(
    ("error", "word"), [(9, "not loaded"), (12, "no NVIDIA driver"), (18, "versions differ")]
)
def test_no_driver_is_one_line(error: int, word: str) -> None:
    driver = Replay(TRAFFIC, time.monotonic_ns)

    def fail(*_: Any) -> Any:
        raise driver.NVMLError(error)

    driver.override["nvmlInit"] = fail
    sampler = NvmlSampler(driver)
    sampler.start()
    sampler.stop(2)
    (state,) = sampler.states(time.monotonic_ns())
    assert state.state == "absent"
    assert word in state.reason
    assert "\n" not in state.reason
    assert sampler.drain() == []
    assert sampler.cost() is None
