"""Which stage the session is in, for the account of memory.

Stages: ``load`` until loading is done (where no event tells, until the first request or
frame); ``first_frame`` from a request's arrival until its second emit; ``steady`` from
then on, which is the work for the third frame and later ones; ``idle`` while no request
runs. Where emits are blocks, blocks count as frames.
"""

from __future__ import annotations

from collections import deque

from mgtop.analysis.summary import Stage
from mgtop.wire import records as r

FORGOTTEN_NS = 60_000_000_000
"""A request not heard of for so long, while others are, no longer says what the stage is."""


class Stages:
    """Which stage the session is in."""

    def __init__(self) -> None:
        self.turns: deque[tuple[int, Stage]] = deque(maxlen=4_096)
        self.current: Stage = "load"
        self.loaded = False
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        """Of each open request: emits so far, and when it was last heard of."""

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next event."""
        if isinstance(record, r.Load):
            self.loaded = record.done
        elif isinstance(record, r.RequestReceived):
            self._heard((record.proc, record.request), 0, record.t_ns)
        elif isinstance(record, r.FrameEmit):
            key = (record.proc, record.request)
            emits = self._open[key][0] + 1 if key in self._open else 1
            self._heard(key, max(emits, record.emit + 1), record.t_ns)
        elif isinstance(record, r.StreamEnd):
            self._open.pop((record.proc, record.request), None)
        else:
            return
        stage = self._stage()
        if stage != self.current or not self.turns:
            self.current = stage
            self.turns.append((record.t_ns, stage))

    def _heard(self, key: tuple[int, int], emits: int, t_ns: int) -> None:
        self.loaded = True
        self._open.pop(key, None)
        self._open[key] = (emits, t_ns)
        if len(self._open) > 256:
            del self._open[next(iter(self._open))]

    def _stage(self) -> Stage:
        if not self.loaded:
            return "load"
        if not self._open:
            return "idle"
        # A request that was given up without an end does not hold the stage for ever.
        heard = max(t_ns for _, t_ns in self._open.values())
        emits = [n for n, t_ns in self._open.values() if t_ns >= heard - FORGOTTEN_NS]
        return "first_frame" if min(emits) < 2 else "steady"

    def at(self, t_ns: int) -> Stage:
        """The stage at a time of the recent past."""
        for since, stage in reversed(self.turns):
            if since <= t_ns:
                return stage
        return "load"
