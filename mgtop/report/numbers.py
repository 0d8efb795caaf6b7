"""Numbers as a person reads them; what is not known is ``n/a``, never a number."""

from __future__ import annotations

from mgtop.analysis.wording import duration as duration

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


def plural(count: int, one: str, many: str = "") -> str:
    """``1 frame``, ``2 frames``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def text_or(value: object | None) -> str:
    """A value as text; ``n/a`` where it is None or empty."""
    return NOT_KNOWN if value is None or value == "" else str(value)
