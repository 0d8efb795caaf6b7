"""Long-tail frames: which they are, when they are final, and that final is final."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import MS, Program, emits_of

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Tail
from mgtop.analysis.tails import Passed

STEADY = [50.0] * 20


# --------------------------------------------------------------------------- which they are


@given(st.lists(st.integers(100, 120), min_size=4, max_size=120), st.data())
@settings(max_examples=100, deadline=None)
def test_tails_are_those_of_the_rule_with_numpys_medians(tenths: list[int], data):
    """Streams with at most six late frames: no level can shift."""
    late = data.draw(st.sets(st.integers(0, len(tenths) - 1), max_size=min(6, len(tenths) // 4)))
    x = [t / 10 * (3 if i in late else 1) for i, t in enumerate(tenths)]
    program = Program(detect={"floor_ms": 0.5}).receive().emits([0, *x]).end()
    found = {tail.emit - 1: tail for tail in program.tails()}
    assert set(found) == late
    for i, tail in found.items():
        # With eight before it, those before it serve; else all others of the request. (A row
        # of late ones among the first eight is taken together, so that eight may be later.)
        if i < 8 or i >= 16:
            others = x[:i] if i >= 16 else x[:i] + x[i + 1 :]
            expected = tail.interval_ms - np.median(others)
            assert tail.excess_ms == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_a_mildly_noisy_stream_has_no_tails(seed: int):
    rnd = random.Random(seed)
    noisy = [max(1.0, rnd.gauss(60, 5)) for _ in range(1_500)]
    found = Program().receive().emits(noisy).summary().tails
    assert (found.count, found.level_shifts) == (0, 0)
    assert found.placement.kind == "unknown"


@given(st.floats(0.5, 5_000), st.integers(1, 80), st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_a_constant_stream_has_no_tails(interval: float, count: int, emits: int):
    found = Program().receive().emits([interval] * emits, count).end().summary()
    assert found.tails.count == found.tails.level_shifts == 0


def test_the_first_frame_and_the_gap_between_requests_are_no_intervals():
    program = Program()
    for _ in range(3):
        program.receive().emit(9_000)
        program.emits(STEADY).end().pass_ms(60_000)
    found = program.summary()
    assert found.tails.count == 0
    assert (found.interval_ms.count, found.interval_ms.max) == (60, 50)


def test_excess_is_what_lies_beyond_the_median():
    program = Program(target_fps=16.0).receive().emits([*STEADY, 300, *STEADY])
    (tail,) = program.tails()
    assert (tail.emit, tail.index, tail.interval_ms, tail.excess_ms) == (20, 20, 300, 250)
    assert tail.t_ms == 19 * 50 + 50 + 300
    found = program.summary().tails
    assert found.lost_ms == 250
    assert found.share_of_lost == 1.0
    assert found.share_of_time == pytest.approx(250 / (39 * 50 + 300))
    assert program.summary().requests[0].tails == 1


def test_visible_says_whether_slack_absorbed_it():
    intervals = [*[375.0] * 10, 900, *[375.0] * 10]
    seen = []
    for fps in (12.0, 31.0):  # 12 frames a block: 1,000 ms, and 387 ms of video
        (tail,) = Program(target_fps=fps).receive().emits(intervals, count=12).tails()
        seen.append(tail.visible)
    assert seen == [False, True]
    (tail,) = Program().receive().emits(intervals).tails()
    assert tail.visible is None  # no target rate, no viewer


@pytest.mark.parametrize(
    ("intervals", "tails"),
    [
        ([48, 51, 214, 42], [3]),  # the log of the documentation
        ([214, 42, 48], [1]),
        ([48, 214], [2]),  # the only other one serves
        ([214, 48], [1]),
        ([214], []),  # nothing to compare with
        ([40, 90, 45, 95, 50], []),
        ([40, 41, 97, 42, 39, 43, 44], [3]),
    ],
)
def test_few_intervals_are_compared_with_all_others(intervals: list[float], tails: list[int]):
    program = Program().receive().emits([0, *intervals]).end()
    assert emits_of(program.tails()) == tails


# ------------------------------------------------------------------ provisional and final


def finality(model: Model) -> list[tuple[int, bool]]:
    return [(tail.emit, tail.final) for tail in model.summary().tails.frames]


def test_a_tail_is_there_at_its_emit_and_final_by_watermark():
    program = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, 300, 50])
    model = program.model(finish=False)
    assert finality(model) == [(61, False)]
    assert model.summary().tails.frames[0].cause is None
    end = len(program.records)
    program.beat("nvml", behind_ms=100).beat("probe")
    model.feed_all(program.records[end:])
    assert finality(model) == [(61, False)]  # NVML has not reported past it
    end = len(program.records)
    program.pass_ms(40).beat("nvml", behind_ms=20)
    model.feed_all(program.records[end:])
    assert finality(model) == [(61, True)]
    assert model.summary().tails.frames[0].cause == "unexplained"


def test_a_source_that_is_silent_holds_a_tail_for_two_seconds_of_the_log():
    program = Program().receive().emits([0, *STEADY, 300, 50])
    program.beat("nvml", behind_ms=10_000)
    model = program.model(finish=False)
    for _ in range(38):
        model.feed(program.emit(50))
    assert finality(model) == [(21, False)]
    model.feed(program.emit(50))
    model.feed(program.emit(50))
    assert finality(model) == [(21, True)]


def test_a_dead_source_is_not_waited_for():
    program = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, 300, 50])
    program.records.append(
        type(program.beat().records[-1])(program.now, "nvml", "failed", "gone", None, 0)
    )
    program.pass_ms(10).beat("probe")
    assert finality(program.model(finish=False)) == [(61, True)]


def test_at_the_end_everything_is_final():
    program = Program().receive().emits([0, *STEADY, 300])
    assert finality(program.model(finish=False)) == [(21, False)]
    assert finality(program.model(finish=True)) == [(21, True)]


def test_the_first_tails_wait_for_what_comes_later():
    program = Program().receive().emits([0, 300, 50, 50])
    program.beat()
    model = program.model(finish=False)
    assert finality(model) == [(1, False)]
    for _ in range(37):
        model.feed(program.emit(50))
    assert finality(model) == [(1, False)]
    for _ in range(3):
        model.feed(program.emit(50))
    assert finality(model) == [(1, True)]


def test_the_end_of_a_request_makes_its_first_tails_final():
    program = Program().receive().emits([0, 50, 300, 50]).end()
    program.pass_ms(50).beat()
    assert finality(program.model(finish=False)) == [(2, True)]


def test_a_row_that_may_become_a_level_shift_is_open_until_it_ends():
    program = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, *[150] * 7]).beat()
    model = program.model(finish=False)
    assert [final for _, final in finality(model)] == [False] * 7
    same = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, *[150] * 7, 50]).beat()
    assert [final for _, final in finality(same.model(finish=False))] == [True] * 7
    model.feed(program.emit(150))
    assert finality(model) == []
    assert model.summary().tails.level_shifts == 1


@pytest.mark.parametrize("row", [1, 3, 7])
def test_a_row_that_falls_silent_is_not_held_up(row: int):
    program = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, *[150] * row])
    program.pass_ms(1_990).beat()
    model = program.model(finish=False)
    assert [final for _, final in finality(model)] == [False] * row
    end = len(program.records)
    program.pass_ms(20).beat()
    model.feed_all(program.records[end:])
    assert [final for _, final in finality(model)] == [True] * row
    # Heartbeats or not, what comes after the silence starts a row of its own.
    model.feed_all([program.emit(150) for _ in range(7)])
    assert len(finality(model)) == row + 7
    model.feed(program.emit(150))
    assert (len(finality(model)), model.summary().tails.level_shifts) == (row + 1, 1)


def test_rows_end_at_a_silence_with_heartbeats_and_without():
    quiet = Program().receive().emits([0, *STEADY, *[150] * 7, 3_000, *[150] * 3, *STEADY])
    told = Program().receive().emits([0, *STEADY, *[150] * 7])
    for _ in range(3):
        told.pass_ms(1_000).beat()
    told.emits([0, *[150] * 3, *STEADY])
    for program in (quiet, told):
        found = program.summary().tails
        assert ([t.emit for t in found.frames], found.level_shifts) == ([*range(21, 32)], 0)


def test_a_level_shift_of_slow_blocks_is_waited_for():
    """Five seconds a block, then twelve: each comes before the next one would be overdue."""
    program = Program().receive().emits([0, *[5_000] * 20], count=80)
    for _ in range(12):
        program.emit(12_000, 80)
        program.beat()
    found = program.summary().tails
    assert (found.count, found.level_shifts) == (0, 1)


def test_a_tail_before_such_a_row_is_not_held_up_by_it():
    program = Program().receive().emits([0, *STEADY, *STEADY, *STEADY, 300, 50, 150, 150]).beat()
    assert finality(program.model(finish=False)) == [(61, True), (63, False), (64, False)]


def test_slow_blocks_wait_for_something_to_compare_with():
    """Two seconds pass between any two emits: that must not hide the first late one."""
    program = Program().receive().emits([0, 30_000, 4_000], count=80)
    program.beat()
    model = program.model(finish=False)
    assert finality(model) == [(1, False)]
    model.feed(program.emit(4_000, 80))
    assert finality(model) == [(1, True)]
    (tail,) = model.summary().tails.frames
    assert tail.excess_ms == 26_000


def test_the_watermark_of_nothing_is_two_seconds_ago():
    assert Passed.of(10_000 * MS, {}) == Passed(8_000 * MS, 8_000 * MS)
    assert Passed.of(10_000 * MS, {"a": 9_500 * MS, "b": 9_900 * MS}).all_ns == 9_500 * MS
    assert Passed.of(10_000 * MS, {"a": 0}).all_ns == 8_000 * MS


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("emit"), st.sampled_from([20, 50, 50, 50, 60, 130, 400, 3_000])),
        st.tuples(st.just("beat"), st.integers(0, 3_000)),
        st.tuples(st.just("next"), st.integers(0, 3)),
    ),
    max_size=90,
)


def write(actions: list[tuple[str, int]], **settings_: object) -> Program:
    program = Program(target_fps=16.0, **settings_).receive()
    program.emits([0, 50, 50])
    for what, value in actions:
        if what == "emit":
            program.emit(value)
        elif what == "beat":
            program.beat(("probe", "nvml")[value % 2], behind_ms=value)
        else:
            program.end().receive().emits([50] * value)
    return program


@given(ACTIONS)
@settings(max_examples=60, deadline=None)
def test_final_is_final(actions):
    program = write(actions)
    model = Model()
    final: dict[tuple[str, int], Tail] = {}
    for record in program.records:
        model.feed(record)
        now = {
            (tail.request, tail.emit): tail for tail in model.summary().tails.frames if tail.final
        }
        assert {key: now.get(key) for key in final} == final
        final = now
    model.finish()
    now = {(tail.request, tail.emit): tail for tail in model.summary().tails.frames}
    assert all(tail.final for tail in now.values())
    assert {key: now.get(key) for key in final} == final


# ------------------------------------------------------------------------------- warm-up


def test_stalls_of_the_warm_up_are_told_apart():
    program = Program(warmup={"requests": 0, "emits": 3}).receive()
    program.emits([0, 2_000, 900, *STEADY])
    found = program.summary().tails
    assert (found.count, found.warmup) == (0, 2)
    assert found.placement.kind == "start"
    assert found.lost_ms == 0


def test_a_stall_of_the_warm_up_is_known_even_where_blocks_take_seconds():
    program = Program(warmup={"requests": 0, "emits": 2}).receive()
    program.emits([0, 40_000], count=80).beat()
    model = program.model(finish=False)
    for _ in range(3):
        model.feed(program.emit(5_000, 80))
    assert model.summary().tails.warmup == 1


def test_warm_up_emits_make_no_baseline():
    program = Program(warmup={"requests": 0, "emits": 5}).receive()
    program.emits([0, 500, 500, 500, 500, 50, 50, 50, 120])
    assert emits_of(program.tails()) == [8]
