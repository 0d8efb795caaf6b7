"""Every call into NVML fails with every error: that figure goes, with its reason, and no other.

At the library's boundary, over traffic recorded on an H200, in virtual time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pynvml
import pytest

from benchmarks.gpu.traffic import Replay
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.wire.records import GpuState, GpuThrottle, Record

TRAFFIC = Path(__file__).parents[1] / "record" / "nvml" / "h200.jsonl.gz"
S = 1_000_000_000
STEP_NS = 20_000_000

ERRORS = sorted(
    value
    for name, value in vars(pynvml).items()
    if name.startswith("NVML_ERROR_") and isinstance(value, int)
)
NO_VALUE = {6, 7, 21, 27}
"""Not found, grew while it was read, no data, not ready: the next reading may have it."""
OPENING = (
    "nvmlInit",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlGpmQueryDeviceSupport",
)
WITHOUT = ("nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex")
"""Without these there is no GPU to read."""
REPEATED = {
    "nvmlDeviceGetMemoryInfo": "memory",
    "nvmlDeviceGetUtilizationRates": "utilisation",
    "nvmlDeviceGetSamples": "ring",
    "nvmlDeviceGetClockInfo": "state",
    "nvmlDeviceGetPowerUsage": "state",
    "nvmlDeviceGetTemperatureV": "state",
    "nvmlDeviceGetCurrentClocksEventReasons": "state",
    "nvmlDeviceGetEnforcedPowerLimit": "state",
    "nvmlDeviceGetFieldValues": "throttle",
    "nvmlDeviceGetTotalEccErrors": "ecc",
    "nvmlGpmSampleAlloc": "gpm",
    "nvmlGpmSampleGet": "gpm",
    "nvmlGpmMetricsGet": "gpm",
    "nvmlDeviceGetComputeRunningProcesses": "processes",
    "nvmlDeviceGetGraphicsRunningProcesses": "graphics",
}
NEEDING = {"processes": ("process_work",)}
"""Readings that make nothing without another one."""


@cache
def traffic() -> Replay:
    """Parsed once: a replay keeps nothing of who asks it but the overrides."""
    return Replay(TRAFFIC, lambda: 0)


class Driver:
    """The recorded driver, with functions that fail, and a list of what was called."""

    NVMLError = Replay.NVMLError

    def __init__(self, now: Callable[[], int]) -> None:
        self._replay = traffic()
        self._replay._now = now
        self.fails: dict[str, int] = {}
        self.called: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._replay, name)
        if not callable(value) or not name.startswith("nvml"):
            return value

        def call(*arguments: Any) -> Any:
            self.called.add(name)
            if name in self.fails:
                raise self.NVMLError(self.fails[name])
            return value(*arguments)

        return call


class Sampling:
    """A sampler without its thread, on the recording's own clock."""

    def __init__(self) -> None:
        self.now = 0
        self.driver = Driver(lambda: self.now)
        self.now = self.driver._replay.begin_ns
        offset = self.driver._replay.wall_offset_ns
        self.sampler = NvmlSampler(
            self.driver, clock=lambda: self.now, wall=lambda: self.now + offset
        )

    def run(self, seconds: float) -> list[Record]:
        until_ns = self.now + int(seconds * S)
        while self.now < until_ns:
            wait = self.sampler.step()
            self.now += max(wait, STEP_NS)
        return self.sampler.drain()

    def lost(self) -> dict[str, str]:
        """Readings that are said not to be had, with the reason."""
        _overall, *rest = self.sampler.states(self.now)
        return {state.source.split(".")[1].split(":")[0]: state.reason for state in rest}


@cache
def usual() -> tuple[frozenset[str], frozenset[str]]:
    """What is read of this card, and what cannot be had of it anyway."""
    sampling = Sampling()
    sampling.sampler.open()
    sampling.run(4)
    return frozenset(sampling.driver.called), frozenset(sampling.lost())


def test_all_calls_of_the_sampler_are_in_these_tests() -> None:
    called, _ = usual()
    assert called - {"nvmlShutdown"} <= {*OPENING, *REPEATED}


