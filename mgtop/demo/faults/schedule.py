"""Which emits a fault strikes."""

from __future__ import annotations

import random

from mgtop.demo.faults.orders import Order

SECOND_NS = 1_000_000_000


class Schedule:
    """The emits that one order strikes, by their number in the run.

    Random times are drawn from the seed: gaps lie evenly between half and one and a half times
    the period. Which emit runs at such a time depends on the machine's speed.

    Args:
        order: what was ordered.
        seed: the run's, used where the order has none of its own.
        begin_ns: the time from which random times count.
    """

    def __init__(self, order: Order, seed: int, begin_ns: int) -> None:
        self._order = order
        mine = seed if order.seed is None else order.seed
        self._random = random.Random(f"{mine} {order.name}")
        self._drawn: set[int] = set()
        self._due_ns = begin_ns
        self._draw()

    def _draw(self) -> None:
        if self._order.every_s is not None:
            share = self._random.uniform(0.5, 1.5)
            self._due_ns += int(self._order.every_s * share * SECOND_NS)

    def is_due(self, now_ns: int) -> bool:
        """Whether a random time has come that no emit was given yet."""
        return self._order.every_s is not None and now_ns >= self._due_ns

    def give(self, emit: int, now_ns: int) -> None:
        """Let the random time that has come strike ``emit``, and draw the next one."""
        self._drawn.add(emit)
        self._due_ns = max(self._due_ns, now_ns - SECOND_NS)  # after a pause: no catching up
        self._draw()

    def strikes(self, emit: int) -> bool:
        """Whether the fault strikes at this emit."""
        every = self._order.every_emits
        if every is not None:
            return emit % every == 0 and (emit > 0 or every == 1)
        return emit in self._order.at or emit in self._drawn
