"""The tests behind memory's shapes, against numpy and by their false-alarm rate."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.trend import rises, slope


@given(
    st.lists(st.tuples(st.integers(0, 1_000), st.integers(-1_000, 1_000)), min_size=2, max_size=60)
)
def test_the_slope_is_the_median_of_all_pairs(points: list[tuple[int, int]]) -> None:
    x, y = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    i, j = np.triu_indices(len(points), 1)
    apart = x[j] != x[i]
    found = slope([(float(a), float(b)) for a, b in points])
    if not apart.any():
        assert found is None
        return
    slopes = (y[j] - y[i])[apart] / (x[j] - x[i])[apart]
    assert found == pytest.approx(float(np.median(slopes)))


def test_outliers_do_not_sway_the_slope() -> None:
    points = [(float(i), 3.0 * i) for i in range(200)]
    for i in range(0, 200, 5):
        points[i] = (float(i), 1e6)
    assert slope(points) == pytest.approx(3.0, rel=0.01)


def test_flat_noise_is_rarely_called_rising() -> None:
    """One row in 740 by the test's own rate: of 1,000, more than 6 would be beyond chance."""
    source = random.Random(5)
    rows = ([source.gauss(1_000, 5) for _ in range(200)] for _ in range(1_000))
    assert sum(rises(row) for row in rows) <= 6


def test_a_small_leak_under_noise_is_found() -> None:
    source = random.Random(6)
    rows = ([0.5 * i + source.gauss(0, 5) for i in range(200)] for _ in range(100))
    assert all(rises(row) for row in rows)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0] * 100, False),
        ([], False),
        ([1.0, 2.0, 3.0], False),
        ([float(i) for i in range(20)], True),
        ([float(-i) for i in range(20)], False),
    ],
)
def test_plain_rows(values: list[float], expected: bool) -> None:
    assert rises(values) is expected
