"""Figures that are read, not watched: renewed once a second, however often the screen is drawn.

Digits that change four times a second cannot be read, and cost a slow line more than all bars.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
PERIOD_NS = 1_000_000_000


class Steady(Generic[T]):
    """Holds what was made until a second has passed, or what it depends on has changed."""

    def __init__(self) -> None:
        self._key: object = None
        self._made: T | None = None

    def get(self, t_ns: int | None, key: object, make: Callable[[], T]) -> T:
        """What was made in this second with an equal ``key``, or what ``make`` makes now.

        ``t_ns``: time since some beginning, whose seconds count; None: make it anew.
        """
        known = None if t_ns is None else (t_ns // PERIOD_NS, key)
        made = self._made
        if made is None or known is None or known != self._key:
            made = self._made = make()
        self._key = known
        return made
