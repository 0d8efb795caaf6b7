"""Numbers in sentences."""

from __future__ import annotations


def ms(value: float | None) -> str:
    """Milliseconds, or seconds from ten of them on."""
    if value is None:
        return "n/a"
    if abs(value) >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if abs(value) >= 10 else f"{value:.1f} ms"


def duration(ms: float) -> str:
    """``2.6 s``, ``1 min 3 s``, ``2 h 5 min``."""
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


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
