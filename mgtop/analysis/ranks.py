"""Which rank of a distributed program tells of its frames: each frame counts once.

Under torchrun every rank runs the same code, so every rank's hooks and sinks see the same frames.
Those of the lowest rank that emits count; what a program says itself (its probe) is its own affair.
"""

from __future__ import annotations

from mgtop.wire.records import ROUTES, FrameEmit, Hello, RequestReceived

FOUND = (ROUTES.index("hooks"), ROUTES.index("sinks"))
"""Routes by which frames are found, rather than told."""


class Ranks:
    """Keeps the rank of each process, and the lowest that emits by each route."""

    def __init__(self) -> None:
        self._rank: dict[int, int] = {}
        self._lowest: dict[int, int] = {}
        self._emitting: set[tuple[int, int]] = set()
        """Route and rank of what has emitted."""

    def meet(self, hello: Hello) -> None:
        """A process introduces itself."""
        if hello.rank is not None and hello.rank >= 0:
            self._rank[hello.proc] = hello.rank

    def counts(self, record: FrameEmit | RequestReceived) -> bool:
        """Whether no lower rank tells of the same by this route."""
        if not self._rank or record.route not in FOUND:
            return True
        lowest = self._lowest.get(record.route)
        return lowest is None or self._rank.get(record.proc, lowest) <= lowest

    def emits(self, frame: FrameEmit) -> None:
        """A frame has come, whether it counts or not."""
        rank = self._rank.get(frame.proc)
        if rank is not None:
            self._emitting.add((frame.route, rank))

    def same(self, route: int) -> list[int]:
        """Ranks whose frames are taken for those of the lowest."""
        lowest = self._lowest.get(route)
        if lowest is None:
            return []
        return sorted(rank for told, rank in self._emitting if told == route and rank > lowest)

    def lowers(self, frame: FrameEmit) -> bool:
        """Take a frame that counts; whether those of higher ranks count no more from now on."""
        rank = self._rank.get(frame.proc)
        if rank is None or frame.route not in FOUND:
            return False
        lowest = self._lowest.get(frame.route)
        if lowest is None or rank < lowest:
            self._lowest[frame.route] = rank
            return True
        return False

    def is_above(self, proc: int, route: int) -> bool:
        """Whether a process is of a higher rank than the lowest that emits."""
        lowest = self._lowest.get(route)
        return lowest is not None and self._rank.get(proc, lowest) > lowest
