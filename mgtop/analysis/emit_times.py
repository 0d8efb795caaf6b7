"""When the emits of a request came, and which frame each began with: 4 bytes an emit."""

from __future__ import annotations

from array import array
from bisect import bisect_right

RECENT = 512
"""Newest times that are known to the nanosecond."""
STEP_NS = 100_000
LAST_STEP = (1 << 32) - 1
"""119 hours after the first emit; those after count as then."""


class EmitTimes:
    """Times of emits, ascending; one that comes out of that order is known by the newest alone.

    Attributes:
        recent: the newest times, ns.
    """

    __slots__ = ("_begin_ns", "_next", "_run_index", "_run_place", "_run_step", "_steps", "recent")

    def __init__(self) -> None:
        self.recent = array("q")
        self._begin_ns = 0
        self._steps = array("I")
        self._run_place, self._run_index = array("q"), array("q")
        """From which emit on the frames are numbered evenly, and the number of its frame."""
        self._run_step = array("q")
        self._next = (-1, 0)
        """Place and frame that the next emit would have in the present run."""

    def add(self, t_ns: int, index: int, count: int) -> None:
        """``count`` frames from number ``index`` on came."""
        recent = self.recent
        if recent and t_ns < recent[-1]:
            recent.insert(bisect_right(recent, t_ns), t_ns)
            return
        if not recent:
            self._begin_ns = t_ns
        recent.append(t_ns)
        if len(recent) >= 2 * RECENT:
            del recent[:-RECENT]
        place = len(self._steps)
        self._steps.append(min(LAST_STEP, (t_ns - self._begin_ns) // STEP_NS))
        if self._next != (place, index) or self._run_step[-1] != count:
            self._run_place.append(place)
            self._run_index.append(index)
            self._run_step.append(count)
        self._next = (place + 1, index + count)

    @property
    def newest_ns(self) -> int | None:
        """Time of the newest emit."""
        return self.recent[-1] if self.recent else None

    def index_at(self, t_ns: int) -> int | None:
        """First frame of the last emit up to a time, to 0.1 ms; None: there was none yet."""
        if t_ns < self._begin_ns or not self._steps:
            return None
        place = bisect_right(self._steps, (t_ns - self._begin_ns) // STEP_NS) - 1
        run = bisect_right(self._run_place, place) - 1
        return self._run_index[run] + (place - self._run_place[run]) * self._run_step[run]
