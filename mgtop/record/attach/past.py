"""What happened before the attach: the events that the FIFOs still hold."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.wire.records import AnyEvent, FrameEmit, Mark, Record, RequestReceived, SourceState

_NOT_THERE = "mgtop was not attached yet"


class Past:
    """The events that were read at once when a process was attached to.

    Args:
        events: as they were read.
        now_ns: when.
    """

    def __init__(self, events: Sequence[AnyEvent], now_ns: int) -> None:
        # Each FIFO is in order; several have to be brought into one.
        self.events = sorted(events, key=lambda event: event.t_ns)
        self.now_ns = now_ns
        self.begin_ns = _begin(events, now_ns)
        """The session begins with the oldest of them."""
        self.frames = sum(e.count for e in self.events if isinstance(e, FrameEmit))

    @property
    def seconds(self) -> float:
        """How far back they reach."""
        return (self.now_ns - self.begin_ns) / 1e9

    @property
    def reaches_the_start(self) -> bool:
        """Whether the first event of every process that emits is among them."""
        emitting = {event.proc for event in self.events if isinstance(event, FrameEmit)}
        complete = {event.proc for event in self.events if event.seq == 0}
        return bool(emitting) and emitting <= complete

    def records(self, proc: int) -> list[Record]:
        """The past for the log, with a mark where it ends.

        Args:
            proc: the process attached to.
        """
        if not self.events:
            return []
        states = [
            SourceState(t_ns=self.begin_ns, source=source, state="absent", reason=_NOT_THERE)
            for source in ("host", "nvml")
        ]
        mark = Mark(t_ns=self.now_ns, seq=0, proc=proc, tid=0, text="mgtop attached")
        return [*states, *self.events, mark]


def _begin(events: Sequence[AnyEvent], now_ns: int) -> int:
    """The oldest time among events in the order of reading.

    A request that was received before everything else is told again with its old time, so that
    its parameters are known. It was received before the session then.
    """
    begin_ns = now_ns
    newest: dict[int, int] = {}
    for event in events:
        before_ns = newest.get(event.proc)
        if isinstance(event, RequestReceived) and (
            event.seq > 0 if before_ns is None else event.t_ns < before_ns
        ):
            continue
        newest[event.proc] = max(event.t_ns, before_ns or 0)
        begin_ns = min(begin_ns, event.t_ns)
    return begin_ns
