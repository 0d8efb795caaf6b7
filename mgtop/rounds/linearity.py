"""How the time of a frame grows with a parameter: flat, linear, superlinear or sublinear.

Each value of the parameter (a *tier*) has the frame times of its repeats, of which the middle
one stands for the tier. The question is asked in two steps, and each is answered only where
chance cannot have made the answer (docs/rounds.md):

1. Is it flat? Yes, where every tier surely lies within 10 % of the smallest one. No, where the
   time surely rises from the smallest to the largest.
2. Do the slopes differ? With tiers 4, 8, 16 they are (t8 − t4)/4 and (t16 − t8)/8. What counts is
   their difference in units of the slope over all. Surely within 25 %: linear. Surely above
   (below) 0, and over 25 %: superlinear (sublinear).

"Surely" means: in the 95 % interval of a bootstrap over the repeats. Relative deviations from
the tiers' middle values are pooled and drawn anew for each repeat, since three repeats of one
tier alone say too little about how much they scatter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Literal, NamedTuple

import msgspec

from mgtop.rounds.bootstrap import SEED, median, percentile_interval

Kind = Literal["linear", "superlinear", "sublinear", "flat", "undecided"]

FLAT_SHARE = 0.10
"""A tier within this share of the smallest one's time does not differ from it in practice."""
EQUAL_SHARE = 0.25
"""Slopes are about equal where their difference is below this share of the slope over all."""
RESAMPLES = 1_000
FEWEST_REPEATS = 2
MOST_APART = 0.25
ENOUGH_REPEATS = 6
"""Repeats of one value that lie further apart than this share of their middle one do not scatter
around it: something comes and goes. So few of them as below that number decide nothing then."""
FEWEST_TIERS = 3


class Tier(NamedTuple):
    """One value of the parameter: its size, and the frame time of each repeat, ms."""

    size: float
    times_ms: Sequence[float]


class Linearity(msgspec.Struct, frozen=True, kw_only=True):
    """How the frame time grows.

    Attributes:
        kind: the decision.
        slopes: milliseconds per unit from each tier to the next.
        low, high: 95 % interval of each slope; None where repeats are too few for one.
        difference: upper slope less lower slope, as a share of the slope over all;
            ``difference_low``, ``difference_high``: its interval.
        because: the decision in a sentence.
        variable, at: what varied, and at which value of the other variable of a matrix.
    """

    kind: Kind = "undecided"
    slopes: list[float] = []
    low: list[float | None] = []
    high: list[float | None] = []
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    because: str = ""
    variable: str | None = None
    at: dict[str, object] = {}


def decide(tiers: Sequence[Tier], seed: int = SEED) -> Linearity:
    """Decide how the frame time grows over the tiers.

    Args:
        tiers: sizes all different, in any order; tiers without times are left out.
        seed: of the draws.
    """
    tiers = sorted((t for t in tiers if t.times_ms), key=lambda tier: tier.size)
    if len(tiers) < 2:
        return Linearity(because="there are fewer than two values with a frame time")
    middles = [median(tier.times_ms) for tier in tiers]
    sizes = [tier.size for tier in tiers]
    slopes = _slopes(sizes, middles)
    if min(len(tier.times_ms) for tier in tiers) < FEWEST_REPEATS:
        unknown: list[float | None] = [None] * len(slopes)
        return Linearity(
            slopes=slopes,
            low=unknown,
            high=unknown,
            because="a value has one repeat only, so nothing is known about how much they scatter",
        )
    draws, freedom = _draws(tiers, middles, seed)
    drawn = [_slopes(sizes, draw) for draw in draws]
    bounds = [
        percentile_interval([found[n] for found in drawn], freedom=freedom)
        for n in range(len(slopes))
    ]
    known = Linearity(slopes=slopes, low=[low for low, _ in bounds], high=[hi for _, hi in bounds])
    apart, fewest = max(map(_apart, tiers)), min(len(tier.times_ms) for tier in tiers)
    if apart > MOST_APART and fewest < ENOUGH_REPEATS:
        because = (
            f"repeats of one value lie {_share(apart)} apart, so {fewest} of them decide nothing: "
            "quiet the machine, or repeat more"
        )
        return msgspec.structs.replace(known, because=because)
    flat = _judge_flat(middles, draws, freedom)
    if flat is not None:
        return msgspec.structs.replace(known, kind=flat[0], because=flat[1])
    if len(tiers) < FEWEST_TIERS:
        because = "it is not flat; two values cannot tell more, a third one would"
        return msgspec.structs.replace(known, because=because)
    return _judge_slopes(known, sizes, middles, draws, freedom)


def _apart(tier: Tier) -> float:
    return (max(tier.times_ms) - min(tier.times_ms)) / median(tier.times_ms)


