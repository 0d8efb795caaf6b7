"""Numbers that are missing in a row, so that a late one is known from a repeated one."""

from __future__ import annotations

from bisect import bisect_right

MOST = 256


class Gaps:
    """Ranges of missing numbers, ascending; beyond :data:`MOST` the oldest are given up."""

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int]] = []

    def __bool__(self) -> bool:
        return bool(self._ranges)

    def __contains__(self, number: int) -> bool:
        return self._find(number) is not None

    def add(self, begin: int, end: int) -> None:
        """All from ``begin`` to ``end`` − 1 are missing; they are above all gaps so far."""
        if end > begin:
            self._ranges.append((begin, end))
            if len(self._ranges) > MOST:
                del self._ranges[0]

    def remove(self, number: int) -> None:
        """That one has come."""
        at = self._find(number)
        if at is not None:
            begin, end = self._ranges[at]
            pieces = [(begin, number), (number + 1, end)]
            self._ranges[at : at + 1] = [piece for piece in pieces if piece[0] < piece[1]]

    def _find(self, number: int) -> int | None:
        at = bisect_right(self._ranges, (number, float("inf"))) - 1
        return at if at >= 0 and number < self._ranges[at][1] else None
