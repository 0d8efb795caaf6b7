"""Numbers as text of a fixed width, so that a screen does not jump."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

from mgtop.charts.axis import clock

NOT_KNOWN = "n/a"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """Without control characters: a target's name must not command the terminal."""
    return _CONTROL.sub("", text)


def number(value: float | None, digits: int = 4) -> str:
    """About ``digits`` significant digits, never an exponent; n/a where not known."""
    if value is None:
        return NOT_KNOWN
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    if abs(value) >= 10 ** (digits - 2):
        return f"{value:.0f}" if digits <= 3 else f"{value:.1f}"
    return f"{value:.1f}" if abs(value) >= 10 or digits <= 2 else f"{value:.2f}"


def ms(value: float | None) -> str:
    """Milliseconds with the digits that matter."""
    if value is None:
        return NOT_KNOWN
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def gib(mib: float | None) -> str:
    """MiB as MiB or GiB."""
    return NOT_KNOWN if mib is None else in_unit_of(mib, mib) + unit_of(mib)


def unit_of(mib: float) -> str:
    """The unit in which so much memory is told."""
    return " GiB" if mib >= 10_240 else " MiB"


def in_unit_of(top_mib: float, mib: float) -> str:
    """Memory as a number in the unit that suits ``top_mib``."""
    return f"{mib / 1024:.1f}" if top_mib >= 10_240 else f"{mib:,.0f}"


def percent(value: float | None) -> str:
    """A whole percentage."""
    return NOT_KNOWN if value is None else f"{value:.0f} %"


def age(age_ns: int | None) -> str:
    """How long ago: ``40 ms``, ``2.3 s``, ``1:02``."""
    if age_ns is None:
        return NOT_KNOWN
    if age_ns < 1_000_000_000:
        return f"{age_ns // 1_000_000} ms"
    if age_ns < 100_000_000_000:
        return f"{age_ns / 1e9:.1f} s"
    return clock(age_ns)


def age_if_late(age_ns: int | None, usual_ms: float | None) -> str:
    """The age of something that comes all the time, told apart only where it is late.

    Up to twice the ``usual_ms`` between two of them it is ``<0.2 s`` or the like, in six cells
    or more: digits that jump with each one say nothing.
    """
    if age_ns is None:
        return NOT_KNOWN
    usual_s = 2 * (usual_ms or 0.0) / 1e3
    bound_s = next((bound for bound in _AGES_S if bound >= usual_s), None)
    late = bound_s is None or age_ns >= bound_s * 1e9
    return (age(age_ns) if late else f"<{bound_s:g} s").rjust(6)


_AGES_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0)


def fit(text: str, width: int) -> str:
    """Exactly ``width`` cells of a terminal; a cut text ends in ``…``."""
    if width <= 0:
        return ""
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, width)
