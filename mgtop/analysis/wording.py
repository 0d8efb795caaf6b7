"""Numbers in sentences."""

from __future__ import annotations


def ms(value: float | None) -> str:
    """Milliseconds, or seconds from ten of them on."""
    if value is None:
        return "n/a"
    if abs(value) >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if abs(value) >= 10 else f"{value:.1f} ms"


def percent(share: float | None) -> str:
    """A share (1: all) in percent."""
    if share is None:
        return "n/a"
    value = 100.0 * share
    return f"{value:.0f} %" if value >= 10 else f"{value:.1f} %"


def plural(n: int, what: str) -> str:
    """``1 frame``, ``2 frames``."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def of(n: int, total: int, what: str) -> str:
    """``3 of 4 late frames``; without a noun ``3 of 4``."""
    if not what:
        return f"{n:,} of {total:,}"
    return f"{n:,} of {plural(total, what)}"
