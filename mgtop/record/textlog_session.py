"""A whole text log → the records of a session, in the order of their time."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec

from mgtop.config.structs import AnalysisSettings
from mgtop.probe.version import VERSION
from mgtop.record.textlog import TextLog
from mgtop.wire.records import (
    AnyEvent,
    Loss,
    Record,
    RequestReceived,
    SessionEnd,
    SessionStart,
)

SCHEMA = 1
_PIECE = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class LogContents:
    """What a log held. ``events`` are in the order of time; the counts are lines."""

    events: Sequence[AnyEvent]
    end_ns: int
    understood: int
    ignored: int
    malformed: int
    duplicates: int

    @property
    def params(self) -> dict[str, Any]:
        """Parameters on which all request headers agree; one that differs is no session's."""
        headers = [
            event.params
            for event in self.events
            if isinstance(event, RequestReceived) and event.params
        ]
        first = headers[0] if headers else {}
        return {
            name: value
            for name, value in first.items()
            if all(name in params and params[name] == value for params in headers)
        }


def read_log(stream: BinaryIO, pattern: re.Pattern[str] | None = None) -> LogContents:
    """Read a log to its end: UTF-8, or UTF-16 where it says so; other bytes are no event.

    Lines of threads that wrote out of order come into the order of their times here.
    """
    log = TextLog(pattern=pattern)
    events: list[AnyEvent] = []
    for text in _pieces(stream):
        events += log.feed(text)
    events += log.close()
    events.sort(key=lambda event: event.t_ns)
    ordered = [
        event if event.seq == place else msgspec.structs.replace(event, seq=place)
        for place, event in enumerate(events)
    ]
    return LogContents(ordered, log.end_ns, log.events, log.ignored, log.malformed, log.duplicates)


def session_records(
    log: LogContents, name: str, params: dict[str, Any], settings: AnalysisSettings
) -> Iterator[Record]:
    """The session's records, first to last.

    The machine and the wall-clock time of the run are not in the log, so they stay unknown
    (``wall_ns`` 0). Lines that could not be made sense of count as malformed events.
    """
    yield SessionStart(0, 0, SCHEMA, VERSION, name, params, msgspec.to_builtins(settings), {})
    yield from log.events
    if log.malformed:
        yield Loss(log.end_ns, 0, 0, log.malformed)
    yield SessionEnd(log.end_ns, "imported")


def _pieces(stream: BinaryIO) -> Iterator[str]:
    piece = stream.read(_PIECE)
    encoding = next((name for bom, name in _BOMS if piece.startswith(bom)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    while piece:
        yield decoder.decode(piece)
        piece = stream.read(_PIECE)
    yield decoder.decode(b"", final=True)
