"""Which faults strike at which emit, and for how long: drawn before the run, from a seed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FEWEST_BETWEEN = 5
"""Emits between two strikes at least: each stands alone, and none is a level shift."""


@dataclass(frozen=True)
class Order:
    """One fault to commit."""

    fault: str
    ms: float


class Plan:
    """The orders of one stream, by emit.

    Args:
        faults: names of single faults, or pairs joined by ``+`` for two at once.
        interval_ms: the stream's usual interval, to which sizes are relative.
        every: mean number of emits between strikes.
        sizes: smallest and largest size of a strike in intervals; log-uniform between. Two at
            once share it, each with a third of it at least.
        seed: of the random choice.
        quiet: emits left alone at the start, so that a baseline exists.
        emits: how far to plan.
    """

    def __init__(
        self,
        faults: Sequence[str],
        interval_ms: float,
        every: float,
        sizes: tuple[float, float],
        seed: int,
        quiet: int = 20,
        emits: int = 50_000,
    ) -> None:
        self._orders: dict[int, dict[str, Order]] = {}
        if not faults:
            return
        draw = random.Random(seed)
        low, high = sizes
        bag: list[str] = []
        emit = quiet
        while True:
            emit += max(FEWEST_BETWEEN, round(draw.expovariate(1 / every)))
            if emit >= emits:
                break
            if not bag:  # each fault as often as any other
                bag = list(faults)
                draw.shuffle(bag)
            names = bag.pop().split("+")
            size = low * (high / low) ** draw.random() * interval_ms
            shares = [1.0]
            if len(names) == 2:
                first = draw.uniform(1 / 3, 2 / 3)
                shares = [first, 1 - first]
            self._orders[emit] = {
                name: Order(name, size * share) for name, share in zip(names, shares, strict=True)
            }

    def at(self, emit: int) -> Mapping[str, Order]:
        """The orders for the work of this emit, by fault."""
        return self._orders.get(emit, {})
