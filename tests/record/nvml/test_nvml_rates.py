"""What is read how often, where there are several GPUs."""

from __future__ import annotations

import os

import pytest
from fake_driver import FakeDriver

from mgtop.record.nvml.sampler import NvmlSampler

S = 1_000_000_000
MS = 1_000_000


def run(driver: FakeDriver, sampler: NvmlSampler, seconds: float) -> None:
    until = driver.now + int(seconds * S)
    while driver.now < until:
        wait = sampler.step()
        driver.now += max(wait, MS)


def opened(driver: FakeDriver, pids: set[int], environment: dict[str, str]) -> NvmlSampler:
    sampler = NvmlSampler(driver, lambda: pids, lambda: environment, clock=driver.clock)
    sampler.open()
    return sampler


def memory_period_ms(sampler: NvmlSampler, gpu: int) -> float:
    (reading,) = [r for r in sampler.readings if r.name == "memory" and r.gpu == gpu]
    return reading.period_ns / MS


def ms_per_s(driver: FakeDriver, sampler: NvmlSampler, seconds: float = 10) -> float:
    cost, now = sampler.cost(), driver.now
    assert cost is not None
    run(driver, sampler, seconds)
    after = sampler.cost()
    assert after is not None
    return (after[1] - cost[1]) / 1e6 / ((driver.now - now) / S)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_time_in_the_driver_does_not_grow_with_the_number_of_gpus(gpus: int) -> None:
    driver = FakeDriver(gpus)
    driver.pids = {gpus - 1: [77]}
    sampler = opened(driver, {77}, {})
    run(driver, sampler, 5)
    assert ms_per_s(driver, sampler) <= 12
    assert memory_period_ms(sampler, gpus - 1) == 20
    for gpu in range(gpus - 1):
        assert memory_period_ms(sampler, gpu) == 1_000


def test_a_target_on_several_gpus_shares_out_what_one_may_cost() -> None:
    driver = FakeDriver(8)
    driver.pids = {gpu: [77] for gpu in range(8)}
    sampler = opened(driver, {77}, {})
    run(driver, sampler, 5)
    assert ms_per_s(driver, sampler) <= 14
    assert 80 < memory_period_ms(sampler, 0) < 110  # 8 × 92 µs in 0.8 % of the time


def test_until_the_target_is_on_a_gpu_its_environment_says_which_are_meant() -> None:
    driver = FakeDriver(4)
    sampler = opened(driver, {77}, {"CUDA_VISIBLE_DEVICES": "2"})
    run(driver, sampler, 3)
    assert [memory_period_ms(sampler, gpu) for gpu in range(4)] == [1_000, 1_000, 20, 1_000]


def test_a_gpu_that_the_target_turns_to_is_read_quickly_at_once() -> None:
    driver = FakeDriver(2)
    driver.pids = {0: [77]}
    sampler = opened(driver, {77}, {})
    run(driver, sampler, 3)
    assert memory_period_ms(sampler, 1) == 1_000
    driver.pids = {0: [77], 1: [77]}
    run(driver, sampler, 1.3)  # the list of a resting GPU is read once a second
    driver.calls.clear()
    run(driver, sampler, 1)
    assert driver.calls.count(("nvmlDeviceGetMemoryInfo", 1)) >= 30
    assert memory_period_ms(sampler, 1) <= 25


def test_nobody_elses_process_makes_a_gpu_the_targets() -> None:
    driver = FakeDriver(2)
    driver.pids = {0: [77], 1: [os.getpid()]}
    sampler = opened(driver, {77}, {})
    run(driver, sampler, 3)
    assert memory_period_ms(sampler, 1) == 1_000
