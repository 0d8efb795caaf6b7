"""Verdicts on versions."""

from __future__ import annotations

import dataclasses

from mgtop.preflight.check.requirement import Verdict
from mgtop.preflight.check.stated import Bound, Stated, Version
from mgtop.preflight.check.versions import all_hold, begins, compare

BEST_FIRST: tuple[Verdict, ...] = ("met", "marginal", "unknown", "unmet")


def plain(stated: Stated, have: Version) -> Verdict:
    """Of Python, torch, packages, a toolkit: a newer one than was named may behave otherwise."""
    if not have:
        return "unknown"
    if stated.kind == "python":
        stated = _without_patches(stated)
    if not stated.any_of:
        return "met"
    if stated.strength == "negative":
        return _negative(stated, have)
    best = min((_set(stated, bounds, have) for bounds in stated.any_of), key=BEST_FIRST.index)
    if best == "marginal" and len(stated.any_of) > 1 and stated.strength == "required":
        return "unmet"  # these, says the list, and no other
    return best


def _without_patches(stated: Stated) -> Stated:
    """A bare 3.10.5 means 3.10: Python's third number changes nothing that programs rely on.

    And ``python==3.10``, as prose and conda's users write it, means any 3.10.
    """
    any_of = tuple(
        tuple(
            Bound("~" if bound.sign == "==" else bound.sign, bound.version[:2])
            if bound.sign in ("bare", "==", "~")
            else bound
            for bound in bounds
        )
        for bounds in stated.any_of
    )
    return dataclasses.replace(stated, any_of=any_of)


def _set(stated: Stated, bounds: tuple[Bound, ...], have: Version) -> Verdict:
    if all_hold(bounds, have):
        return "met"
    if len(bounds) == 1 and bounds[0].sign in ("bare", "~", "=="):
        only = bounds[0]
        exact = only.sign != "bare" and stated.strength == "required"
        if exact or compare(have, only.version) < 0:
            return "unmet"
        if only.sign == "==" and stated.strength == "recommended":
            return "marginal"
        return "marginal" if only.sign in ("bare", "~") or stated.strength == "tested" else "unmet"
    return "unmet"


def _negative(stated: Stated, have: Version) -> Verdict:
    if any(all_hold(bounds, have) for bounds in stated.any_of):
        return "marginal" if stated.untested else "unmet"
    return "met"


def of_driver(stated: Stated, have: Version, *, same_major: bool) -> Verdict:
    """Of a driver, or the CUDA that it runs: what was built for an older one runs on it.

    Args:
        stated: the requirement.
        have: the driver's version, or the newest CUDA that it runs.
        same_major: CUDA's minor version compatibility: a build of the same major version runs
            on an older driver, within limits (CUDA Compatibility, chapter 2).
    """
    if stated.strength == "negative":
        return _negative(stated, have)
    return min(
        (_driver_set(bounds, have, same_major) for bounds in stated.any_of), key=BEST_FIRST.index
    )


def _driver_set(bounds: tuple[Bound, ...], have: Version, same_major: bool) -> Verdict:
    worst: Verdict = "met"
    for bound in bounds:
        want = bound.version
        if bound.sign in ("<", "<=", "!="):
            continue  # a driver runs what was built for older ones
        enough = compare(have, want) >= 0 or (bound.sign != ">" and begins(have, want))
        if bound.sign == ">":
            enough = compare(have, want) > 0 and not begins(have, want)
        if enough:
            continue
        if same_major and have[:1] == want[:1]:
            worst = "marginal"
        else:
            return "unmet"
    return worst
