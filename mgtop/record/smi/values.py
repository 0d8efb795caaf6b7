"""Figures of ``nvidia-smi`` in the units of mgtop's records."""

from __future__ import annotations

_MIB = 1 << 20
_MOST_BYTES = 1 << 50


def bytes_of(mib: object) -> int | None:
    """Bytes of a figure in MiB; None where it is none, or makes no sense."""
    if not isinstance(mib, float) or not 0 <= mib * _MIB < _MOST_BYTES:
        return None
    return round(mib * _MIB)


def whole(value: float | None, scale: int = 1) -> int | None:
    """A figure times ``scale`` as a whole number; None where it is none, or negative."""
    return None if value is None or not 0 <= value < 1 << 62 else round(value * scale)
