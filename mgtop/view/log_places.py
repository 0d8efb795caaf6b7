"""Where in the log a time is, in bounded memory: so that a moment can be read once more."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

MOST = 16_384
"""Known places; beyond, every other one is dropped."""
LEAST_NS = 500_000_000


class LogPlaces:
    """Learns how far the log had been read at which time of its own."""

    def __init__(self) -> None:
        self._times = array("q")
        self._offsets = array("q")
        self._least_ns = LEAST_NS

    def passed(self, offset: int, newest_ns: int) -> None:
        """All records up to ``newest_ns`` so far lie before ``offset``, and no later ones."""
        if self._times and newest_ns - self._times[-1] < self._least_ns:
            return
        self._times.append(newest_ns)
        self._offsets.append(offset)
        if len(self._times) > MOST:
            del self._times[1::2], self._offsets[1::2]
            self._least_ns *= 2

    def around(self, begin_ns: int, end_ns: int) -> tuple[int, int | None]:
        """Bytes between which the records of a time lie; None: up to the end of the log."""
        first = bisect_left(self._times, begin_ns)
        last = bisect_right(self._times, end_ns)
        begin = self._offsets[first - 1] if first else 0
        return begin, self._offsets[last] if last < len(self._times) else None
