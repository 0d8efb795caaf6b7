"""Why a frame was late: one module per cause, found by being here.

A cause is a module of this package with

- ``NAME``: as in reports; ``LETTER``: one letter for the screen, not used by another one;
- ``SUMMARY``: what it is, in a few plain words (as in *the main cause is …*);
  ``REMEDY``: what to change;
- ``ORDER``: claims are settled in this order, the innermost first. What a garbage
  collection inside a slow resize took is the collection's; supply gets what is left;
- ``measure(window, channels)``: what it has to say about one long-tail frame, as a
  :class:`~mgtop.analysis.evidence.Finding`, or None where nothing could tell.

To add one, add a module (and its page in ``docs/causes``); nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import cast

import msgspec

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Attribution, Bound, Finding, Part, TailWindow, matters
from mgtop.analysis.summary import CauseShare
from mgtop.analysis.symptoms import SYMPTOMS
from mgtop.config.structs import AnalysisSettings

UNEXPLAINED = "unexplained"
UNEXPLAINED_LETTER = "?"
NOTHING = Finding(state="not_resolved")


class Cause(msgspec.Struct, frozen=True):
    """One cause."""

    name: str
    letter: str
    summary: str
    remedy: str
    order: int
    measure: Callable[[TailWindow, Channels], Finding | None]


@cache
def all_causes() -> tuple[Cause, ...]:
    """Every cause of this package, the innermost first."""
    found = []
    for info in iter_modules(__path__):
        module = import_module(f"{__name__}.{info.name}")
        found.append(
            Cause(
                cast("str", module.NAME),
                cast("str", module.LETTER),
                cast("str", module.SUMMARY),
                cast("str", module.REMEDY),
                cast("int", module.ORDER),
                module.measure,
            )
        )
    return tuple(sorted(found, key=lambda cause: (cause.order, cause.name)))


def find_cause(name: str | None) -> Cause | None:
    """The cause of that name; None for ``unexplained`` and where nothing is judged yet."""
    return next((cause for cause in all_causes() if cause.name == name), None)


def letter_of(name: str | None) -> str:
    """The letter of a cause; ``?`` for unexplained, a space where it is not judged yet."""
    if name is None:
        return " "
    cause = find_cause(name)
    return cause.letter if cause is not None else UNEXPLAINED_LETTER


def attribute(window: TailWindow, channels: Channels, settings: AnalysisSettings) -> Attribution:
    """Ask every symptom and cause about one long-tail frame.

    Each cause is credited the time that it proves beyond its own median in the stream, as
    far as the excess, and the part of it that the claim lies in, have anything left. The
    frame's cause is the largest, if all together explain at least
    ``thresholds.explained_share`` of the excess; else it is unexplained.
    """
    evidence = [measure(window, channels).evidence(name, window) for name, measure in SYMPTOMS]
    left = max(0, window.excess_ns)
    parts: dict[Part, float] = dict(channels.profile(window).parts())
    shares: list[tuple[int, str, Bound]] = []
    for cause in all_causes():
        finding = cause.measure(window, channels) or NOTHING
        evidence.append(finding.evidence(cause.name, window))
        if finding.state != "present":
            continue
        credited = 0
        bound: Bound = "exact"
        for claim in finding.claims:
            most = min([claim.ns, float(left), *(parts[p] for p in claim.within if p in parts)])
            took = max(0, int(most))
            for part in claim.within:
                if part in parts:
                    parts[part] -= took
            left -= took
            credited += took
            if took and claim.bound != "exact":
                bound = claim.bound
        if credited and matters(credited, window):
            shares.append((credited, cause.name, bound))
        else:
            left += credited
    shares.sort(key=lambda share: (-share[0], share[1]))
    explained = sum(credited for credited, _, _ in shares)
    enough = window.excess_ns > 0 and (
        explained >= settings.thresholds.explained_share * window.excess_ns
    )
    return Attribution(
        cause=shares[0][1] if shares and enough else UNEXPLAINED,
        causes=[
            CauseShare(name=name, explained_ms=credited / 1e6, bound=bound)
            for credited, name, bound in shares
        ],
        evidence=evidence,
    )
