"""Linear, superlinear, sublinear or flat: decided right, or left undecided."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from mgtop.rounds.linearity import FLAT_SHARE, Tier, decide

SEEDS = 20
SHAPES: dict[str, Callable[[float], float]] = {
    "linear": lambda steps: 10 + 2.5 * steps,
    "superlinear": lambda steps: 3 + 0.3 * steps**2,
    "sublinear": lambda steps: 10 * math.sqrt(steps),
    "flat": lambda steps: 40.0,
}


def tiers(shape: Callable[[float], float], seed: int, noise: float, repeats: int = 3) -> list[Tier]:
    rng = np.random.default_rng(seed)
    return [
        Tier(steps, [shape(steps) * math.exp(noise * rng.normal()) for _ in range(repeats)])
        for steps in (4, 8, 16)
    ]


@pytest.mark.parametrize("kind", SHAPES)
def test_it_is_decided_right(kind: str) -> None:
    found = Counter(decide(tiers(SHAPES[kind], seed, 0.01)).kind for seed in range(SEEDS))
    assert found[kind] + found["undecided"] >= 0.95 * SEEDS, found
    assert found[kind] >= 0.75 * SEEDS, found


@pytest.mark.parametrize("kind", SHAPES)
def test_much_noise_makes_it_undecided_rather_than_wrong(kind: str) -> None:
    found = Counter(decide(tiers(SHAPES[kind], seed, 0.06)).kind for seed in range(SEEDS))
    assert found[kind] + found["undecided"] >= 0.95 * SEEDS, found


def test_the_slopes_are_those_of_the_table() -> None:
    found = decide([Tier(4, [20.0] * 3), Tier(8, [40.0] * 3), Tier(16, [60.0] * 3)])
    assert found.slopes == [(40 - 20) / 4, (60 - 40) / 8]
    assert found.kind == "sublinear"
    assert found.low == found.high == found.slopes
    assert found.difference == pytest.approx((2.5 - 5) / (40 / 12))


def test_the_intervals_lie_around_the_slopes() -> None:
    found = decide(tiers(SHAPES["linear"], 5, 0.02))
    assert found.difference is not None
    assert found.difference_low is not None
    assert found.difference_high is not None
    for low, slope, high in zip(found.low, found.slopes, found.high, strict=True):
        assert low is not None
        assert high is not None
        assert low <= slope <= high
    assert found.difference_low <= found.difference <= found.difference_high


def test_the_order_of_tiers_does_not_matter() -> None:
    given = tiers(SHAPES["superlinear"], 1, 0.01)
    assert decide(given).kind == decide(given[::-1]).kind == "superlinear"
    assert decide(given) == decide(given)


def test_little_change_is_flat_and_more_is_not() -> None:
    def growing(share: float) -> str:
        return decide(
            [Tier(4, [100.0, 100.1, 99.9]), Tier(8, [100.0, 100.1, 99.9]),
             Tier(16, [100 * (1 + share) + d for d in (-0.1, 0, 0.1)])]
        ).kind  # fmt: skip

    assert growing(0.5 * FLAT_SHARE) == "flat"
    assert growing(3 * FLAT_SHARE) == "superlinear"


def test_one_repeat_each_says_nothing() -> None:
    found = decide([Tier(4, [10.0]), Tier(8, [20.0]), Tier(16, [40.0])])
    assert found.kind == "undecided"
    assert found.slopes == [2.5, 2.5]
    assert found.low == found.high == [None, None]
    assert "one repeat only" in found.because


def test_two_values_are_flat_or_undecided() -> None:
    assert decide([Tier(4, [10.0, 10.1]), Tier(8, [10.1, 10.0])]).kind == "flat"
    found = decide([Tier(4, [10.0, 10.1]), Tier(8, [20.1, 20.0])])
    assert found.kind == "undecided"
    assert "a third one would" in found.because


def test_without_times_there_is_nothing_to_decide() -> None:
    assert decide([]).kind == "undecided"
    assert decide([Tier(4, [10.0, 11.0]), Tier(8, [])]).slopes == []


def test_a_falling_time_is_said_to_fall() -> None:
    found = decide([Tier(4, [40.0, 40.1, 39.9]), Tier(8, [20.0] * 3), Tier(16, [10.0] * 3)])
    assert found.kind == "undecided"
    assert "falls" in found.because


def test_more_tiers_use_the_slopes_of_both_halves() -> None:
    sizes = (2, 4, 8, 16, 32)
    linear = [Tier(x, [5 * x + d for d in (0, 0.05, -0.05)]) for x in sizes]
    square = [Tier(x, [0.1 * x * x + 5 + d for d in (0, 0.05, -0.05)]) for x in sizes]
    assert decide(linear).kind == "linear"
    assert len(decide(linear).slopes) == 4
    assert decide(square).kind == "superlinear"


def test_one_round_that_went_astray_does_not_decide() -> None:
    """The middle of the repeats stands for a tier; the scatter that it brings makes it careful."""
    given = tiers(SHAPES["linear"], 3, 0.005)
    spoiled = [given[0], Tier(8, [*given[1].times_ms[:2], 3 * given[1].times_ms[2]]), given[2]]
    assert decide(spoiled).kind in ("linear", "undecided")


def test_a_load_that_comes_and_goes_decides_nothing() -> None:
    """Rounds that take as long again beside another program: three repeats cannot tell."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        found = decide(
            [Tier(x, [(1 + 0.2 * x) * rng.choice([1.0, 2.0]) for _ in range(3)])
             for x in (4, 8, 16)]
        )  # fmt: skip
        wrong += found.kind not in ("linear", "undecided")
    assert wrong <= 0.05 * 60
    apart = decide([Tier(4, [10.0, 10, 10]), Tier(8, [20.0, 20, 40]), Tier(16, [80.0, 80, 80])])
    assert apart.kind == "undecided"
    assert len(apart.low) == len(apart.slopes) == 2
    assert "repeats of one value lie 100 % apart" in apart.because
