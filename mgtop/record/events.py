"""From bytes of the FIFO to events that may be recorded; whatever else came is counted."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mgtop.record.images import Images
from mgtop.record.limits import PLAUSIBLE, printable
from mgtop.record.loss import LossAccount
from mgtop.wire.framing import Malformed, Splitter, decode_event
from mgtop.wire.records import (
    ROUTES,
    AnyEvent,
    FrameEmit,
    Hello,
    Notice,
    PreprocessDone,
    Pulse,
    RequestReceived,
    StreamEnd,
)

CLOCK_SLACK_NS = 1_000_000_000
"""An event may claim to be this far ahead of the reader's clock, not more."""
_OF_FRAMES = (RequestReceived, PreprocessDone, FrameEmit, StreamEnd)
_WITH_ROUTE = (RequestReceived, FrameEmit)
_OF_PROGRAMS = ("probe", "hooks", "sinks")
"""What can be asked for alone, of the ways by which a program tells of its frames."""

_REMEMBERED_REQUESTS = 4_096
_MOST_NOTICES = 256


class Intake:
    """Turns what was read from one FIFO into events.

    Args:
        earliest_ns: events before that time cannot belong to this recording.
        losses: where losses and malformed messages are counted.
        translate: what becomes of each event before it is checked; None for one that is not
            of this recording.
        source: ``frames.from`` of the configuration. What tells of frames and requests by
            another way is counted, but left out.
    """

    def __init__(
        self,
        earliest_ns: int,
        losses: LossAccount,
        translate: Callable[[AnyEvent], AnyEvent | None] | None = None,
        source: str = "auto",
    ) -> None:
        self._translate = translate
        self._left_out = _OF_FRAMES if source == "log" else ()
        self._route = ROUTES.index(source) if source in _OF_PROGRAMS else None
        self._earliest_ns = earliest_ns
        self._losses = losses
        self._images = Images(losses)
        self._splitter = Splitter()
        self._garbage_seen = 0
        self._received: dict[tuple[int, int], None] = {}
        self.emitting: Hello | None = None
        """The newest process that introduced itself, one that has torch before others."""
        self.tells_frames = False
        """Whether a frame has come."""
        self.routes: set[int] = set()
        """By which routes frames have come."""
        self.notices: dict[str, None] = {}
        """What hooks and sinks had to say."""

    def feed(self, data: bytes, now_ns: int) -> list[AnyEvent]:
        """Decode and check what was read at ``now_ns``; return the events, in order."""
        losses, earliest, latest = self._losses, self._earliest_ns, now_ns + CLOCK_SLACK_NS
        translate, left_out = self._translate, self._left_out
        events: list[AnyEvent] = []
        for payload in self._splitter.feed(data):
            try:
                event = decode_event(payload)
            except Malformed:
                self._count_unreadable(payload, now_ns)
                continue
            if translate is not None:
                translated = translate(event)
                if translated is None:
                    continue
                event = translated
            if not PLAUSIBLE[type(event)](event):
                self._count_unusable(event.seq, event.proc, now_ns)
                continue
            event = self._images.take(event)
            if not losses.accept(event.proc, event.seq, now_ns):
                losses.malformed(0)
                continue
            if not earliest <= event.t_ns <= latest:
                losses.malformed(event.proc)
                continue
            kind = type(event)
            if kind in _WITH_ROUTE and self._route not in (None, event.route):  # type: ignore[union-attr]
                continue
            if kind is RequestReceived and self._is_repeated(event):  # type: ignore[arg-type]
                continue
            if kind is FrameEmit:
                self.tells_frames = True
                self.routes.add(event.route)  # type: ignore[union-attr]
            elif kind is Pulse:
                losses.pulse(event.proc, event.dropped)  # type: ignore[union-attr]
            elif kind is Hello:
                self._meet(event)  # type: ignore[arg-type]
            elif kind is Notice and len(self.notices) < _MOST_NOTICES:
                self.notices[event.text] = None  # type: ignore[union-attr]
            if kind not in left_out:
                events.append(printable(event))
        garbage = self._splitter.malformed
        if garbage != self._garbage_seen:
            losses.malformed_unknown += garbage - self._garbage_seen
            self._garbage_seen = garbage
        return events

    def _is_repeated(self, event: RequestReceived) -> bool:
        """The probe says once a second which requests are open, for readers that come late."""
        key = (event.proc, event.request)
        if key in self._received:
            return True
        self._received[key] = None
        if len(self._received) > _REMEMBERED_REQUESTS:
            del self._received[next(iter(self._received))]
        return False

    def _count_unreadable(self, payload: bytes, now_ns: int) -> None:
        """Count a message that is no event of this schema.

        An event of a newer probe still tells its process and number, so it is counted as
        malformed there, and not as lost on top.
        """
        try:
            fields = msgspec.msgpack.decode(payload, type=list)
            _tag, _t_ns, seq, proc = fields[:4]
        except (msgspec.MsgspecError, RecursionError, ValueError):
            self._losses.malformed(0)
            return
        self._count_unusable(seq, proc, now_ns)

    def _count_unusable(self, seq: object, proc: object, now_ns: int) -> None:
        """Count an event that came, so it is not lost, but tells nothing that can be true."""
        known = False
        if isinstance(seq, int) and isinstance(proc, int):
            fits = 0 <= seq < 1 << 63 and 0 <= proc < 1 << 63
            known = fits and self._losses.accept(proc, seq, now_ns)
        self._losses.malformed(proc if known and isinstance(proc, int) else 0)

    def _meet(self, hello: Hello) -> None:
        if hello.torch is not None or self.emitting is None or self.emitting.torch is None:
            self.emitting = hello
