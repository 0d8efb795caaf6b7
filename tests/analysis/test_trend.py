"""The tests behind memory's shapes, against numpy and by their false-alarm rate."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.noise import FLAT, LEAKS, RATES, walk, window
from mgtop.analysis.trend import FEWEST, Point, lasting_rise, plateau, slope

LEAST = 8.0


def points(values: list[float]) -> list[Point]:
    return [(float(i), value) for i, value in enumerate(values)]


class TestSlope:
    @given(
        st.lists(
            st.tuples(st.integers(0, 1_000), st.integers(-1_000, 1_000)), min_size=3, max_size=60
        )
    )
    def test_it_is_the_median_of_all_pairs(self, rows: list[tuple[int, int]]) -> None:
        x, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        i, j = np.triu_indices(len(rows), 1)
        apart = x[j] != x[i]
        found = slope([(float(a), float(b)) for a, b in rows])
        if not apart.any():
            assert found is None
            return
        assert found is not None
        slopes = (y[j] - y[i])[apart] / (x[j] - x[i])[apart]
        assert found.value == pytest.approx(float(np.median(slopes)))
        assert found.low <= found.value <= found.high

    def test_outliers_do_not_sway_it(self) -> None:
        rows = [(float(i), 3.0 * i) for i in range(200)]
        for i in range(0, 200, 5):
            rows[i] = (float(i), 1e6)
        found = slope(rows)
        assert found is not None
        assert found.value == pytest.approx(3.0, rel=0.01)

    @pytest.mark.parametrize("resembles", [0.0, 0.6, 0.9])
    def test_its_interval_holds_the_true_one_as_often_as_it_says(self, resembles: float) -> None:
        source, held = Random(11), 0
        for _ in range(300):
            off, rows = 0.0, []
            for i in range(200):
                off = resembles * off + source.gauss(0, 4)
                rows.append((float(i), 0.5 * i + off))
            found = slope(rows)
            assert found is not None
            held += found.low <= 0.5 <= found.high
        # 95 % of 300 is 285; neighbours that resemble each other are allowed for, not perfectly.
        assert held >= 264

    @pytest.mark.parametrize("rows", [[], [(0.0, 1.0)], [(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]])
    def test_too_few_points_have_none(self, rows: list[Point]) -> None:
        assert slope(rows) is None


class TestFlat:
    @pytest.mark.parametrize("frames", [60, 200, 512])
    def test_of_1_000_flat_runs_with_noise_at_most_10_are_called_rising(self, frames: int) -> None:
        source = Random(20)
        kinds = list(FLAT.values())
        called = [
            lasting_rise(points(kinds[i % len(kinds)](source, frames)), LEAST) is not None
            for i in range(1_000)
        ]
        assert sum(called) <= 10

    @pytest.mark.parametrize("kind", FLAT)
    def test_no_kind_of_noise_is_called_rising_more_often(self, kind: str) -> None:
        source = Random(21)
        called = [
            lasting_rise(points(FLAT[kind](source, 200)), LEAST) is not None for _ in range(300)
        ]
        assert sum(called) <= 3

    def test_even_a_random_walk_is_rarely_called_rising(self) -> None:
        source = Random(22)
        called = [lasting_rise(points(walk(source, 200)), LEAST) is not None for _ in range(500)]
        assert sum(called) <= 25

    @pytest.mark.parametrize(
        "values",
        [
            [],
            [1.0, 2.0, 3.0],
            [1.0] * 100,
            [float(-i) for i in range(100)],
            [float(i) for i in range(FEWEST - 1)],
            [0.0] * 50 + [200.0] * 50,
            [float(i % 40) * 10 for i in range(200)],
        ],
    )
    def test_what_is_no_rise(self, values: list[float]) -> None:
        assert lasting_rise(points(values), LEAST) is None


class TestLeaks:
    @pytest.mark.parametrize("rate", RATES)
    @pytest.mark.parametrize("kind", LEAKS)
    def test_200_frames_give_the_slope_within_5_percent(self, kind: str, rate: float) -> None:
        if kind == "by segments" and rate < 5:
            pytest.skip("100 MiB in segments of 20 are five steps: seen in longer runs only")
        source, within = Random(30), 0
        for _ in range(50):
            found = lasting_rise(points(LEAKS[kind](source, 200, rate)), LEAST)
            assert found is not None
            within += abs(found.slope.value / rate - 1) <= 0.05
        # Teeth of up to 50 MiB on a rise of 100 in all are the hardest of them.
        assert within >= (45 if kind == "over a sawtooth" else 50)

    def test_segments_of_20_mib_take_longer(self) -> None:
        source = Random(31)
        for _ in range(20):
            found = lasting_rise(points(LEAKS["by segments"](source, 512, 0.5)), LEAST)
            assert found is not None
            assert found.slope.value == pytest.approx(0.5, rel=0.1)

    def test_a_leak_after_a_window_that_filled_is_measured_by_itself(self) -> None:
        found = lasting_rise(points(LEAKS["after a window"](Random(0), 200, 0.5)), LEAST)
        assert found is not None
        assert found.slope.value == pytest.approx(0.5)


class TestWindows:
    def test_a_window_that_is_full_is_no_leak(self) -> None:
        source = Random(40)
        called = [lasting_rise(points(window(source, 200)), LEAST) is not None for _ in range(500)]
        assert sum(called) <= 2

    def test_it_is_said_to_be_full_and_by_when(self) -> None:
        values = [9_000 + 20.0 * min(i, 60) for i in range(200)]
        found = plateau(points(values), LEAST)
        assert found is not None
        assert found.amount == pytest.approx(1_200, rel=0.05)
        assert found.level == pytest.approx(10_200)
        assert 55 <= found.by <= 60

    @pytest.mark.parametrize(
        "values",
        [
            [9_000.0] * 100,
            [9_000.0 + 5 * i for i in range(200)],
            [9_000.0 + 10 * (i % 20) for i in range(200)],
            [9_000.0] * 10,
        ],
    )
    def test_what_is_none(self, values: list[float]) -> None:
        assert plateau(points(values), LEAST) is None
