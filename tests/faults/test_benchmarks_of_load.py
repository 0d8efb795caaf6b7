"""The programs that measure mgtop under load: their own parts, without the long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.accelerated import slope
from benchmarks.gpu.effect import BESIDE, change, told
from benchmarks.gpu.replayed_machine import NEIGHBOUR_PID, Machine
from benchmarks.load import per_hour
from mgtop.record.nvml.sampler import NvmlSampler
from mgtop.wire.records import GpuMemory, GpuProcess, GpuUtilisation, Record

S = 1_000_000_000
HERE = Path(__file__).parent


def test_slopes_are_of_the_hour() -> None:
    assert per_hour([(s, 30 + s / 3600) for s in range(0, 600, 10)]) == pytest.approx(1.0)
    assert slope([(h / 4, 25 + h / 2) for h in range(40)]) == pytest.approx(2.0)


def test_the_change_is_told_with_its_upper_limit_and_against_the_goal() -> None:
    pairs = [(20.0, 20.0 * (1 + n / 10_000)) for n in range(30)]
    middle, limit = change(pairs)
    assert middle == pytest.approx(0.145)
    assert middle < limit < 0.29
    runs = [
        {"round": n, "generator": "probed", "beside": beside, "frames": 200}
        | dict.fromkeys(("P50", "P95", "P99"), 20.0 * (1.01 if beside else 1.0))
        for n in range(30)
        for beside in (None, "mgtop")
    ]
    lines, met = told(runs, "probed", "mgtop")
    assert not met  # 1 % is above the goal at P50, and below that at P99
    assert "goal 0.5 %: MISSED" in lines[0]
    assert "goal 2.0 %: met" in lines[2]
    assert "30 pairs, 6,000 frames" in lines[0]
    assert BESIDE[0] == "nothing"  # what the noise alone looks like is told, too


def test_eight_replayed_gpus_are_read_as_real_ones_are() -> None:
    now = [5_000 * S]
    machine = Machine(
        8,
        clock=lambda: now[0],
        wall=lambda: now[0] + 1_700_000_000 * S,
        sleep=lambda s: now.__setitem__(0, now[0] + int(s * S)),
        pids=lambda: list(range(101, 117)),
    )
    sampler = NvmlSampler(
        machine,
        lambda: range(101, 117),
        clock=lambda: now[0],
        wall=lambda: now[0] + 1_700_000_000 * S,
    )
    sampler.open()
    until_ns = now[0] + 40 * S  # more than once through the recording
    while now[0] < until_ns:
        now[0] += max(sampler.step(), 20_000_000)
    records: list[Record] = sampler.drain()
    assert {r.gpu for r in records if isinstance(r, GpuMemory)} == set(range(8))
    rings = [r for r in records if isinstance(r, GpuUtilisation) and r.source == "ring"]
    assert {r.gpu for r in rings} == set(range(8))
    assert all(0 < until_ns - r.t_ns < 45 * S for r in rings)
    ours = {r.pid for r in records if isinstance(r, GpuProcess) and r.relation == "target"}
    assert ours == set(range(101, 117))
    others = {r.pid for r in records if isinstance(r, GpuProcess) and r.relation != "target"}
    assert others == {NEIGHBOUR_PID}
    assert sampler.states(now[0])[0].state == "ok"
    gone = {state.source.split(":")[0] for state in sampler.states(now[0])[1:]}
    assert gone == {"nvml.process_work"}  # was not recorded
