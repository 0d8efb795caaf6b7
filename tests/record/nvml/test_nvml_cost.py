"""What the plan costs, with calls that take as long as they took on an H200."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.gpu.traffic import Replay
from mgtop.record.nvml.sampler import NvmlSampler

TRAFFIC = Path(__file__).parent / "h200.jsonl.gz"
GOAL_MS_PER_S = 12


class TimedPlayback:
    """The sampler over the recording, in virtual time that its calls use up."""

    def __init__(self) -> None:
        self.now = 0
        self.driver = Replay(TRAFFIC, lambda: self.now, self.spend)
        self.now = self.driver.begin_ns
        self.sampler = NvmlSampler(
            self.driver,
            clock=lambda: self.now,
            wall=lambda: self.now + self.driver.wall_offset_ns,
        )
        self.sampler.open()

    def spend(self, duration_ns: int) -> None:
        self.now += duration_ns

    def run(self, until_ns: int) -> None:
        while self.now < until_ns:
            self.now += max(self.sampler.step(), 1_000_000)
            self.sampler.drain()

    def rates(self) -> dict[str, float]:
        """Phase → ms/s inside NVML."""
        found = {}
        phases = [*self.driver.phases, (self.driver.end_ns, "")]
        for (_, phase), (until, _) in pairwise(phases):
            before = (self.sampler.calls.spent_ns, self.now)
            self.run(until)
            spent = self.sampler.calls.spent_ns - before[0]
            found[phase] = 1e3 * spent / (self.now - before[1])
        return found


@pytest.fixture(scope="module")
def played() -> tuple[TimedPlayback, dict[str, float]]:
    playback = TimedPlayback()
    return playback, playback.rates()


@pytest.mark.parametrize("phase", ["busy", "memory", "alternating"])
def test_while_the_target_works_the_plan_stays_within_its_goal(
    played: tuple[TimedPlayback, dict[str, float]], phase: str
) -> None:
    assert 1 < played[1][phase] <= GOAL_MS_PER_S


def test_memory_keeps_its_rate_though_calls_wait_while_a_context_is_made(
    played: tuple[TimedPlayback, dict[str, float]],
) -> None:
    (memory,) = [r for r in played[0].sampler.readings if r.name == "memory"]
    assert memory.period_ns <= 25_000_000


def test_the_drivers_own_samples_are_read_and_gpm_is_not(
    played: tuple[TimedPlayback, dict[str, float]],
) -> None:
    wanted = {r.name: r.wanted for r in played[0].sampler.readings}
    assert wanted["ring"]
    assert not wanted["gpm"]


def test_the_table_of_costs_is_printed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu.call_costs", str(TRAFFIC)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (memory,) = [line.split() for line in lines if line.startswith("nvmlDeviceGetMemoryInfo")]
    assert memory[1] == "1358"
    assert float(memory[3]) == pytest.approx(91.7)
    assert any(line.startswith("sum") for line in lines)
