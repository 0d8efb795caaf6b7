"""A requirement beside this machine; its JSON is what ``mgtop check --json`` lists."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from mgtop.preflight.check.stated import TRAINING, Kind, Strength
from mgtop.report.page import clean

T = TypeVar("T", bound=msgspec.Struct)

Verdict = Literal["met", "marginal", "unmet", "unknown"]
WORST_FIRST: tuple[Verdict, ...] = ("unmet", "marginal", "unknown", "met")
KINDS: tuple[Kind, ...] = (
    "vram",
    "cuda",
    "compute_capability",
    "driver",
    "torch",
    "ram",
    "disk",
    "python",
    "os",
    "package",
)
"""In the order in which they are shown: GPU memory and CUDA come first."""


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """One requirement.

    Attributes:
        quote: word for word; of a check that no file asks for, what was asked.
        file: relative to the repository; None: no file asks for it.
        line: in that file, from 1.
        scope: what it is said of; None: of everything.
        local: this machine's value.
    """

    kind: Kind
    quote: str
    file: str | None
    line: int | None
    strength: Strength
    scope: str | None
    local: str
    verdict: Verdict

    @property
    def fails(self) -> bool:
        """Whether it makes the check fail: demanded, not met, and not said of training."""
        return (
            self.verdict == "unmet"
            and self.strength in ("required", "minimum")
            and not (self.scope or "").startswith(TRAINING)
        )


def tamed(checked: T) -> T:
    """The same with nothing in its texts that a terminal would obey: they are others' files'."""
    return msgspec.convert(_tamed(msgspec.to_builtins(checked)), type(checked))


def _tamed(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_tamed(item) for item in value]
    if isinstance(value, dict):
        return {key: _tamed(item) for key, item in value.items()}
    return value


def in_order(requirements: list[Requirement]) -> list[Requirement]:
    """Unmet ones first, and what decides most first among them."""
    strengths = ("required", "minimum", "recommended", "tested", "optional", "negative")
    return sorted(
        requirements,
        key=lambda one: (
            WORST_FIRST.index(one.verdict),
            not one.fails,
            KINDS.index(one.kind),
            "" if one.kind != "package" else one.file or "",
            strengths.index(one.strength),
            one.file or "",
            one.line or 0,
        ),
    )
