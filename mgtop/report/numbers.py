"""Numbers as a person reads them; what is not known is ``n/a``, never a number."""

from __future__ import annotations

NOT_KNOWN = "n/a"


def number(value: float | None) -> str:
    """Digits by size: ``1,120``, ``49.5``, ``0.27``; the unit stands elsewhere."""
    if value is None:
        return NOT_KNOWN
    size = abs(value)
    if size >= 100 or isinstance(value, int):
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 1 or value == 0 else f"{value:.2f}"


def whole(value: int | None) -> str:
    """``12,345``."""
    return NOT_KNOWN if value is None else f"{value:,}"


def with_unit(value: float | None, unit: str) -> str:
    """``166 ms``; ``n/a`` without unit where it is not known."""
    return NOT_KNOWN if value is None else f"{number(value)} {unit}"


def share(value: float | None) -> str:
    """A share of one as percent: ``84 %``, ``0.4 %``."""
    if value is None:
        return NOT_KNOWN
    percent = 100 * value
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.1f} %"


def yes_no(value: bool | None) -> str:
    """``yes``, ``no``, ``n/a``."""
    return NOT_KNOWN if value is None else "yes" if value else "no"


def duration(ms: float) -> str:
    """``2.6 s``, ``1 min 3 s``, ``2 h 5 min``."""
    seconds = ms / 1000
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def plural(count: int, one: str, many: str = "") -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def text_or(value: object | None) -> str:
    """A value as text; ``n/a`` where it is None or empty."""
    return NOT_KNOWN if value is None or value == "" else str(value)
