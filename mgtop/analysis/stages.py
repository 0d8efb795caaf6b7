"""Which stage the session is in, for the account of memory.

Stages: ``load`` until loading is done; ``first_frame`` from a request's arrival until its
second emit; ``steady`` from then on, which is the work for the third frame and later ones;
``idle`` while no request runs. Where emits are blocks, blocks count as frames.

Events tell the borders. Where none has come yet, they are guessed from what can be seen from
outside (:mod:`mgtop.analysis.stages_seen`) and called inferred; so is the end of loading, where
only the first request or frame shows that it is over.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from mgtop.analysis.memory_figures import Stage
from mgtop.analysis.stages_seen import StagesSeen
from mgtop.wire import records as r

FORGOTTEN_NS = 60_000_000_000
"""A request not heard of for so long, while others are, no longer says what the stage is."""


class Turn(NamedTuple):
    """A stage began."""

    t_ns: int
    stage: Stage
    inferred: bool


class Stages:
    """Which stage the session is in."""

    def __init__(self) -> None:
        self.turns: deque[Turn] = deque(maxlen=4_096)
        self.current: Stage = "load"
        self.inferred: set[Stage] = set()
        """Stages of which a border is not known by an event."""
        self.loaded = False
        self.told = False
        """Whether any event has told of a stage."""
        self.taken_back = False
        """An event has just told that all before it was loading, whatever had been guessed."""
        self.seen = StagesSeen()
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        """Of each open request: emits so far, and when it was last heard of."""

    def feed(self, record: r.AnyRecord) -> None:
        """Take the next event."""
        if isinstance(record, r.Load):
            self.loaded = record.done
            if not self.told and self.turns:
                self.turns.clear()
                self.inferred.clear()
                self.current = "load"
                self.taken_back = True
        elif isinstance(record, r.RequestReceived):
            self._heard((record.proc, record.request), 0, record.t_ns)
        elif isinstance(record, r.FrameEmit):
            key = (record.proc, record.request)
            emits = self._open[key][0] + 1 if key in self._open else 1
            if key not in self._open and record.emit == 0:
                self.inferred.add("first_frame")  # when it was received is not known
            self._heard(key, max(emits, record.emit + 1), record.t_ns)
        elif isinstance(record, r.StreamEnd):
            self._open.pop((record.proc, record.request), None)
        else:
            return
        self.told = True
        self._turn(record.t_ns, self._stage(), inferred=False)

    def look(self, record: r.AnyRecord) -> None:
        """Take what can be seen from outside; it counts until the first event."""
        stage = self.seen.feed(record)
        if not self.told:
            self._turn(record.t_ns, stage, inferred=True)

    def _turn(self, t_ns: int, stage: Stage, inferred: bool) -> None:
        if stage == self.current and self.turns:
            return
        if inferred and (self.turns or stage != "load"):
            self.inferred |= {stage, self.current}
        self.current = stage
        self.turns.append(Turn(t_ns, stage, inferred))

    def _heard(self, key: tuple[int, int], emits: int, t_ns: int) -> None:
        if not self.loaded:
            self.loaded = True
            self.inferred.add("load")
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
        for turn in reversed(self.turns):
            if turn.t_ns <= t_ns:
                return turn.stage
        return "load"
