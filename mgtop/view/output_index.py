"""Which byte of the target's output was written when: both ways, in bounded memory."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import deque

from mgtop.wire.records import AnyRecord, OutputAt, OutputLine

MOST = 32_768
"""Known places; beyond, every other one is dropped and later ones are taken more rarely."""
MOST_LINES = 512


class OutputIndex:
    """Learns from the records how long the output was at which time.

    Attributes:
        lines: the newest lines that mgtop understood.
    """

    def __init__(self) -> None:
        self.lines: deque[OutputLine] = deque(maxlen=MOST_LINES)
        self._times = array("q")
        self._offsets = array("q")
        self._least_ns = 0

    def take(self, record: AnyRecord) -> None:
        """Take a record, of any kind."""
        if isinstance(record, OutputLine):
            self.lines.append(record)
        if not isinstance(record, OutputAt):
            return
        times, offsets = self._times, self._offsets
        if times and (record.t_ns < times[-1] or record.offset < offsets[-1]):
            return  # the file was cut: what was known before still holds
        if len(times) > 1 and record.t_ns - times[-2] < self._least_ns:
            # One place stands for all that came in this time, its end.
            times[-1], offsets[-1] = record.t_ns, record.offset
            return
        times.append(record.t_ns)
        offsets.append(record.offset)
        if len(times) > MOST:
            del times[1:-1:2], offsets[1:-1:2]
            self._least_ns = max(200_000_000, 2 * self._least_ns)

    def before(self, t_ns: int) -> int | None:
        """How long the output was at a time; None where nothing is known of that time."""
        at = bisect_right(self._times, t_ns)
        if at:
            return self._offsets[at - 1]
        return 0 if self._times else None

    def time_of(self, offset: int) -> int | None:
        """When the byte at ``offset`` had been written, at the latest; None: not known."""
        at = bisect_left(self._offsets, offset + 1)
        return self._times[at] if at < len(self._times) else None
