"""What is run: plans from seeds, generators that keep to them, cells, tables."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.truth.cells import ALL_CHARACTERS, PAIRS, SINGLE, cells
from benchmarks.truth.expected import CAUSES, LEVELS
from benchmarks.truth.plan import FEWEST_BETWEEN, Plan
from benchmarks.truth.results import Scored, results
from benchmarks.truth.score import Judged, RunScore
from benchmarks.truth.table import render
from benchmarks.truth.truth import Truth
from benchmarks.truth.witness import machine_busy_ns, tree_cpu_ns

ROOT = Path(__file__).parents[2]


class TestPlan:
    def test_the_same_seed_plans_the_same(self) -> None:
        one, two = (Plan(SINGLE, 30, 8, (1.2, 20), seed=7) for _ in range(2))
        assert [one.at(e) for e in range(2000)] == [two.at(e) for e in range(2000)]
        three = Plan(SINGLE, 30, 8, (1.2, 20), seed=8)
        assert [one.at(e) for e in range(2000)] != [three.at(e) for e in range(2000)]

    def test_strikes_stand_apart_and_leave_a_baseline(self) -> None:
        plan = Plan(SINGLE, 30, 8, (1.2, 20), seed=1)
        struck = [e for e in range(5000) if plan.at(e)]
        assert struck[0] >= 20 + FEWEST_BETWEEN
        assert min(b - a for a, b in itertools.pairwise(struck)) >= FEWEST_BETWEEN
        assert 5000 / len(struck) == pytest.approx(10, abs=2)

    def test_sizes_are_log_uniform(self) -> None:
        plan = Plan(("gc",), 30, 8, (1.2, 20), seed=1)
        sizes = sorted(o.ms / 30 for e in range(20_000) for o in plan.at(e).values())
        assert 1.2 <= sizes[0] <= 1.25
        assert 19 <= sizes[-1] <= 20
        assert sizes[len(sizes) // 2] == pytest.approx((1.2 * 20) ** 0.5, rel=0.1)

    def test_each_fault_comes_as_often(self) -> None:
        plan = Plan(SINGLE, 30, 8, (1.2, 20), seed=1)
        names = [name for e in range(5000) for name in plan.at(e)]
        numbers = [names.count(fault) for fault in SINGLE]
        assert max(numbers) - min(numbers) <= 1

    def test_two_at_once_share_the_size(self) -> None:
        plan = Plan(("gc+output",), 30, 8, (6, 6), seed=1)
        for orders in filter(None, map(plan.at, range(1000))):
            assert set(orders) == {"gc", "output"}
            assert sum(order.ms for order in orders.values()) == pytest.approx(180)
            assert min(order.ms for order in orders.values()) >= 60 - 1e-9

    def test_no_faults(self) -> None:
        assert not any(Plan((), 30, 8, (1, 2), seed=1).at(e) for e in range(100))


class TestCells:
    def test_names_are_unique(self) -> None:
        names = [c.name for c in cells(ALL_CHARACTERS, LEVELS, [100, 101], quick=False)]
        assert len(set(names)) == len(names)

    def test_every_fault_has_a_cause_and_pairs_have_two(self) -> None:
        for cell in cells(ALL_CHARACTERS, LEVELS, [1], quick=True):
            for fault in cell.faults:
                causes = [CAUSES[name] for name in fault.split("+")]
                assert len(set(causes)) == len(causes)

    def test_a_full_pass_takes_less_than_half_an_hour_of_running(self) -> None:
        full = list(cells(ALL_CHARACTERS, LEVELS, [100, 101], quick=False))
        quick = list(cells(("single", "worker"), LEVELS, [100], quick=True))
        starting_s = 4
        assert sum(c.seconds + starting_s for c in full) < 25 * 60
        assert sum(c.seconds + starting_s for c in quick) < 4 * 60

    def test_pairs_are_of_known_faults(self) -> None:
        assert {name for pair in PAIRS for name in pair.split("+")} <= set(SINGLE)


def test_tables_tell_shares_with_counts_and_intervals() -> None:
    right = Judged("single", "spans", ("gc",), {"gc": 99}, 140, 40, True, "gc", {"gc": 99})
    wrong = Judged("single", "spans", ("gc",), {"gc": 99}, 140, 40, True, "queue", {"queue": 9})
    cell = {
        "character": "single", "level": "spans", "kind": "single", "seed": 100,
        "load_average": 0.5, "outside_cores": 0.1,
    }  # fmt: skip
    clean = Scored({**cell, "kind": "clean"}, RunScore([], 400, 400), 0)
    outside = Scored({**cell, "kind": "outside"}, RunScore([right], 0, 0), 0)
    found = results([Scored(cell, RunScore([right, wrong], 50, 50), 0), clean, outside], [100], 61)
    text = render(found)
    assert "| right cause, single fault | ≥ 95 % | 50.0 % [9.5–90.5] (1/2) |" in text
    assert "| `gc` | 1 | 1 |" in text
    assert "clean | ≤ 1 | 0.0 [0.0–9.5] (0/400)" in text
    assert "Faults from outside" in text


def test_the_witness_counts_this_process_among_its_own() -> None:
    before, machine = tree_cpu_ns(os.getpid()), machine_busy_ns()
    total = 0
    while tree_cpu_ns(os.getpid())[os.getpid()] - before[os.getpid()] < 100_000_000:
        total += sum(range(10_000))
    assert machine_busy_ns() - machine >= 50_000_000


@pytest.mark.e2e
@pytest.mark.parametrize("character", ["single", "worker"])
def test_a_generator_does_what_was_planned(character: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the generators compute with torch")
    truth_path, log = tmp_path / "truth.jsonl", tmp_path / "frames.log"
    faults = [w for fault in ("stall", "lock", "queue", "gc+output") for w in ("--fault", fault)]
    subprocess.run(
        [
            sys.executable, "-m", "benchmarks.truth.generators", character, "--seconds", "3",
            "--truth", str(truth_path), "--log", str(log), "--sizes", "2", "4", *faults,
        ],
        cwd=ROOT,
        check=True,
        env={**os.environ, "MGTOP_PROBE": "off"},
    )  # fmt: skip
    truth = Truth.read([truth_path])
    assert [emit.emit for emit in truth.emits] == list(range(len(truth.emits)))
    assert len(log.read_text().splitlines()) == len(truth.emits) + 1
    plan = Plan(("stall", "lock", "queue", "gc+output"), 30, 8, (2, 4), seed=0)
    done = {(strike.fault, strike.emit) for strike in truth.strikes}
    last = truth.emits[-1].emit
    assert done == {(name, e) for e in range(last + 1) for name in plan.at(e)}
    for strike in truth.strikes:
        ordered = plan.at(strike.emit or 0)[strike.fault].ms
        lasted = (strike.end_ns - strike.begin_ns) / 1e6
        assert lasted >= 0.7 * ordered
        before, after = (truth.emits[(strike.emit or 0) - 1 + k].t_ns for k in (0, 1))
        assert before < strike.end_ns <= after
