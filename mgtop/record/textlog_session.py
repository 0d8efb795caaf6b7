"""A whole text log → the records of a session, in the order of their time."""

from __future__ import annotations

import codecs
import heapq
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from mgtop.config.structs import AnalysisSettings
from mgtop.probe.version import VERSION
from mgtop.record.output_file import Line
from mgtop.record.output_messages import Messages
from mgtop.record.textlog import MAX_LINE, TextLog
from mgtop.record.textlog_clock import StatedTime
from mgtop.wire.records import (
    SCHEMA,
    AnyEvent,
    Loss,
    OutputLine,
    Record,
    RequestReceived,
    SessionEnd,
    SessionStart,
)

_PIECE = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class LogContents:
    """What a log held. ``events`` are in the order of time; the counts are lines.

    ``output``: lines that tell something else, such as memory that ran out. ``coarse``: events
    whose time is known to the second only. ``begin_wall_ns``: Unix time at 0 of the axis, where
    lines state the time of day.
    """

    events: Sequence[AnyEvent]
    end_ns: int
    understood: int
    ignored: int
    malformed: int
    duplicates: int
    coarse: int = 0
    begin_wall_ns: int | None = None
    output: Sequence[OutputLine] = ()

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

    Lines of threads that wrote out of order come into the order of their times here. Where
    lines begin with the time of day, as loggers write it, requests stand on the axis as they
    did in truth; else they follow each other.
    """
    clock = StatedTime()
    log = TextLog(pattern=pattern, clock=clock)
    messages = Messages()
    events: list[AnyEvent] = []
    output: list[OutputLine] = []
    for line in _lines(stream):
        told = log.line(line.text)
        events += told
        if not told:
            output += messages.take([line], log.line_ns)
    output += messages.take([], log.line_ns, final=True)
    events.sort(key=lambda event: event.t_ns)
    # A first line that came late: its request began before it.
    begin_ns = min([0, *(event.t_ns for event in events[:1])])
    return LogContents(
        [
            event
            if (event.seq, begin_ns) == (place, 0)
            else replace(event, seq=place, t_ns=event.t_ns - begin_ns)
            for place, event in enumerate(events)
        ],
        max([log.end_ns, *(line.t_ns for line in output[-1:])]) - begin_ns,
        log.events,
        log.ignored,
        log.malformed,
        log.duplicates,
        log.coarse,
        None if clock.origin_ns is None else clock.origin_ns + begin_ns,
        [replace(line, t_ns=line.t_ns - begin_ns) for line in output],
    )


def session_records(
    log: LogContents,
    name: str,
    params: dict[str, Any],
    settings: AnalysisSettings,
    gpu: Sequence[Record] = (),
) -> Iterator[Record]:
    """The session's records, first to last.

    The machine is not in the log, and its time of day only where lines state it, else it is
    not known (``wall_ns`` 0). Lines that could not be made sense of count as malformed events.

    Args:
        log: what was read.
        name: of the session.
        params: of the run.
        settings: how it is judged.
        gpu: what is known of its GPUs, in the order of time.
    """
    wall_ns = log.begin_wall_ns or 0
    yield SessionStart(0, wall_ns, SCHEMA, VERSION, name, params, msgspec.to_builtins(settings), {})
    yield from heapq.merge(log.events, log.output, gpu, key=lambda record: record.t_ns)
    end_ns = max([log.end_ns, *(record.t_ns for record in gpu[-1:])])
    if log.malformed:
        yield Loss(end_ns, 0, 0, log.malformed)
    yield SessionEnd(end_ns, "imported")


def _lines(stream: BinaryIO) -> Iterator[Line]:
    """Lines with their places; a carriage return ends one, too, as progress bars write it."""
    offset, rest = 0, ""
    for text in _pieces(stream):
        *complete, rest = (rest + text).replace("\r", "\n").split("\n")
        for line in complete:
            yield Line(offset, line)
            offset += len(line.encode("utf-8", "replace")) + 1
        if len(rest) > 2 * MAX_LINE:  # whatever follows of it, it stays too long for an event
            offset += len(rest[MAX_LINE + 1 :].encode("utf-8", "replace"))
            rest = rest[: MAX_LINE + 1]
    if rest:
        yield Line(offset, rest)


def encoding_of(begin: bytes) -> str:
    """Encoding of a text that begins so: UTF-16 where it says so, else UTF-8."""
    return next((name for bom, name in _BOMS if begin.startswith(bom)), "utf-8")


def _pieces(stream: BinaryIO) -> Iterator[str]:
    piece = stream.read(_PIECE)
    decoder = codecs.getincrementaldecoder(encoding_of(piece))(errors="replace")
    while piece:
        yield decoder.decode(piece)
        piece = stream.read(_PIECE)
    yield decoder.decode(b"", final=True)
