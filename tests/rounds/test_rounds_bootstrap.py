"""Resampling, with numpy as the oracle."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.rounds.bootstrap import (
    block_length,
    median,
    moving_blocks,
    percentile_interval,
    resampled,
    student_t,
)

FLOATS = st.floats(-1e6, 1e6)
SOME = [float(value) for value in np.random.default_rng(0).normal(size=100)]


@given(st.lists(FLOATS, min_size=1, max_size=60), st.floats(0.5, 0.99))
def test_the_interval_is_numpys_percentiles(draws: list[float], level: float) -> None:
    low, high = percentile_interval(draws, level)
    wanted = np.percentile(draws, [50 * (1 - level), 50 * (1 + level)])
    assert low == pytest.approx(wanted[0], abs=1e-6)
    assert high == pytest.approx(wanted[1], abs=1e-6)


@given(st.lists(FLOATS, min_size=1, max_size=60))
def test_the_middle_value_is_numpys(values: list[float]) -> None:
    assert median(values) == pytest.approx(float(np.median(values)), abs=1e-6)


@pytest.mark.parametrize(
    ("freedom", "wanted"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (6, 2.4469), (10, 2.2281), (30, 2.0423)],
)
def test_students_t_is_that_of_the_tables(freedom: int, wanted: float) -> None:
    assert student_t(0.975, freedom) == pytest.approx(wanted, rel=0.01)


def test_few_degrees_of_freedom_make_it_wider() -> None:
    draws = list(np.random.default_rng(1).normal(size=4_000))
    widths = [np.diff(percentile_interval(draws, freedom=freedom))[0] for freedom in (4, 10, 1_000)]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] == pytest.approx(np.diff(percentile_interval(draws))[0], rel=0.02)


@given(st.integers(1, 1_000))
def test_resamples_are_as_long_as_what_they_are_of(count: int) -> None:
    values = [float(n * 7919 % 101) for n in range(count)]
    assert 1 <= block_length(values) <= max(1, count // 4)
    for pieces in moving_blocks(values, 3):
        assert sum(piece.stop - piece.start for piece in pieces) == count
        assert all(piece.start >= 0 and piece.stop <= count for piece in pieces)


def test_what_drifts_is_drawn_in_longer_stretches() -> None:
    rng = np.random.default_rng(3)
    noise = rng.normal(size=1_000)
    drift = noise + 3 * np.sin(np.arange(1_000) / 40)
    late = noise.copy()
    late[::50] += 100
    assert block_length(list(noise)) == 20
    assert block_length(list(late)) == 20
    assert block_length(list(drift)) >= 60


def test_equal_seeds_give_equal_draws() -> None:
    assert list(moving_blocks(SOME, 5, 3)) == list(moving_blocks(SOME, 5, 3))
    assert list(moving_blocks(SOME, 5, 3)) != list(moving_blocks(SOME, 5, 4))
    values = [1.0, 2.0, 7.0]
    assert resampled(values, median, 9) == resampled(values, median, 9)


def test_every_value_is_drawn_about_equally_often() -> None:
    counts = np.zeros(200)
    for pieces in moving_blocks([*SOME, *SOME], 2_000):
        for piece in pieces:
            counts[piece] += 1
    inner = counts[20:-20] / counts.sum() * 200
    assert inner.min() > 0.85
    assert inner.max() < 1.35


def test_the_interval_of_a_mean_covers_the_truth() -> None:
    """95 % nominal; independent values, 30 each, 100 seeds."""
    hits = 0
    for seed in range(100):
        values = list(np.random.default_rng(seed).normal(10, 2, size=30))
        low, high = percentile_interval(
            resampled(values, lambda v: sum(v) / len(v), 200, seed), freedom=29
        )
        hits += low <= 10 <= high
    assert hits >= 88


def test_blocks_cover_the_truth_where_neighbours_are_alike() -> None:
    """Single draws would be far too sure: the mean of 400 values with correlation 0.7."""

    hits = {"blocks": 0, "single": 0}
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(size=400)
        values = np.zeros(400)
        for n in range(1, 400):
            values[n] = 0.7 * values[n - 1] + noise[n]
        draws = {
            "blocks": [
                float(np.mean(np.concatenate([values[piece] for piece in pieces])))
                for pieces in moving_blocks(list(values), 100, seed)
            ],
            "single": resampled(list(values), lambda v: math.fsum(v) / len(v), 100, seed),
        }
        for way, found in draws.items():
            low, high = percentile_interval(found)
            hits[way] += low <= 0 <= high
    assert hits["blocks"] >= 0.85 * 60, hits
    assert hits["single"] <= 0.75 * 60, hits
