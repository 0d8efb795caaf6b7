"""Which rounds a sweep has, and in which order they run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from mgtop.rounds.variables import Variable

Setting = Mapping[str, Any]
"""The varied parameters of a round, by name."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One round to run: a setting, and which repeat of it (from 1)."""

    setting: dict[str, Any]
    repeat: int


def settings_of(variables: Sequence[Variable]) -> list[dict[str, Any]]:
    """All settings, from small to large: the first variable changes slowest."""
    names = [variable.name for variable in variables]
    products = itertools.product(*(variable.ordered() for variable in variables))
    return [dict(zip(names, values, strict=True)) for values in products]


def schedule(variables: Sequence[Variable], repeats: int) -> list[Step]:
    """Every setting once, then every setting again, and so on.

    The first pass goes from small to large, so that what cannot load is known before larger
    settings are tried; each pass after it begins one setting further on. So every setting stands
    early, late and in between: a machine that slowly gets warmer or busier weighs on all of them
    alike, instead of looking like an effect of what varies; and no setting is repeated at once,
    under the same passing load.
    """
    settings = settings_of(variables)
    steps: list[Step] = []
    for repeat in range(1, repeats + 1):
        first = (repeat - 1) % len(settings)
        turn = [*settings[first:], *settings[:first]]
        steps += [Step(setting=setting, repeat=repeat) for setting in turn]
    return steps
