"""Columns that are asked for again and again are those that are asked for once."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from mgtop.analysis.series import LEVELS, Store, _column, _ring_for

MS = 1_000_000
S = 1_000 * MS
T0 = 1_000 * S


def at_once(
    store: Store, key: str, begin_ns: int, step_ns: int, n: int
) -> tuple[list[float | None], list[float | None]]:
    """Every column gathered from the readings, nothing kept."""
    channel = store._channels[key]
    ends = [begin_ns + step_ns * i for i in range(n + 1)]
    both = [_column(channel, _ring_for(channel, a, b), a, b) for a, b in pairwise(ends)]
    return [low for low, _ in both], [high for _, high in both]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_is_what_is_there(seed: int) -> None:
    """Readings in and out of order, spans into the past, gaps, a window that hops and zooms."""
    rng = random.Random(seed)
    store, now_ns = Store(), T0
    steps_ns = [40 * MS, 100 * MS, 500 * MS, 2 * S, 70 * MS]
    step_ns, begin_ns, n = 100 * MS, T0, 40
    for _ in range(1_500):
        kind = rng.random()
        now_ns += rng.choice((1, 16, 60, 100, 1_500)) * MS if kind < 0.9 else 40 * S
        if kind < 0.75:
            store.add("x", now_ns, rng.uniform(0, 100), rng.choice((None, 16 * MS, S)))
        elif kind < 0.8:
            store.add("x", now_ns - rng.randint(0, 5_000) * MS, rng.uniform(0, 100), 16 * MS)
        elif kind < 0.9:
            length_ns = rng.choice((30, 200, 3_000)) * MS
            store.add_span("x", now_ns - length_ns, now_ns, rng.uniform(0, 200))
        if rng.random() < 0.05:
            step_ns = rng.choice(steps_ns)
        if rng.random() < 0.4:
            hop_ns = rng.choice((1, 5, 10)) * step_ns
            begin_ns = now_ns // hop_ns * hop_ns - rng.choice((n, n - 5, n + 20)) * step_ns
        n = rng.choice((n, n, n, n + 1, 40))
        if "x" in store._channels:
            series = store.columns("x", begin_ns, begin_ns + n * step_ns, n)
            assert (series.low, series.high) == at_once(store, "x", begin_ns, step_ns, n)


def test_what_was_forgotten_meanwhile_is_not_kept() -> None:
    width_ns, size = LEVELS[0]
    store = Store()
    for i in range(size * 2):
        t_ns = T0 + i * width_ns
        store.add("x", t_ns, float(i % 7), width_ns)
        if i % 500 == 0:
            series = store.columns("x", T0, T0 + 40 * width_ns, 40)
            assert (series.low, series.high) == at_once(store, "x", T0, width_ns, 40)


def test_who_changes_columns_changes_nothing_here() -> None:
    store = Store()
    for i in range(50):
        store.add("x", T0 + i * 100 * MS, float(i), 100 * MS)
    series = store.columns("x", T0, T0 + 4 * S, 40)
    good = list(series.high)
    series.high[:] = [None] * 40
    assert store.columns("x", T0, T0 + 4 * S, 40).high == good


def test_a_window_that_stands_still_gathers_only_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gathered = []
    monkeypatch.setattr(
        "mgtop.analysis.series._column",
        lambda *args: gathered.append(args[2]) or _column(*args),
    )
    store = Store()
    for i in range(400):
        store.add("x", T0 + i * 16 * MS, float(i), 16 * MS)
    store.columns("x", T0, T0 + 10 * S, 100)
    assert len(gathered) == 100
    gathered.clear()
    store.add("x", T0 + 400 * 16 * MS, 7.0, 16 * MS)
    store.columns("x", T0, T0 + 10 * S, 100)
    assert min(gathered) >= T0 + 6_200 * MS
    assert len(gathered) == 38