def _draws(
    tiers: Sequence[Tier], middles: Sequence[float], seed: int
) -> tuple[list[list[float]], int]:
    """Middle values of the tiers as they could have been, and the degrees of freedom."""
    deviations: list[float] = []
    for tier, middle in zip(tiers, middles, strict=True):
        count = len(tier.times_ms)
        # Deviations from a middle value that the same repeats gave are too small by this.
        scale = math.sqrt(count / (count - 1))
        deviations += [scale * math.log(time / middle) for time in tier.times_ms]
    rng = Random(seed)
    counts = [len(tier.times_ms) for tier in tiers]
    columns = [
        [middle * math.exp(_drawn_middle(deviations, count, rng)) for _ in range(RESAMPLES)]
        for middle, count in zip(middles, counts, strict=True)
    ]
    draws = [list(draw) for draw in zip(*columns, strict=True)]
    return draws, len(deviations) - len(tiers)


def _drawn_middle(deviations: Sequence[float], count: int, rng: Random) -> float:
    """The middle of so many draws; as :func:`median`, but quick, since it is asked for often."""
    drawn = sorted(rng.choices(deviations, k=count))
    half = count // 2
    return drawn[half] if count % 2 else (drawn[half - 1] + drawn[half]) / 2


def _judge_flat(
    middles: Sequence[float], draws: Sequence[Sequence[float]], freedom: int
) -> tuple[Kind, str] | None:
    """Flat, or undecided; None where the time surely rises."""
    intervals = [
        percentile_interval([draw[n] / draw[0] - 1 for draw in draws], freedom=freedom)
        for n in range(1, len(middles))
    ]
    if all(_within(FLAT_SHARE, low, high) for low, high in intervals):
        low, high = min(low for low, _ in intervals), max(high for _, high in intervals)
        return "flat", f"no value differs from the smallest one by more than {_span(low, high)}"
    low, high = intervals[-1]
    change = middles[-1] / middles[0] - 1
    if high < 0:
        return "undecided", f"the time falls as it grows, by {_share(-change)} over all"
    if low <= 0:
        because = (
            f"from the smallest to the largest value the time changes by {_share(change)}, "
            f"or anything {_span(low, high)}: more repeats would tell"
        )
        return "undecided", because
    return None


def _judge_slopes(
    known: Linearity,
    sizes: Sequence[float],
    middles: Sequence[float],
    draws: Sequence[Sequence[float]],
    freedom: int,
) -> Linearity:
    value = _difference(sizes, middles)
    low, high = percentile_interval([_difference(sizes, draw) for draw in draws], freedom=freedom)
    told = f"{_share(abs(value))} (95 %: {_span(low, high)}) of the slope over all"
    kind: Kind = "undecided"
    if _within(EQUAL_SHARE, low, high):
        kind, because = "linear", f"the slopes are about equal: they differ by {told}"
    elif low > 0 and value > EQUAL_SHARE:
        kind = "superlinear"
        because = f"the upper slope is steeper, by {told}: less gains more than in proportion"
    elif high < 0 and value < -EQUAL_SHARE:
        kind = "sublinear"
        because = f"the upper slope is less steep, by {told}: less gains less than in proportion"
    else:
        because = f"it rises, but the slopes could be equal or not: they differ by {told}"
    return msgspec.structs.replace(
        known,
        kind=kind,
        difference=value,
        difference_low=low,
        difference_high=high,
        because=because,
    )


def _slopes(sizes: Sequence[float], times: Sequence[float]) -> list[float]:
    """From each tier to the next."""
    return [(times[n + 1] - times[n]) / (sizes[n + 1] - sizes[n]) for n in range(len(sizes) - 1)]


def _difference(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Upper slope less lower one, as a share of the slope over all.

    With three tiers these are the two slopes between them; with more, the least-squares
    slopes of the lower and of the upper half, which share the middle tier.
    """
    over_all = (times[-1] - times[0]) / (sizes[-1] - sizes[0])
    if over_all == 0:
        return math.inf
    middle = (len(sizes) - 1) // 2
    lower = _fitted_slope(sizes[: middle + 1], times[: middle + 1])
    upper = _fitted_slope(sizes[middle:], times[middle:])
    return (upper - lower) / abs(over_all)


def _fitted_slope(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Least squares."""
    if len(sizes) == 2:
        return (times[1] - times[0]) / (sizes[1] - sizes[0])
    size, time = sum(sizes) / len(sizes), sum(times) / len(times)
    above = sum((x - size) * (t - time) for x, t in zip(sizes, times, strict=True))
    return above / sum((x - size) ** 2 for x in sizes)


def _within(most: float, low: float, high: float) -> bool:
    return low >= -most and high <= most


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _span(low: float, high: float) -> str:
    return f"{100 * low:+.0f} to {100 * high:+.0f} %"
