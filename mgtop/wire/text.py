"""Names from file systems and command lines, which may be any bytes."""

from __future__ import annotations

from typing import Any


def printable(value: Any) -> Any:
    """The same data with what cannot be written as UTF-8 replaced by question marks.

    Python has bytes that are no UTF-8 in names and arguments as lone halves of characters,
    which no encoder takes.

    Args:
        value: of texts, lists and dicts; anything else stays what it is.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {printable(key): printable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable(item) for item in value]
    return value
