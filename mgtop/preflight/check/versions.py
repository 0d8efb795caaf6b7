"""Versions: reading and comparing them. A small part of PEP 440, enough for what files state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mgtop.preflight.check.stated import Bound, Version

_SPECIFIER = re.compile(
    r"(===?|~=|!=|>=|<=|>|<|\^|~|=)?\s*v?(\d+(?:\.\d+)*)(\.[*x])?[\w.+-]*", re.I
)


def numbers(text: str) -> Version:
    """``2.5.1+cu121`` → (2, 5, 1); empty where it does not begin with a number."""
    match = re.match(r"v?(\d+(?:\.\d+)*)", text.strip())
    return tuple(map(int, match[1].split("."))) if match else ()


def shown(version: Sequence[int]) -> str:
    """(12, 4) → ``12.4``."""
    return ".".join(map(str, version))


def compare(have: Version, want: Version) -> int:
    """−1, 0 or 1, as if both had equally many parts."""
    size = max(len(have), len(want))
    a, b = have + (0,) * (size - len(have)), want + (0,) * (size - len(want))
    return (a > b) - (a < b)


def begins(have: Version, want: Version) -> bool:
    """Whether ``have`` is ``want`` or a version within it: 3.10.14 is a 3.10."""
    return (have + (0,) * (len(want) - len(have)))[: len(want)] == want


def holds(bound: Bound, have: Version) -> bool:
    """Whether a version keeps a bound; a ``bare`` one is kept by the versions within it."""
    want = bound.version
    if bound.sign in ("bare", "~"):
        return begins(have, want)
    if bound.sign == ">" and begins(have, want):
        return False  # 3.12.4 is not above 3.12
    if bound.sign == "<=" and begins(have, want):
        return True
    order = compare(have, want)
    return {
        "==": order == 0,
        "!=": order != 0,
        ">=": order >= 0,
        "<=": order <= 0,
        ">": order > 0,
        "<": order < 0,
    }[bound.sign]


def all_hold(bounds: Iterable[Bound], have: Version) -> bool:
    """Whether a version keeps all of them."""
    return all(holds(bound, have) for bound in bounds)


def specifiers(text: str) -> tuple[Bound, ...]:
    """``>=2.1.2,<2.6``, ``~=2.4``, ``==2.1.*``, poetry's ``^3.10`` and conda's ``=3.10``."""
    bounds: list[Bound] = []
    for part in text.split(","):
        match = _SPECIFIER.fullmatch(part.strip())
        if not match:
            continue
        sign, version = match[1] or "==", tuple(map(int, match[2].split(".")))
        if match[3]:
            bounds.append(Bound("!=" if sign == "!=" else "~", version))
        elif sign == "=":
            bounds.append(Bound("~", version))
        elif sign == "^":
            at = next((n for n, part in enumerate(version) if part), len(version) - 1)
            top = (*version[:at], version[at] + 1)
            bounds += [Bound(">=", version), Bound("<", top)]
        elif sign in ("~=", "~"):
            short = version[:-1] if sign == "~=" and len(version) > 1 else version[:2]
            bounds += [Bound(">=", version), Bound("~", short)]
        else:
            bounds.append(Bound("==" if sign == "===" else sign, version))
    return tuple(bounds)


def written(bounds: Iterable[Bound]) -> str:
    """Bounds as PEP 440 writes them."""
    return ",".join(
        f"=={shown(bound.version)}.*"
        if bound.sign == "~"
        else f"{'==' if bound.sign == 'bare' else bound.sign}{shown(bound.version)}"
        for bound in bounds
    )


def is_floor(bounds: Sequence[Bound]) -> bool:
    """Whether only older versions are shut out."""
    return bool(bounds) and all(bound.sign in (">=", ">", "!=") for bound in bounds)
