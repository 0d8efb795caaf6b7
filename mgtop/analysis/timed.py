"""The finding of a cause that is measured as a time."""

from __future__ import annotations

from mgtop.analysis.evidence import Bound, Claim, Finding, Part, TailWindow, matters
from mgtop.analysis.profile import Profile
from mgtop.analysis.spans import Role


def timed(
    window: TailWindow,
    profile: Profile,
    quantity: str,
    *,
    source: str,
    began_ns: int | None = None,
    bound: Bound = "exact",
    within: tuple[Part, ...] = (),
) -> Finding:
    """What a quantity beyond its median says; the value is all of it in ms."""
    value = profile.get(quantity)
    if value is None:
        return Finding(state="not_resolved")
    beyond = profile.beyond(quantity)
    return timed_finding(
        window, value, beyond, source=source, began_ns=began_ns, bound=bound, within=within
    )


def timed_finding(
    window: TailWindow,
    value_ns: float,
    beyond_ns: float | None,
    *,
    source: str,
    began_ns: int | None = None,
    bound: Bound = "exact",
    within: tuple[Part, ...] = (),
) -> Finding:
    """A time in this interval, and how much of it is beyond the usual (None: not known)."""
    present = beyond_ns is not None and matters(beyond_ns, window)
    return Finding(
        state="present" if present else "not_resolved" if beyond_ns is None else "absent",
        value=value_ns / 1e6,
        unit="ms",
        source=source,
        began_ns=began_ns,
        claims=(Claim(beyond_ns, bound, within),) if present and beyond_ns is not None else (),
    )


def spans(window: TailWindow, profile: Profile, role: Role) -> Finding:
    """What spans of a role took beyond the usual; the source names the one that did most."""
    if not profile.has_spans(role):
        return Finding(state="not_resolved")
    value = (profile.get(role) or 0) + (profile.get(f"late_{role}") or 0)
    longest = profile.longest(role)
    return timed_finding(
        window,
        value,
        profile.over(role),
        source=f"spans ({longest[0]})" if longest is not None else "spans",
        began_ns=longest[1] if longest is not None else None,
    )
