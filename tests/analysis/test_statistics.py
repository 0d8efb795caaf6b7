"""Order statistics and unions of time, beside numpy and brute force."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgtop.analysis.statistics import (
    CHUNK,
    EXACT,
    Samples,
    TimeUnion,
    Typical,
    quantile,
    quantile_of,
)

VALUES = st.floats(-1e12, 1e12)
WHOLE = st.integers(0, 1 << 50)


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_numpys_to_the_last_bit(values: list[float], q: float):
    ours = quantile(sorted(values), q)
    assert ours == pytest.approx(np.quantile(values, q), rel=1e-15, abs=1e-300)


@settings(deadline=None)
@given(st.lists(WHOLE, min_size=1, max_size=300))
def test_quantiles_of_samples_are_numpys(values: list[int]):
    found = Samples(values, "q").quantiles()
    expected = np.percentile(values, [50, 95, 99, 100])
    assert (found.p50, found.p95, found.p99, found.max) == pytest.approx(expected, rel=1e-15)
    assert found.count == len(values)


def test_no_values_have_no_quantiles():
    found = Samples().quantiles()
    assert (found.count, found.p50, found.p99, found.max) == (0, None, None, None)
    assert Samples().median() is None
    assert Samples().sum_from(0) == 0
    with pytest.raises(IndexError):
        Samples().at(0)
    with pytest.raises(IndexError):
        quantile([], 0.5)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 200), max_size=40), min_size=1, max_size=12), st.data())
def test_samples_are_the_same_however_often_they_are_asked(lots: list[list[int]], data):
    samples = Samples(kind="q")
    everything: list[int] = []
    for lot in lots:
        for value in lot:
            samples.add(value)
        everything += lot
        if data.draw(st.booleans()):
            samples.median()
    everything.sort()
    assert list(samples) == everything
    assert samples.total() == sum(everything)
    for rank in range(len(everything) + 1):
        assert samples.sum_from(rank) == sum(everything[rank:])
    for limit in (-1, 0, 7, 100, 200, 300):
        assert samples.below(limit) == sum(value < limit for value in everything)
        assert samples.not_above(limit) == sum(value <= limit for value in everything)


@given(st.lists(st.integers(0, 2**34), max_size=300), st.integers(1, 200))
@settings(deadline=None)
def test_whole_numbers_come_back_however_large_they_are(values: list[int], lot: int):
    samples = Samples(range(0, 4_000_000_000, 1_000_000), kind="q")
    for n, value in enumerate(values):
        samples.add(value)
        if n % lot == 0:
            samples.settle()
    ordered = sorted([*range(0, 4_000_000_000, 1_000_000), *values])
    assert list(samples) == ordered
    assert samples.total() == sum(ordered)
    assert [samples.at(n) for n in (0, 2_000, len(ordered) - 1)] == [
        ordered[0], ordered[2_000], ordered[-1],
    ]  # fmt: skip


def test_nanoseconds_below_four_seconds_take_four_bytes():
    samples = Samples((62_500_000 + n for n in range(10_000)), kind="q")
    samples.settle()
    assert {chunk.itemsize for chunk in samples._chunks} == {4}
    samples.add(5_000_000_000)
    assert samples.at(10_000) == 5_000_000_000
    assert [chunk.itemsize for chunk in samples._chunks][-2:] == [4, 8]


def test_many_samples_one_by_one():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 1000, 6 * CHUNK)
    samples = Samples(values[: 5 * CHUNK].tolist(), "q")
    for value in values[5 * CHUNK :].tolist():
        samples.add(value)
        if value % 50 == 0:
            samples.median()  # puts the few new ones in their places
    assert list(samples) == sorted(values.tolist())
    assert [samples.at(rank) for rank in (0, CHUNK, 5 * CHUNK)] == [
        np.sort(values)[rank] for rank in (0, CHUNK, 5 * CHUNK)
    ]
    assert samples.sum_from(CHUNK + 17) == np.sort(values)[CHUNK + 17 :].sum()
    assert samples.quantiles().p95 == np.percentile(values, 95)


PARTS = st.lists(
    st.tuples(st.lists(st.integers(0, 500), max_size=40), st.integers(1, 13), st.integers(1, 13)),
    min_size=1,
    max_size=5,
)


@given(PARTS, st.sampled_from([0.0, 0.25, 0.5, 0.95, 0.99, 1.0]))
@settings(max_examples=300, deadline=None)
def test_a_weighted_quantile_is_that_of_repeated_values(parts, q: float):
    ours = quantile_of([(Samples(v, "q"), float(d), w) for v, d, w in parts], q)
    repeated = [np.repeat(np.array(v, float) / d, w) for v, d, w in parts if v]
    if not repeated:
        assert ours is None
    else:
        expected = np.quantile(np.concatenate(repeated), q)
        assert ours == pytest.approx(expected, rel=1e-14, abs=1e-14)


SEGMENTS = st.lists(st.tuples(st.integers(-50, 80), st.integers(0, 30)), max_size=40)


@settings(deadline=None)
@given(SEGMENTS)
def test_the_union_of_time_is_the_time_that_any_interval_covers(segments):
    union = TimeUnion()
    covered: set[int] = set()
    for begin, length in segments:
        union.add(begin, begin + length)
        covered |= set(range(begin, begin + length))
        assert union.length_ns == len(covered)
    held = list(union.segments())
    assert sum(end - begin for begin, end in held) == len(covered)
    assert all(a[1] < b[0] for a, b in pairwise(held))


def test_touching_intervals_are_held_as_one():
    union = TimeUnion()
    for i in range(10_000):
        union.add(10 * i, 10 * i + 10)
    assert list(union.segments()) == [(0, 100_000)]


@given(st.lists(st.integers(0, 10**10), min_size=1, max_size=EXACT))
@settings(max_examples=30, deadline=None)
def test_a_typical_value_is_the_median_while_values_are_few(values: list[int]):
    typical = Typical()
    for value in values:
        typical.add(value)
    assert typical.median() == pytest.approx(np.median(values), rel=1e-15)


@pytest.mark.parametrize("spread", [0.01, 0.3, 3.0])
def test_a_typical_value_is_right_to_half_a_percent(spread: float):
    rng = np.random.default_rng(5)
    values = (rng.lognormal(math.log(6e7), spread, 20_000)).astype(int)
    typical = Typical()
    for value in values.tolist():
        typical.add(value)
    # The median itself and its neighbours differ by less than the error that is stated.
    assert typical.median() == pytest.approx(np.median(values), rel=0.0051)
    assert len(typical) == 20_000


def test_a_typical_value_of_nothing():
    assert Typical().median() is None
    typical = Typical()
    for _ in range(EXACT + 10):
        typical.add(0)
    assert typical.median() == 0.0
