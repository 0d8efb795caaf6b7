"""Where tails stand: how often random places are called a pattern, and patterns found."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from math import comb

import pytest
from streams import Program

from mgtop.analysis.placement import FALSE_ALARMS, Field, Place, Places, at_least
from mgtop.analysis.summary import Placement


def judge(sizes: list[int], places: Iterable[tuple[int, int]], warmup: int = 0) -> Placement:
    """The placement of tails at (request, emit), in requests of so many emits."""
    before = [sum(sizes[:i]) for i in range(len(sizes))]
    found = Places()
    for request, emit in sorted(places):
        position = before[request] + emit
        found.add(Place(request, emit, emit, position, position))
    return found.judge(Field(sum(sizes), len(sizes), max(sizes, default=0)), warmup)


def random_session(rnd: random.Random) -> tuple[list[int], list[tuple[int, int]]]:
    """1 to 30 requests of 20 to 2,000 emits, and any number of tails, anywhere."""
    requests = rnd.choice([1, 1, 2, 3, 5, 10, 30])
    size = round(10 ** rnd.uniform(1.3, 3.3))
    sizes = [max(5, round(size * rnd.uniform(0.8, 1.2))) for _ in range(requests)]
    if rnd.random() < 0.3:
        sizes = [size] * requests
    everywhere = [(i, emit) for i, n in enumerate(sizes) for emit in range(n)]
    tails = min(len(everywhere) // 3, round(10 ** rnd.uniform(0.6, 2.7)))
    return sizes, rnd.sample(everywhere, tails)


def test_random_places_are_seldom_called_a_pattern():
    rnd = random.Random(20261201)
    sessions, alarms, spoken = 1_000, 0, 0
    for _ in range(sessions):
        found = judge(*random_session(rnd))
        spoken += found.kind != "unknown"
        alarms += found.kind in ("fixed", "periodic", "start")
    # Three standard deviations of a count at the stated rate.
    most = FALSE_ALARMS * sessions + 3 * math.sqrt(FALSE_ALARMS * sessions)
    assert alarms <= most
    assert spoken > 0.6 * sessions


@pytest.mark.parametrize("shape", [[40], [200], [5_000], [60] * 5, [30] * 40])
def test_the_rate_of_false_alarms_holds_for_sessions_of_one_shape(shape: list[int]):
    rnd = random.Random(str(shape))
    everywhere = [(i, emit) for i, n in enumerate(shape) for emit in range(n)]
    alarms = 0
    for _ in range(300):
        tails = rnd.sample(everywhere, rnd.randint(5, max(5, len(everywhere) // 8)))
        alarms += judge(shape, tails[:120]).kind not in ("random", "unknown")
    assert alarms <= 0.01 * 300 + 3 * math.sqrt(0.01 * 300)


# --------------------------------------------------------------------------------- power


def noise(rnd: random.Random, sizes: list[int], tails: int) -> set[tuple[int, int]]:
    return {(i, rnd.randrange(sizes[i])) for i in (rnd.randrange(len(sizes)) for _ in range(tails))}


def share_found(made: Iterable[Placement], **expected: object) -> float:
    hits = [all(getattr(found, k) == v for k, v in expected.items()) for found in made]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("requests", [5, 10, 40])
def test_the_same_index_in_every_request_is_found(requests: int):
    rnd = random.Random(requests)
    made = []
    for _ in range(60):
        sizes = [rnd.randint(60, 90) for _ in range(requests)]
        left_out = rnd.sample(range(requests), requests // 10)
        planted = {(i, 40) for i in range(requests) if i not in left_out}
        made.append(judge(sizes, planted | noise(rnd, sizes, requests // 3)))
    assert share_found(made, kind="fixed", index=40) >= 0.95


@pytest.mark.parametrize(("period", "emits"), [(7, 150), (25, 400), (120, 1_500), (400, 5_000)])
def test_a_fixed_period_is_found_under_noise(period: int, emits: int):
    rnd = random.Random(period)
    made = []
    for _ in range(40):
        phase = rnd.randrange(period)
        planted = {(0, e) for e in range(phase, emits, period) if rnd.random() < 0.85}
        made.append(judge([emits], planted | noise(rnd, [emits], len(planted) // 4)))
    assert share_found(made, kind="periodic", period=period) >= 0.95


def test_a_period_that_starts_anew_with_each_request_is_found():
    rnd = random.Random(1)
    made = []
    for _ in range(40):
        sizes = [rnd.randint(90, 140) for _ in range(8)]
        planted = {(i, e) for i, n in enumerate(sizes) for e in range(11, n, 24)}
        made.append(judge(sizes, planted | noise(rnd, sizes, 5)))
    assert share_found(made, kind="periodic", period=24) >= 0.95


def test_a_period_that_runs_on_across_requests_is_found():
    rnd = random.Random(2)
    made = []
    for _ in range(40):
        sizes = [rnd.randint(30, 60) for _ in range(20)]
        before = [sum(sizes[:i]) for i in range(20)]
        planted = {
            (i, position - before[i])
            for i, n in enumerate(sizes)
            for position in range(before[i], before[i] + n)
            if position % 37 == 5
        }
        made.append(judge(sizes, planted | noise(rnd, sizes, 4)))
    assert share_found(made, kind="periodic", period=37) >= 0.95


def test_a_stutter_of_the_start_alone_is_found():
    rnd = random.Random(3)
    made = []
    for _ in range(60):
        planted = {(0, rnd.randrange(60)) for _ in range(10)}
        made.append(judge([1_000], planted | noise(rnd, [1_000], 1)))
    assert share_found(made, kind="start") >= 0.95


def test_two_indices_in_every_request_are_fixed_by_the_first():
    found = judge([100] * 6, {(i, e) for i in range(6) for e in (40, 80)})
    assert (found.kind, found.index) == ("fixed", 40)


def test_half_of_the_requests_are_no_pattern():
    rnd = random.Random(4)
    sizes = [rnd.randint(60, 100) for _ in range(20)]
    planted = {(i, 40) for i in rnd.sample(range(20), 9)}
    assert judge(sizes, planted | noise(rnd, sizes, 5)).kind == "random"


def test_the_true_period_is_named_and_none_of_its_multiples():
    for period in range(2, 60):
        found = judge([60 * period], {(0, e) for e in range(1, 60 * period, period)})
        assert (found.kind, found.period) == ("periodic", period)


# ------------------------------------------------------------------------ what is not said


def test_few_tails_say_nothing():
    for tails in range(5):
        assert judge([500], {(0, 100 * i) for i in range(tails)}) == Placement()
    assert judge([500], {(0, 100 * i) for i in range(5)}).kind == "periodic"


def test_tails_of_the_warm_up_alone_are_a_stutter_of_the_start():
    assert judge([100], set(), warmup=3) == Placement(kind="start")
    assert judge([100], {(0, 50)}, warmup=3) == Placement()
    assert judge([100], set()) == Placement()


def test_the_chance_is_that_of_random_places():
    pattern = judge([400], {(0, e) for e in range(3, 400, 25)})
    assert pattern.p_value is not None
    assert pattern.p_value < 1e-12
    rnd = random.Random(8)
    no_pattern = judge([400], noise(rnd, [400], 12))
    assert no_pattern.kind == "random"
    assert no_pattern.p_value is not None
    assert FALSE_ALARMS < no_pattern.p_value <= 1
    # One index in each of five requests of 60: 60 indices tried, three tests.
    fixed = judge([60] * 5, {(i, 7) for i in range(5)})
    assert fixed.p_value == pytest.approx(3 * 60 / comb(300, 5))


def test_asking_does_not_change_the_answer():
    rnd = random.Random(9)
    sizes, tails = [800], sorted(noise(rnd, [800], 30) | {(0, e) for e in range(0, 800, 20)})
    asked, quiet = Places(), Places()
    for i, (request, emit) in enumerate(tails):
        for places in (asked, quiet):
            places.add(Place(request, emit, emit, emit, emit))
        asked.judge(Field(i * 10 + 50, 1, 800))
    assert asked.judge(Field(800, 1, 800)) == quiet.judge(Field(800, 1, 800))
    assert sizes == [800]


@pytest.mark.parametrize(
    ("hits", "places", "marked", "drawn"),
    [(0, 10, 3, 4), (1, 10, 3, 4), (3, 10, 3, 4), (4, 10, 3, 4), (5, 300, 5, 5),
     (7, 1_000, 50, 60), (40, 100, 90, 45), (2, 5, 5, 5), (30, 5_000, 300, 120)],
)  # fmt: skip
def test_the_hypergeometric_tail_is_exact(hits: int, places: int, marked: int, drawn: int):
    exact = sum(
        comb(marked, k) * comb(places - marked, drawn - k)
        for k in range(hits, min(drawn, marked) + 1)
    ) / comb(places, drawn)
    assert at_least(hits, places, marked, drawn) == pytest.approx(exact, rel=1e-9)


def test_numbers_that_contradict_each_other_are_no_error():
    assert at_least(3, 0, 0, 0) == 0.0
    assert at_least(0, 0, 0, 0) == 1.0
    assert 0 <= at_least(2, 3, 9, 7) <= 1
    places = Places()
    for i in range(9):
        places.add(Place(i % 2, i, i, i, 10**9))
    assert places.judge(Field(0, 0, 0)).kind in ("random", "periodic", "start", "fixed")


# -------------------------------------------------------------------------- in a session


def test_the_placement_of_a_session():
    program = Program(target_fps=16.0)
    for _ in range(6):
        program.receive().emits([0, *[50] * 39, 200, *[50] * 20]).end()
    found = program.summary().tails
    assert found.count == 6
    assert (found.placement.kind, found.placement.index) == ("fixed", 40)


def test_a_session_that_stutters_periodically():
    program = Program().receive()
    for _ in range(12):
        program.emits([*[50] * 29, 250])
    found = program.summary().tails.placement
    assert (found.kind, found.period) == ("periodic", 30)


def test_a_session_that_stutters_at_its_start():
    rnd = random.Random(11)
    early = [250 if rnd.random() < 0.2 else 50 for _ in range(80)]
    program = Program().receive().emits([0, *[50] * 10, *early, *[50] * 1_500])
    found = program.summary().tails
    assert found.count > 8
    assert found.placement.kind == "start"
