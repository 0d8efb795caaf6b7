"""What is usual in a stream, and when another level begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import MS, Program, emits_of

from mgtop.analysis.baseline import Baseline, RecentMedian, side_of
from mgtop.config.structs import Detect

STEADY = [50.0] * 20


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=80), st.integers(8, 20))
def test_the_recent_median_is_numpys(values: list[int], length: int):
    recent = RecentMedian(length)
    for i, value in enumerate(values):
        recent.add(float(value))
        window = values[: i + 1][-length:]
        assert len(recent) == len(window)
        assert list(recent) == sorted(window)
        assert recent.median() == np.median(window)
        others = window[:-1]
        expected = np.median(others) if others else None
        assert recent.median_without(float(value)) == expected
    assert recent.median_without(-1.0) == recent.median()
    recent.clear()
    assert recent.median() is None


def test_the_rule():
    detect = Detect()  # twice the median, and 8 ms a block over it
    assert side_of(101 * MS, 1, 50 * MS, detect) == "above"
    assert side_of(100 * MS, 1, 50 * MS, detect) == "usual"
    assert side_of(14 * MS, 1, 6 * MS, detect) == "usual"  # 8 ms over: not more than the floor
    assert side_of(14.1 * MS, 1, 6 * MS, detect) == "above"
    assert side_of(7 * MS, 12, 3 * MS, detect) == "above"  # the floor is 8 / 12 ms a frame
    assert side_of(24 * MS, 1, 50 * MS, detect) == "below"
    assert side_of(25 * MS, 1, 50 * MS, detect) == "usual"
    assert side_of(2 * MS, 1, 9 * MS, detect) == "usual"


def test_the_rule_is_the_configurations():
    detect = Detect(ratio=1.5, floor_ms=0)
    assert side_of(76 * MS, 1, 50 * MS, detect) == "above"
    assert side_of(75 * MS, 1, 50 * MS, detect) == "usual"
    program = Program(detect={"ratio": 1.5, "floor_ms": 0}).receive()
    assert emits_of(program.emits([*STEADY, 76, *STEADY]).tails()) == [20]
    program = Program(detect={"ratio": 3.0}).receive()
    assert emits_of(program.emits([*STEADY, 149, *STEADY, 151]).tails()) == [41]


# ------------------------------------------------------------------------- level shifts


def shifts_of(program: Program) -> tuple[int, list[int]]:
    found = program.summary().tails
    return found.level_shifts, emits_of(found.frames)


def test_eight_in_a_row_are_one_level_shift_and_no_tails():
    program = Program().receive().emits([*STEADY, *[150] * 8, *STEADY])
    # The way back down is another one.
    assert shifts_of(program) == (2, [])
    assert shifts_of(Program().receive().emits([*STEADY, *[150] * 60])) == (1, [])


def test_seven_in_a_row_are_seven_tails():
    program = Program().receive().emits([*STEADY, *[150] * 7, *STEADY])
    assert shifts_of(program) == (0, list(range(20, 27)))


def test_a_shift_down_is_said_once_and_tails_are_found_on_the_lower_level():
    program = Program().receive().emits([*[150] * 30, *[50] * 30, 120, *[50] * 5])
    assert shifts_of(program) == (1, [60])


def test_tails_of_the_new_level_are_judged_by_it():
    program = Program().receive().emits([*STEADY, *[150] * 20, 400, *[150] * 5])
    assert shifts_of(program) == (1, [40])
    (tail,) = program.tails()
    assert tail.excess_ms == 250


def test_a_tail_among_the_eight_is_a_tail_of_the_new_level():
    program = Program().receive().emits([*STEADY, 150, 150, 700, 150, 150, 150, 150, 150, 150])
    assert shifts_of(program) == (1, [22])


def test_a_tail_before_a_shift_stays_one():
    program = Program().receive().emits([*STEADY, 300, 50, *[150] * 30])
    assert shifts_of(program) == (1, [20])


def test_a_level_may_change_while_few_are_known():
    program = Program().receive().emits([50] * 6 + [150] * 40)
    assert shifts_of(program) == (1, [])
    program = Program().receive().emits([50, 50, 120, 50] + [150] * 40)
    assert shifts_of(program) == (1, [2])


def test_early_tails_are_judged_by_their_own_level():
    """The level goes up before the first emits are final: that must not hide their tails."""
    program = Program().receive().emits([20] * 4 + [70] + [20] * 6 + [60] * 20)
    assert shifts_of(program) == (1, [4])


def test_a_few_long_ones_at_first_are_tails_and_no_level():
    assert shifts_of(Program().receive().emits([0, 150, 150, *[50] * 30])) == (0, [1, 2])
    assert shifts_of(Program().receive().emits([0, *[150] * 8, *[50] * 80])) == (1, [])


def test_a_slow_drift_is_neither_tail_nor_shift():
    growing = [50 * 1.002**i for i in range(1_000)]
    assert shifts_of(Program().receive().emits(growing)) == (0, [])


def test_the_baseline_takes_no_notice_of_tails():
    baseline = Baseline(Detect())
    for i in range(60):
        baseline.add(500.0 * MS if i % 6 == 5 else 50.0 * MS, 1, i)
    assert baseline.median() == 50 * MS
    assert baseline.shifts == 0


def test_the_baseline_reaches_back_as_far_as_the_configuration_says():
    program = Program(detect={"history": 8}).receive()
    program.emits([*[30] * 20, *[50] * 9, 61])
    # Of the last eight, all are 50: 61 is usual; of the last twenty, most were 30.
    assert shifts_of(program) == (0, [])
    program = Program(detect={"history": 240}).receive()
    program.emits([*[30] * 20, *[50] * 9, 61])
    assert emits_of(program.tails()) == [29]


# ------------------------------------------------------------------------------- blocks


def test_blocks_of_different_size_compare_per_frame():
    program = Program().receive()
    program.emit(0, count=9)
    program.emits([12 * 30] * 20, count=12)
    program.emit(4 * 30, count=4)  # the last one is short
    assert shifts_of(program) == (0, [])
    program.emit(12 * 75, count=12)
    (tail,) = program.tails()
    assert (tail.emit, tail.count, tail.interval_ms) == (22, 12, 900)
    assert tail.excess_ms == 12 * 45
    assert tail.index == 9 + 20 * 12 + 4


def test_the_first_block_of_another_size_is_no_tail():
    program = Program().receive()
    program.emit(0, count=1)
    program.emits([375.0] * 30, count=12)
    found = program.summary()
    assert found.tails.count == 0
    assert list(found.interval_ms_by_count) == ["12"]
    assert found.interval_ms.p50 == 375


@pytest.mark.parametrize("count", [1, 4, 12, 80])
def test_the_floor_is_per_block(count: int):
    detect = {"ratio": 1.01, "floor_ms": 8.0}
    base = [20.0 * count] * 20
    program = Program(detect=detect).receive().emits([*base, 20 * count + 7.9, *base], count)
    assert emits_of(program.tails()) == []
    over = max(8.1, 0.2 * count + 0.1)
    program = Program(detect=detect).receive().emits([*base, 20 * count + over, *base], count)
    assert emits_of(program.tails()) == [20]
