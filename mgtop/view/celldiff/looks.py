"""How cells look, as the parameters of SGR (``ESC [ … m``): equal looks are equal texts.

A look is the canonical list of parameters that leads to it from a reset terminal: attributes in
order, foreground, background. The empty text is the terminal's own colours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

RESET = "\x1b[m"
_UNSEEN_ON_BLANKS = frozenset({"1", "2", "3"})
"""Bold, dim and italic: a blank looks the same with them."""
_CACHED = 1024


class Parts(NamedTuple):
    """A look taken apart."""

    attributes: tuple[str, ...]
    foreground: str
    background: str


@lru_cache(_CACHED)
def look_of(parameters: str) -> str | None:
    """The canonical look of SGR parameters that follow a reset; None if in doubt."""
    parts = _take_apart(parameters)
    if parts is None:
        return None
    attributes = sorted(set(parts.attributes), key=int)
    return ";".join(filter(None, [*attributes, parts.foreground, parts.background]))


@lru_cache(_CACHED)
def blank(look: str) -> str:
    """The look of a blank: without what does not show on it, such as its foreground."""
    parts = _take_apart(look)
    if parts is None or not _UNSEEN_ON_BLANKS.issuperset(parts.attributes):
        return look
    return parts.background


@lru_cache(_CACHED)
def change(old: str, new: str) -> str:
    """The shortest output that leads from one look to another."""
    if old == new:
        return ""
    if not new:
        return RESET
    full = f"\x1b[{'0;' if old else ''}{new}m"
    had, has = _take_apart(old), _take_apart(new)
    if had is None or has is None or not set(had.attributes) <= set(has.attributes):
        return full  # an attribute ends, and how to end a single one differs from it to it
    codes = [code for code in has.attributes if code not in had.attributes]
    if had.foreground != has.foreground:
        codes.append(has.foreground or "39")
    if had.background != has.background:
        codes.append(has.background or "49")
    return min(f"\x1b[{';'.join(codes)}m", full, key=len)


@lru_cache(_CACHED)
def _take_apart(parameters: str) -> Parts | None:
    attributes: list[str] = []
    foreground = background = ""
    codes = iter(parameters.split(";")) if parameters else iter(())
    for code in codes:
        if not code.isdigit():
            return None
        number = int(code)
        if number in (38, 48):
            mode = next(codes, "")
            count = {"2": 3, "5": 1}.get(mode)
            if count is None:
                return None
            values = [next(codes, "") for _ in range(count)]
            if not all(value.isdigit() for value in values):
                return None
            code = ";".join([code, mode, *values])
        if 30 <= number <= 38 or 90 <= number <= 97:
            foreground = code
        elif 40 <= number <= 48 or 100 <= number <= 107:
            background = code
        elif number == 39:
            foreground = ""
        elif number == 49:
            background = ""
        elif 1 <= number <= 9 or number in (21, 51, 52, 53):
            attributes.append(str(number))
        else:
            return None  # something that ends an attribute, or that is not known here
    return Parts(tuple(attributes), foreground, background)
