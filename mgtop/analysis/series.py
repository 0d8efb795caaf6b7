"""Readings over time in bounded memory, at several resolutions."""

from __future__ import annotations

from mgtop.analysis.live import Series


class Store:
    """Readings by key; see :meth:`add` and :meth:`columns`."""

    def add(self, key: str, t_ns: int, value: float, period_ns: int | None = None) -> None:
        """Add one reading."""
        raise NotImplementedError

    def describe(
        self, key: str, unit: str, limit: float | None = None, reason: str | None = None
    ) -> None:
        """Say what a key's numbers are."""
        raise NotImplementedError

    def keys(self) -> list[str]:
        """Keys that were described or have readings, in order of appearance."""
        raise NotImplementedError

    def columns(self, key: str, begin_ns: int, end_ns: int, n: int) -> Series:
        """``n`` columns of the time from ``begin_ns`` to ``end_ns``."""
        raise NotImplementedError
