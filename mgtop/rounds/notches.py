"""What can give way in a fallback, and in which order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from mgtop.config import RunConfig
from mgtop.rounds.variables import Variable, present, same_setting

Kind = Literal["steps", "resolution", "concurrency", "cache", "other"]

_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("steps", re.compile(r"step|schedule|sampl")),
    ("cache", re.compile(r"cache|window|context|history|memory")),
    ("concurrency", re.compile(r"concurren|batch|parallel|worker|frames_per|chunk|block")),
    ("resolution", re.compile(r"resolution|width|height|size|scale|pixels")),
)
"""What a parameter is, by its name; the first that fits."""

USUAL: tuple[Kind, ...] = ("steps", "resolution", "concurrency", "cache", "other")
MEMORY: tuple[Kind, ...] = ("resolution", "concurrency", "cache", "other")
"""With a sign of memory trouble: fewer steps free no memory, so steps are never tried."""


class Notch(msgspec.Struct, frozen=True, kw_only=True):
    """One value to fall back to; everything else stays as in the baseline."""

    name: str
    value: Any
    kind: Kind

    @property
    def setting(self) -> dict[str, Any]:
        """The varied parameter."""
        return {self.name: self.value}


def kind_of(name: str) -> Kind:
    """What a parameter of that name is."""
    for kind, pattern in _KINDS:
        if pattern.search(name.lower()):
            return kind
    return "other"


def notches(variables: Sequence[Variable], config: RunConfig, memory_trouble: bool) -> list[Notch]:
    """The notches in the order of trying.

    Steps, then resolution, then concurrency, then the state cache; with memory trouble
    resolution, concurrency, the state cache, and never steps. Parameters of one kind, and
    values of a parameter, in the order of the configuration; the present value is no notch.
    """
    order = MEMORY if memory_trouble else USUAL
    ranked = sorted(
        (order.index(kind_of(variable.name)), n, variable)
        for n, variable in enumerate(variables)
        if kind_of(variable.name) in order
    )  # fmt: skip
    return [
        Notch(name=variable.name, value=value, kind=kind_of(variable.name))
        for _, _, variable in ranked
        for value in variable.values
        if not same_setting({"": value}, {"": present(config.params, variable.name)})
    ]
