"""Simulated memory readings at emits: flat with every kind of noise, leaks, filling windows.

MiB, one value for each emit; all from a seeded source.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

Rows = Callable[[Random, int], list[float]]
LEVEL = 9_000.0


def white(source: Random, n: int) -> list[float]:
    """Independent readings, 2 to 60 MiB wide."""
    wide = source.uniform(2, 60)
    return [LEVEL + source.gauss(0, wide) for _ in range(n)]


def autocorrelated(resembles: float) -> Rows:
    """Readings that resemble their neighbours (a first-order autoregression)."""

    def rows(source: Random, n: int) -> list[float]:
        wide = source.uniform(2, 60)
        off = source.gauss(0, wide)
        found = []
        for _ in range(n):
            off = resembles * off + source.gauss(0, wide * (1 - resembles**2) ** 0.5)
            found.append(LEVEL + off)
        return found

    return rows


def sawtooth(source: Random, n: int) -> list[float]:
    """An allocator that climbs by segments of 20 MiB and gives all back, at irregular times."""
    period, rate = source.uniform(8, 0.6 * n), source.uniform(2, 40)
    at = source.uniform(0, period)
    found = []
    for _ in range(n):
        at += 1
        if at > period * source.uniform(0.9, 1.1):
            at = 0.0
        found.append(LEVEL + 20.0 * int(at * rate / 20))
    return found


def steps(source: Random, n: int) -> list[float]:
    """A cache that takes three more segments, at any time."""
    at = [source.randrange(n) for _ in range(3)]
    return [LEVEL + 20.0 * sum(i >= step for step in at) for i in range(n)]


def walk(source: Random, n: int) -> list[float]:
    """A random walk: no level at all. Not flat; it is here to show the test's worst case."""
    off, found = 0.0, []
    for _ in range(n):
        off += source.gauss(0, 10)
        found.append(LEVEL + off)
    return found


def window(source: Random, n: int) -> list[float]:
    """A key-value window: 1 to 30 MiB a frame until it is full, at 10 to 80 % of the time."""
    full, rate = source.uniform(0.1, 0.8) * n, source.uniform(1, 30)
    wide = source.uniform(0, 10)
    return [LEVEL + rate * min(i, full) + source.gauss(0, wide) for i in range(n)]


FLAT: dict[str, Rows] = {
    "white": white,
    "autocorrelated 0.5": autocorrelated(0.5),
    "autocorrelated 0.9": autocorrelated(0.9),
    "autocorrelated 0.95": autocorrelated(0.95),
    "sawtooth": sawtooth,
    "steps": steps,
}

Disturbance = Callable[[Random, int, float], list[float]]


def exact(source: Random, n: int, rate: float) -> list[float]:
    """Tensors that are kept, read from the allocator."""
    return [LEVEL + rate * i for i in range(n)]


def noisy(source: Random, n: int, rate: float) -> list[float]:
    """With 4 MiB of independent noise."""
    return [LEVEL + rate * i + source.gauss(0, 4) for i in range(n)]


def over_a_sawtooth(source: Random, n: int, rate: float) -> list[float]:
    """On top of scratch memory that climbs 2 MiB a frame and is given back every 5 to 25."""
    period = source.randrange(5, 25)
    return [LEVEL + rate * i + 2.0 * (i % period) for i in range(n)]


def after_a_window(source: Random, n: int, rate: float) -> list[float]:
    """After a window that took 20 MiB a frame until a fifth of the time was over."""
    return [LEVEL + rate * i + 20.0 * min(i, n / 5) for i in range(n)]


def by_segments(source: Random, n: int, rate: float) -> list[float]:
    """Seen from outside, where memory grows by segments of 20 MiB."""
    offset = source.uniform(0, 20)
    return [LEVEL + 20.0 * int((rate * i + offset) / 20) for i in range(n)]


LEAKS: dict[str, Disturbance] = {
    "exact": exact,
    "noise 4 MiB": noisy,
    "over a sawtooth": over_a_sawtooth,
    "after a window": after_a_window,
    "by segments": by_segments,
}
RATES = (0.5, 5.0, 50.0)
