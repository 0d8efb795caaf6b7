"""One long-tail interval beside what is usual in its stream."""

from __future__ import annotations

from mgtop.analysis.evidence import Part, TailWindow
from mgtop.analysis.interval import Piece, Split
from mgtop.analysis.process import ProcessLog
from mgtop.analysis.spans import Role
from mgtop.analysis.streams import Emit, Quantities, scatter, usual

SCATTER = 3.0
"""What is less than so many median distances beyond the median is scatter: one value in 46 of
normally distributed ones lies farther out on that side. It is robust: late frames, as long as
they are fewer than half, do not widen it."""


class Profile:
    """The quantities of a tail, and how far each is beyond its median in the stream."""

    def __init__(
        self,
        window: TailWindow,
        log: ProcessLog,
        emit: Emit | None,
        found: Split,
        others: list[tuple[int, Quantities]],
    ) -> None:
        self.window = window
        self.log = log
        self.emit = emit
        """The emit as it stands in its stream; None: it is not held any more."""
        self.split = found
        self.quantities = found.quantities
        self._others = others
        self._usual: dict[str, float | None] = {}
        self._scatters: dict[str, float] = {}

    def get(self, name: str) -> int | None:
        """A quantity of this interval."""
        return self.quantities.get(name)

    def usual(self, name: str) -> float | None:
        """Its median over the others, for an emit of this size."""
        if name not in self._usual:
            self._usual[name] = usual(self._others, name, self.window.count)
        return self._usual[name]

    def beyond(self, name: str) -> float | None:
        """How much more than usual it is, beyond scatter; None: one of the two is not known."""
        value, median = self.get(name), self.usual(name)
        if value is None or median is None:
            return None
        beyond = max(0.0, value - median)
        return beyond if beyond > SCATTER * self._scatter(name) else 0.0

    def _scatter(self, name: str) -> float:
        if name not in self._scatters:
            self._scatters[name] = scatter(self._others, name, self.window.count)
        return self._scatters[name]

    def late(self, role: Role) -> float:
        """Time spent waiting for single spans of other threads that lasted too long."""
        name = f"late_{role}"
        return max(0.0, self.quantities.get(name, 0) - (self.usual(name) or 0.0))

    def over(self, role: Role) -> float | None:
        """What spans of that role took beyond their usual time, whoever's they are."""
        beyond = self.beyond(role)
        return None if beyond is None else beyond + self.late(role)

    def around_ns(self) -> float:
        """What can be lost around something known by a counter only.

        The excess of the model's own time, where it is told; else all of the excess.
        """
        lost = self.lost_in_model()
        return float(self.window.excess_ns) if lost is None else lost

    def lost_in_model(self) -> float | None:
        """How much longer than usual the model took; None: nothing tells.

        By its spans on the host, or by the GPU's own time line, whichever is more: spans that
        only launch work return at once.
        """
        over = self.over("compute") if self.has_spans("compute") else None
        busy = self.beyond("gpu_busy")
        return max((ns for ns in (over, busy) if ns is not None), default=None)

    def has_spans(self, role: Role) -> bool:
        """Whether spans of that role are seen in this stream at all."""
        if any(piece.work.role == role for piece in self.split.pieces):
            return True
        return bool(self.usual(role))

    def off_compute_beyond(self) -> float:
        """Time off a core inside compute spans, beyond what such spans always have.

        A step that does twice the work also waits twice as long for its worker threads, so
        what is usual grows with the time in the spans.
        """
        off, usual_off = self.get("off_compute"), self.usual("off_compute")
        if off is None or usual_off is None:
            return 0.0
        usual_time, time = self.usual("compute") or 0.0, self.get("compute") or 0
        growth = max(1.0, time / usual_time) if usual_time > 0 else 1.0
        return max(0.0, off - usual_off * growth)

    def off_beyond(self) -> float | None:
        """Time in which the thread neither ran nor waited for a core, beyond the usual.

        None where the system did not tell. Inside compute spans as above.
        """
        beyond = self.beyond("off")
        if beyond is None:
            return None
        compute_beyond = self.beyond("off_compute") or 0.0
        return max(0.0, beyond - max(0.0, compute_beyond - self.off_compute_beyond()))

    def parts(self) -> dict[Part, float]:
        """The parts of the excess within which claims stay; a missing one sets no limit."""
        parts: dict[Part, float] = {"off_compute": self.off_compute_beyond()}
        off = self.off_beyond()
        if off is not None:
            parts["off"] = off
        compute = self.lost_in_model()
        if compute is not None:
            parts["compute"] = compute
        return parts

    def longest(self, role: Role) -> tuple[str, int] | None:
        """The span name that took most beyond a usual one of it, and when that began."""
        time: dict[str, int] = {}
        largest: dict[str, Piece] = {}
        for piece in self.split.pieces:
            work = piece.work
            if work.role != role:
                continue
            time[work.name] = time.get(work.name, 0) + piece.end_ns - piece.begin_ns
            before = largest.get(work.name)
            if before is None or _length(piece) > _length(before):
                largest[work.name] = piece
        if not time:
            return None
        name = max(time, key=lambda name: (time[name] - self.log.usual_span_ns(name), name))
        return name, largest[name].work.begin_ns


def _length(piece: Piece) -> int:
    return piece.end_ns - piece.begin_ns
