"""Resampling: how far a figure could lie from what was measured.

Intervals are percentile intervals of the bootstrap (Efron and Tibshirani, *An Introduction to
the Bootstrap*, 1993, chapter 13). Two things are taken care of:

- Intervals between frames follow one another; what is near is alike. So whole stretches are
  drawn, not single values (moving blocks; Künsch, *Annals of Statistics* 17, 1989).
- Few repeats make percentile intervals too narrow. So they are widened to the coverage of
  Student's t (the expanded percentile interval; Hesterberg, *The American Statistician* 69,
  2015, section 5.3).

All draws come from a seed, so that equal sessions give equal answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import NormalDist

from mgtop.analysis.statistics import quantile

LEVEL = 0.95
SEED = 20_261_130
SHORTEST_BLOCK = 5
MOST_LAGS = 200


def percentile_interval(
    draws: Sequence[float], level: float = LEVEL, freedom: int | None = None
) -> tuple[float, float]:
    """The middle ``level`` of bootstrap draws.

    Args:
        draws: one figure per resample, at least one.
        level: share of the draws inside.
        freedom: degrees of freedom of the spread; where there are few, the interval is
            widened to the coverage of Student's t. None: as it is.
    """
    outside = (1 - level) / 2
    if freedom is not None:
        t = student_t(1 - outside, freedom)
        scale = math.sqrt((freedom + 1) / freedom)
        outside = NormalDist().cdf(-scale * t)
    ordered = sorted(draws)
    return quantile(ordered, outside), quantile(ordered, 1 - outside)


def student_t(p: float, freedom: int) -> float:
    """Quantile ``p`` (above 0.5) of Student's t, right to 1 % from three degrees on.

    Exact for 1 and 2; else Hill's expansion (*Communications of the ACM* 13, 1970,
    algorithm 396) in the form of Cornish and Fisher, to the fourth order.
    """
    if freedom <= 1:
        return math.tan(math.pi * (p - 0.5))
    if freedom == 2:
        a = 4 * p * (1 - p)
        return 2 * (p - 0.5) * math.sqrt(2 / a)
    z = NormalDist().inv_cdf(p)
    n = float(freedom)
    g1 = (z**3 + z) / 4
    g2 = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    g3 = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    g4 = (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92_160
    return z + g1 / n + g2 / n**2 + g3 / n**3 + g4 / n**4


def block_length(values: Sequence[float]) -> int:
    """How many neighbours are drawn together.

    ``2 × count^(1/3)``, or three times the number of values over which they resemble one
    another, whichever is more; at least five, at most a quarter of all.
    """
    count = len(values)
    usual = 2 * math.exp(math.log(count) / 3) if count else 1
    wanted = max(SHORTEST_BLOCK, round(max(usual, 3 * _memory(values))))
    return max(1, min(wanted, count // 4))


def _memory(values: Sequence[float]) -> float:
    """Integrated autocorrelation, ``1 + 2 Σ ρ(k)`` up to where ρ falls below 0.1.

    Of the values with their upper twentieth cut off: single late frames say nothing of a drift.
    """
    count = len(values)
    if count < 2 * SHORTEST_BLOCK:
        return 1.0
    most = quantile(sorted(values), 0.95)
    cut = [min(value, most) for value in values]
    mean = sum(cut) / count
    cut = [value - mean for value in cut]
    spread = sum(value * value for value in cut)
    if spread <= 0:
        return 1.0
    total = 1.0
    for lag in range(1, min(MOST_LAGS, count // 4)):
        rho = sum(a * b for a, b in zip(cut, cut[lag:], strict=False)) / spread
        if rho < 0.1:
            break
        total += 2 * rho
    return total


def moving_blocks(
    values: Sequence[float], resamples: int, seed: int = SEED
) -> Iterator[list[slice]]:
    """Resamples of ``values`` as stretches of them; each is as long as all of them."""
    rng = Random(seed)
    count, length = len(values), block_length(values)
    starts = count - length + 1
    whole, rest = divmod(count, length)
    for _ in range(resamples):
        drawn = [int(rng.random() * starts) for _ in range(whole)]
        slices = [slice(start, start + length) for start in drawn]
        if rest:
            start = int(rng.random() * (count - rest + 1))
            slices.append(slice(start, start + rest))
        yield slices


def resampled(
    values: Sequence[float],
    figure: Callable[[Sequence[float]], float],
    resamples: int,
    seed: int = SEED,
) -> list[float]:
    """A figure of each of so many resamples of single, independent values."""
    rng = Random(seed)
    values = list(values)
    return [figure(rng.choices(values, k=len(values))) for _ in range(resamples)]


def median(values: Sequence[float]) -> float:
    """The middle value; between the two, where their number is even."""
    return quantile(sorted(values), 0.5)
