"""What a check found: one line of ``mgtop doctor``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

State = Literal["ok", "weak", "missing"]
STATES: tuple[State, ...] = ("missing", "weak", "ok")
"""Worst first."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One source or prerequisite, and how it stands.

    Attributes:
        id: stable name, ``area.what``.
        area: the group that it is shown in.
        name: what a person calls it.
        state: ``ok``; ``weak``: it works, but less is known or lost sooner; ``missing``.
        value: what was found, in a few words.
        reason: why it is not ``ok``; None where it is.
        remedy: what to do, in one line; None where there is nothing to do.
        essential: without it nothing can be recorded.
        measured: figures behind ``value``; units stand in the names.
    """

    id: str
    area: str
    name: str
    state: State
    value: str
    reason: str | None = None
    remedy: str | None = None
    essential: bool = False
    measured: dict[str, Any] = {}


def ok(
    id: str,  # noqa: A002
    name: str,
    value: str,
    *,
    measured: Mapping[str, Any] | None = None,
    **figures: Any,
) -> Finding:
    """A finding that all is well; ``figures`` are added to what was ``measured``."""
    return Finding(
        id=id,
        area=area_of(id),
        name=name,
        state="ok",
        value=value,
        measured={**(measured or {}), **figures},
    )


def bad(
    id: str,  # noqa: A002
    name: str,
    value: str,
    reason: str,
    remedy: str | None = None,
    *,
    state: State = "weak",
    essential: bool = False,
    measured: Mapping[str, Any] | None = None,
    **figures: Any,
) -> Finding:
    """A finding that something is weak or missing."""
    return Finding(
        id=id,
        area=area_of(id),
        name=name,
        state=state,
        value=value,
        reason=reason,
        remedy=remedy,
        essential=essential,
        measured={**(measured or {}), **figures},
    )


def area_of(id: str) -> str:  # noqa: A002
    """``gpu.reading.memory`` → ``gpu``."""
    return id.partition(".")[0]


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Unmet ones first; in each state the order stays."""
    return sorted(findings, key=lambda finding: STATES.index(finding.state))


def count(findings: Sequence[Finding]) -> dict[State, int]:
    """How many are in each state."""
    return {state: sum(f.state == state for f in findings) for state in ("ok", "weak", "missing")}
