"""Curves in bounded memory: extremes kept, gaps kept, nothing invented."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgtop.analysis.series import LEVELS, Store

S = 1_000_000_000
MS = 1_000_000
T0 = 1_000 * S


def test_a_key_without_readings_has_empty_columns_and_says_why() -> None:
    store = Store()
    store.describe("gpu:0", "%", 100.0, "no driver")
    series = store.columns("gpu:0", T0, T0 + S, 5)
    assert series.high == series.low == [None] * 5
    assert (series.last, series.age_ns, series.unit, series.limit) == (None, None, "%", 100.0)
    assert series.reason == "no driver"
    assert store.columns("never heard of", T0, T0 + S, 3).high == [None] * 3


def test_extremes_of_a_column_are_those_of_its_readings() -> None:
    store = Store()
    for i, value in enumerate([5.0, 80.0, 3.0, 40.0]):
        store.add("x", T0 + i * 250 * MS, value, 250 * MS)
    series = store.columns("x", T0, T0 + S, 2)
    assert series.high == [80.0, 40.0]
    # 80 holds until 500 ms, where the second column begins.
    assert series.low == [5.0, 3.0]


def test_events_hold_only_at_their_own_time() -> None:
    store = Store()
    store.add("interval", T0 + 50 * MS, 40.0)
    store.add("interval", T0 + 850 * MS, 214.0)
    series = store.columns("interval", T0, T0 + S, 10)
    assert series.high == [40.0, *[None] * 7, 214.0, None]
    assert series.stale is False


def test_a_reading_holds_until_it_is_stale_and_then_there_is_a_gap() -> None:
    store = Store()
    store.add("vram:0", T0, 100.0, 100 * MS)
    store.add("vram:0", T0 + 900 * MS, 200.0, 100 * MS)
    series = store.columns("vram:0", T0, T0 + S, 10)
    assert series.high == [100.0] * 4 + [None] * 5 + [200.0]


def test_the_newest_reading_holds_up_to_now_and_goes_stale() -> None:
    store = Store()
    store.add("vram:0", T0, 100.0, 100 * MS)
    series = store.columns("vram:0", T0, T0 + 250 * MS, 5)
    assert series.high == [100.0] * 5
    assert (series.last, series.age_ns, series.stale) == (100.0, 250 * MS, False)
    series = store.columns("vram:0", T0, T0 + S, 10)
    assert series.high == [100.0] * 3 + [None] * 7
    assert (series.last, series.age_ns, series.stale) == (100.0, S, True)


def test_before_the_first_reading_there_is_nothing() -> None:
    store = Store()
    store.add("x", T0 + 10 * S, 1.0, S)
    series = store.columns("x", T0, T0 + 11 * S, 11)
    assert series.high == [None] * 10 + [1.0]
    assert store.columns("x", T0, T0 + S, 2).last is None


def test_scrolled_back_the_last_reading_is_the_one_of_then() -> None:
    store = Store()
    for i in range(100):
        store.add("x", T0 + i * S, float(i), S)
    series = store.columns("x", T0 + 10 * S, T0 + 20 * S, 10)
    assert series.high == [float(i) for i in range(10, 20)]
    assert series.last == 19.0
    assert series.age_ns == pytest.approx(S, abs=120 * MS)


def test_a_spike_survives_in_every_resolution() -> None:
    store = Store()
    spike = T0 + 5_000 * S
    for i in range(10 * 8_000):
        t_ns = T0 + i * 100 * MS
        store.add("x", t_ns, 250.0 if t_ns == spike else 50.0, 100 * MS)
    now = T0 + 8_000 * S
    for columns in (40, 80, 200, 1_000):
        series = store.columns("x", T0, now, columns)
        assert max(v for v in series.high if v is not None) == 250.0
        assert sum(v == 250.0 for v in series.high) == 1
        assert None not in series.high


def test_what_is_older_than_the_fine_ring_comes_from_a_coarser_one() -> None:
    store = Store()
    for i in range(1_200):
        store.add("x", T0 + i * 500 * MS, float(i % 100), 500 * MS)
    fine = store.columns("x", T0, T0 + 2 * S, 100)
    # The finest ring has long passed on; the next one still tells 100 ms apart.
    assert next(v for v in fine.high[:25] if v is not None) == 0.0
    assert set(fine.high) == {0.0, 1.0, 2.0, 3.0}


def test_a_reading_that_comes_late_is_merged_where_it_belongs() -> None:
    store = Store()
    store.add("gpu:0", T0 + 500 * MS, 50.0, 200 * MS)
    store.add("gpu:0", T0 + 100 * MS, 90.0, 200 * MS)
    series = store.columns("gpu:0", T0, T0 + S, 10)
    assert series.high[1] == 90.0
    assert series.high[5] == 50.0
    assert series.last == 50.0


def test_memory_is_bounded_for_a_day_at_full_rate() -> None:
    store = Store()
    tracemalloc.start()
    store.add("vram:0", T0, 0.0, 15 * MS)
    first, _ = tracemalloc.get_traced_memory()
    for i in range(8_640):
        store.add("vram:0", T0 + i * 10 * S, float(i), 100 * MS)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert first < 600_000
    assert after - first < 20_000


def test_the_rings_reach_two_days_at_least() -> None:
    width, size = LEVELS[-1]
    assert width * size >= 2 * 24 * 3600 * S
    for (fine, _), (coarse, _) in itertools.pairwise(LEVELS):
        assert coarse % fine == 0


@given(
    st.lists(st.tuples(st.integers(0, 30_000), st.integers(0, 1_000)), min_size=1, max_size=60),
    st.integers(1, 40),
)
@settings(max_examples=150, deadline=None)
def test_against_brute_force(readings: list[tuple[int, int]], n: int) -> None:
    """Columns of whole buckets hold the readings in them and what held into them, no more."""
    readings.sort()
    store = Store()
    for at_ms, value in readings:
        store.add("x", T0 + at_ms * MS, float(value), 100 * MS)
    width = 1_000 * MS
    series = store.columns("x", T0, T0 + n * width, n)
    for i in range(n):
        begin, end = i * 1_000, (i + 1) * 1_000
        inside = [float(v) for at, v in readings if begin <= at < end]
        held = []
        for k, (at, value) in enumerate(readings):
            until = at + 300
            if k + 1 < len(readings):
                until = min(until, readings[k + 1][0])
            if at < begin and until > begin:
                held.append(float(value))
        high, low = series.high[i], series.low[i]
        if not inside and not held:
            # A hold that ends right at the border may reach into the bucket behind it.
            touching = [float(v) for at, v in readings if at < begin <= at + 300]
            assert high is None or high in touching
            continue
        if inside:
            assert high is not None
            assert low is not None
            assert high >= max(inside)
            assert low <= min(inside)
        assert high is None or high in {float(v) for _, v in readings}
        if high is not None and not inside:
            assert high <= max(held, default=0.0) or high in {
                float(v) for at, v in readings if at < begin
            }


def test_keys_in_order_of_appearance() -> None:
    store = Store()
    store.describe("vram:0", "MiB")
    store.add("interval", T0, 1.0)
    assert store.keys() == ["vram:0", "interval"]
