"""Files of one repository that contradict each other, as a README and its pyproject may."""

from __future__ import annotations

from itertools import combinations

import msgspec

from mgtop.preflight.check.stated import TRAINING, Bound, Kind, Stated, Version
from mgtop.preflight.check.versions import all_hold

_KINDS: tuple[Kind, ...] = ("python", "torch", "package")
_DEMANDS = ("required", "minimum")
_MINORS: dict[Kind, list[Version]] = {"python": [(3, minor) for minor in range(6, 20)]}


class Place(msgspec.Struct, frozen=True):
    """A statement of a file."""

    file: str
    line: int
    quote: str


class Conflict(msgspec.Struct, frozen=True):
    """Two statements that do not allow the same versions.

    Attributes:
        kind: of both.
        about: what differs, in a sentence.
    """

    kind: Kind
    about: str
    first: Place
    second: Place


def conflicts_in(stated: list[Stated]) -> list[Conflict]:
    """Pairs of demands in different files that cannot both hold, or that allow other versions."""
    found: list[Conflict] = []
    told: set[tuple[Kind, str, str, str]] = set()
    demands = [one for one in stated if _counts(one)]
    for first, second in combinations(demands, 2):
        if first.kind != second.kind or first.package != second.package:
            continue
        if first.file == second.file:
            continue
        key = (first.kind, first.package, first.file, second.file)
        about = _difference(first, second)
        if about and key not in told:
            told.add(key)
            found.append(Conflict(first.kind, about, _place(first), _place(second)))
    return found


def _counts(one: Stated) -> bool:
    return (
        one.kind in _KINDS
        and one.strength in _DEMANDS
        and bool(one.any_of)
        and not one.condition.systems
        and not one.condition.architectures
        and not one.condition.python
        and not one.scope.startswith(TRAINING)
    )


def _place(one: Stated) -> Place:
    return Place(one.file, one.line, one.quote)


def _difference(first: Stated, second: Stated) -> str:
    versions = _versions(first, second)
    one = {version for version in versions if _allows(first, version)}
    other = {version for version in versions if _allows(second, version)}
    if one and other and not one & other:
        return "no version fits both"
    if first.kind == "python" and one != other:
        only = sorted(one ^ other)
        shown = ", ".join(".".join(map(str, version)) for version in only[:3])
        more = " and later" if len(only) > 3 else ""
        which = first.file if set(only) <= one else second.file if set(only) <= other else "one"
        return f"only {which} allows {shown}{more}"
    return ""


def _versions(*stated: Stated) -> list[Version]:
    """Versions that tell the two apart: Python's, or those named and their neighbours."""
    kind = stated[0].kind
    if kind in _MINORS:
        return _MINORS[kind]
    named = {bound.version for one in stated for bounds in one.any_of for bound in bounds}
    return sorted(named | {(*version, 1) for version in named} | {_before(v) for v in named})


def _before(version: Version) -> Version:
    """A version just below."""
    at = max((n for n, part in enumerate(version) if part), default=0)
    return (*version[:at], max(0, version[at] - 1), 999)


def _allows(one: Stated, version: Version) -> bool:
    return any(all_hold(map(_widened, bounds), version) for bounds in one.any_of)


def _widened(bound: Bound) -> Bound:
    return Bound("~", bound.version) if bound.sign == "bare" else bound
