"""Scales that stay put: the top is a round number and moves rarely."""

from __future__ import annotations

import math

_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def round_up(value: float) -> float:
    """The next round number (1, 1.5, 2, 3, 4, 5, 6, 8 × a power of ten) not below ``value``.

    1 for anything that is not a positive number.
    """
    if not value > 0 or math.isinf(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    for step in _STEPS:
        if step * power >= value * (1 - 1e-9):
            return step * power
    return 10.0 * power
