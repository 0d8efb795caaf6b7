"""Requests that are served at once, a lane each: their intervals apart from one another.

A lane is a place, not a request: a request takes the lowest free one, and gives it back at
its end. So memory is bounded however many requests a session has. Nothing is kept before the
first two requests overlap: until then the session's own curve tells everything.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mgtop.analysis.live import Lane
from mgtop.analysis.requests import Request
from mgtop.analysis.series import Store
from mgtop.wire.records import FrameEmit, Hello, pid_of

MOST_LANES = 16
SILENT_NS = 30_000_000_000
"""A request that says nothing for so long, without an end, gives its lane back."""
MOST_RANKS = 1_024


class _Place(msgspec.Struct):
    """A lane and who has it, or had it last."""

    request: Request
    heard_ns: int


class Lanes:
    """Fills the store's curves ``lane:N``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: list[_Place] = []
        self._ranks: dict[int, int] = {}
        self._procs: set[int] = set()
        self._overlapped = False
        self._put_out: dict[tuple[int, int], None] = {}
        """Requests whose place another one took: they are over, or they will emit again."""
        self._without: dict[tuple[int, int], int] = {}
        """Requests that found no lane, and when they were last heard of."""

    def hello(self, record: Hello) -> None:
        """Learn which rank a process has."""
        if record.rank is not None and len(self._ranks) < MOST_RANKS:
            self._ranks[record.proc] = record.rank

    def emitted(self, request: Request, frame: FrameEmit, begin_ns: int | None) -> None:
        """Frames of a request came; ``begin_ns``: of their interval, where it is known."""
        lane = self._lane_of(request, frame.t_ns)
        if lane is None:
            self._without[request.proc, request.number] = frame.t_ns
            if len(self._without) > 256:
                del self._without[next(iter(self._without))]
            return
        if begin_ns is not None and self._overlapped:
            value = (frame.t_ns - begin_ns) / 1e6
            self._store.add_span(f"lane:{lane}", begin_ns, frame.t_ns, value)

    def _lane_of(self, request: Request, t_ns: int) -> int | None:
        for number, place in enumerate(self._places):
            if place.request is request:
                place.heard_ns = t_ns
                return number
        if len(self._procs) < MOST_RANKS:
            self._procs.add(request.proc)
        again = (request.proc, request.number) in self._put_out
        self._put_out.pop((request.proc, request.number), None)
        if again:
            self._overlapped = True  # it goes on beside the one that took its place
        free = self._free(t_ns)
        if (request.proc, request.number) in self._without:
            if free is None:
                return None
            del self._without[request.proc, request.number]
        if free is None and (again or not self._places):
            if len(self._places) >= MOST_LANES:
                return None
            self._places.append(_Place(request, t_ns))
            return len(self._places) - 1
        if free is None:
            # The first frame of the next request often comes before the word that the last one
            # is over. So it takes the place that was silent longest, for as long as nobody asks.
            free = min(range(len(self._places)), key=lambda n: self._places[n].heard_ns)
            before = self._places[free].request
            self._put_out[before.proc, before.number] = None
            if len(self._put_out) > 256:
                del self._put_out[next(iter(self._put_out))]
        self._places[free] = _Place(request, t_ns)
        return free

    def _free(self, t_ns: int) -> int | None:
        """The lowest lane whose request is over."""
        return next((n for n, place in enumerate(self._places) if _is_over(place, t_ns)), None)

    def seen(self, now_ns: int) -> tuple[list[Lane], int]:
        """The lanes in the order of ranks and processes, and how many requests have none now."""
        if not self._overlapped:
            return [], 0
        places = sorted(enumerate(self._places), key=lambda item: self._order(item[1].request))
        lanes = [
            Lane(
                key=f"lane:{number}",
                label=self._label(place.request),
                open=not _is_over(place, now_ns),
                tails=place.request.tails,
                age_ns=max(0, now_ns - place.heard_ns),
            )
            for number, place in places
        ]
        return lanes, _alive(self._without.values(), now_ns)

    def _order(self, request: Request) -> tuple[int, int]:
        return self._ranks.get(request.proc, MOST_RANKS), request.proc

    def _label(self, request: Request) -> str:
        if len(self._procs) < 2:
            return request.id
        rank = self._ranks.get(request.proc)
        who = f"rank {rank}" if rank is not None else f"pid {pid_of(request.proc)}"
        return f"{who} {request.id}"


def _is_over(place: _Place, t_ns: int) -> bool:
    return place.request.ended_ns is not None or t_ns - place.heard_ns > SILENT_NS


def _alive(heard_ns: Iterable[int], now_ns: int) -> int:
    return sum(now_ns - t_ns <= SILENT_NS for t_ns in heard_ns)