@pytest.mark.parametrize("function", OPENING)
def test_an_error_at_the_start_costs_what_it_tells(function: str) -> None:
    for error in ERRORS:
        sampling = Sampling()
        sampling.driver.fails[function] = error
        sampler = sampling.sampler
        sampler._stop.set()  # the thread's own frame around it, but for the readings
        sampler._run()
        states = sampler.states(sampling.now)
        if function in WITHOUT:
            assert [state.state for state in states] == ["absent"]
            assert states[0].reason
            assert "\n" not in states[0].reason
            assert "unexpected" not in states[0].reason
        else:
            assert states[0].state == "ok"
            assert sampler.devices[0].gpu == 0


@pytest.mark.parametrize("function", REPEATED)
def test_an_error_midway_costs_its_own_figure_only(function: str) -> None:
    reading = REPEATED[function]
    _called, before = usual()
    said: dict[str, set[int]] = defaultdict(set)
    for error in ERRORS:
        sampling = Sampling()
        if reading == "gpm":  # read only where the driver's own samples are not to be had
            sampling.driver.fails["nvmlDeviceGetSamples"] = 3
        sampling.sampler.open()
        if function != "nvmlGpmSampleAlloc":  # asked but twice, at the very first readings
            sampling.run(0.5)
        sampling.driver.fails[function] = error
        sampling.driver.called.clear()
        records: list[Record] = []
        for _ in range(24):
            records += sampling.run(0.5)
            if function in sampling.driver.called and records:
                break
        assert function in sampling.driver.called
        assert records  # others still come
        assert sampling.sampler.states(sampling.now)[0].state == "ok"
        lost = sampling.lost()
        for name in set(lost) - before - ({"ring"} if reading == "gpm" else set()):
            said[name].add(error)
            assert lost[name]
            assert "unexpected" not in lost[name]
            assert "\n" not in lost[name]
    assert set(said) <= {reading, *NEEDING.get(reading, ())}
    told = set(ERRORS) - NO_VALUE
    if reading == "state":  # one of several values of a record is null there: always said
        told = set(ERRORS)
    assert said[reading] == told  # and no other: what has no value just now is not said to be gone


CLOCKS = {
    "nvmlDeviceGetPowerUsage": "power_mw",
    "nvmlDeviceGetTemperatureV": "temperature_c",
    "nvmlDeviceGetCurrentClocksEventReasons": "clock_event_reasons",
    "nvmlDeviceGetEnforcedPowerLimit": "power_limit_mw",
}


@pytest.mark.parametrize("function", CLOCKS)
@pytest.mark.parametrize(("error", "state"), [(3, "absent"), (4, "absent"), (21, "failed")])
def test_one_missing_clock_reading_says_which_and_why(
    function: str, error: int, state: str
) -> None:
    sampling = Sampling()
    sampling.sampler.open()
    sampling.run(2)
    sampling.driver.fails[function] = error
    last = [r for r in sampling.run(3) if isinstance(r, GpuState) and r.sm_mhz is not None][-1]
    assert getattr(last, CLOCKS[function]) is None
    name = f"nvml.state.{CLOCKS[function]}:0"
    said = [s for s in sampling.sampler.states(sampling.now) if s.source == name]
    assert [(s.state, bool(s.reason)) for s in said] == [(state, True)]
    if state == "failed":  # had no value just now: said no longer once it has one
        sampling.driver.fails.clear()
        sampling.run(2)
        assert name not in {s.source for s in sampling.sampler.states(sampling.now)}


def test_one_missing_throttle_counter_says_which_and_why() -> None:
    sampling = Sampling()
    sampling.sampler.open()
    sampling.run(2)
    whole = sampling.driver._replay._answer

    def without_brake(name: str, arguments: Any) -> Any:
        answer = whole(name, arguments)
        if name == "nvmlDeviceGetFieldValues":
            answer[3].nvmlReturn = 3
        return answer

    try:
        sampling.driver._replay._answer = without_brake
        records = sampling.run(3)
    finally:
        del sampling.driver._replay._answer
    last = [r for r in records if isinstance(r, GpuThrottle)][-1]
    assert last.power_brake_ns is None
    assert last.power_cap_ns is not None
    states = {s.source: s.reason for s in sampling.sampler.states(sampling.now)}
    assert "not supported" in states["nvml.throttle.power_brake_ns:0"]
