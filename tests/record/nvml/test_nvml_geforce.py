"""GeForce cards and WSL2, as NVIDIA documents them; no such machine was seen.

Real H200 traffic, with those calls answered otherwise that the documentation says differ: no
ECC, no GPM, no clock-event counters, and per-process memory that the driver does not tell.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.gpu.traffic import Replay
from mgtop.analysis.model import Model
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.wire import records as r

TRAFFIC = Path(__file__).parent / "h200.jsonl.gz"
S = 1_000_000_000
ALL_ONES = (1 << 64) - 1
PID = 4242


def refuse(driver: Replay, error: int) -> Callable[..., Any]:
    def call(*_: Any) -> Any:
        raise driver.NVMLError(error)

    return call


def geforce(driver: Replay) -> None:
    driver.override["nvmlDeviceGetTotalEccErrors"] = refuse(driver, 3)
    driver.override["nvmlGpmQueryDeviceSupport"] = lambda *_: SimpleNamespace(isSupportedDevice=0)
    driver.override["nvmlDeviceGetFieldValues"] = lambda _handle, ids: [
        SimpleNamespace(nvmlReturn=3, valueType=0, value=None) for _ in ids
    ]


def processes(memory: int | None) -> Callable[..., Any]:
    return lambda *_: [SimpleNamespace(pid=PID, usedGpuMemory=memory)]


def sampled(change: Callable[[Replay], None]) -> tuple[NvmlSampler, list[r.Record]]:
    now = 0
    driver = Replay(TRAFFIC, lambda: now)
    now = driver.begin_ns
    geforce(driver)
    change(driver)
    sampler = NvmlSampler(driver, lambda: {PID}, clock=lambda: now)
    sampler.open()
    records: list[r.Record] = []
    until = now + 8 * S
    while now < until:
        wait = sampler.step()
        records += sampler.drain()
        now += max(wait, 1_000_000)
    records += sampler.states(now)
    return sampler, records


def reasons(records: list[r.Record]) -> dict[str, str]:
    return {x.source: x.reason for x in records if isinstance(x, r.SourceState)}


def test_what_a_geforce_lacks_is_said_and_the_rest_is_read() -> None:
    _sampler, records = sampled(lambda _driver: None)
    found = reasons(records)
    assert found["nvml"] == ""
    assert found["nvml.ecc:0"] == "not supported by this GPU or driver"
    assert found["nvml.throttle:0"] == "this driver has no clock-event time counters"
    assert found["nvml.gpm:0"] == "needs a Hopper GPU or later"
    kinds = {type(record) for record in records}
    assert {r.GpuDevice, r.GpuMemory, r.GpuUtilisation, r.GpuState} <= kinds
    assert r.GpuThrottle not in kinds


@pytest.mark.parametrize("memory", [None, ALL_ONES, ALL_ONES - 1])
def test_memory_of_processes_that_is_not_told_is_none_and_no_arithmetic_is_done_on_it(
    memory: int | None,
) -> None:
    def change(driver: Replay) -> None:
        driver.override["nvmlDeviceGetComputeRunningProcesses"] = processes(memory)

    _sampler, records = sampled(change)
    mine = [x for x in records if isinstance(x, r.GpuProcess)]
    assert mine
    assert {(x.pid, x.used_bytes, x.relation) for x in mine} == {(PID, None, "target")}
    model = Model()
    begin = records[0].t_ns
    model.feed(r.SessionStart(begin, 1, 1, "0", "wsl", {}, {}, {"kernel": "5.15-microsoft"}))
    model.feed_all(records)
    model.finish()
    summary = model.summary()
    assert summary.memory.total_mib is not None
    for stage in summary.memory.stages.values():
        assert stage.process_mib is None
    # What the device holds is the device's, and never passed off as the process's.
    assert summary.memory.peak.source != "process"


def test_a_driver_that_lists_no_processes_costs_nothing_else() -> None:
    def change(driver: Replay) -> None:
        for kind in ("Compute", "Graphics"):
            driver.override[f"nvmlDeviceGet{kind}RunningProcesses"] = refuse(driver, 3)

    _sampler, records = sampled(change)
    assert reasons(records)["nvml.processes:0"] == "not supported by this GPU or driver"
    assert not [x for x in records if isinstance(x, r.GpuProcess)]
    assert [x for x in records if isinstance(x, r.GpuMemory)]


def test_without_the_drivers_samples_utilisation_is_polled_with_an_honest_period() -> None:
    def change(driver: Replay) -> None:
        driver.override["nvmlDeviceGetSamples"] = refuse(driver, 3)

    sampler, records = sampled(change)
    used = [x for x in records if isinstance(x, r.GpuUtilisation)]
    assert {x.source for x in used} == {"poll"}
    assert {x.period_ns for x in used} == {S}  # NVML's documented bound: the real one is unknown
    (gpm,) = [x for x in sampler.readings if x.name == "gpm"]
    assert not gpm.wanted


def test_device_memory_of_all_ones_is_no_reading() -> None:
    def change(driver: Replay) -> None:
        driver.override["nvmlDeviceGetMemoryInfo"] = lambda *_: SimpleNamespace(
            total=ALL_ONES, used=ALL_ONES, reserved=ALL_ONES, free=0
        )

    _sampler, records = sampled(change)
    assert not [x for x in records if isinstance(x, r.GpuMemory)]
    assert {x.total_bytes for x in records if isinstance(x, r.GpuDevice)} == {None}
    assert reasons(records)["nvml.memory:0"] == "the driver does not tell it"
