"""What stands at the ends of a log file that belongs to a row of them.

A file that goes on from another begins with a chunk that holds :class:`LogSegment` and what was
recorded before and is needed to make sense of it; a file that another goes on from ends with
:class:`LogSegmentEnd` alone in a chunk. What was dropped leaves a file with a :class:`LogGap`.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import msgspec

from mgtop.session.chunks import HEADER, MAGIC, MAX_PAYLOAD, whole_chunk
from mgtop.session.columns import NoColumns, is_squeezed, unfold
from mgtop.wire.records import LogGap, LogSegment, LogSegmentEnd, SessionStart

SEGMENT, END, GAP, START = (
    int(str(kind.__struct_config__.tag))
    for kind in (LogSegment, LogSegmentEnd, LogGap, SessionStart)
)
MOST_END_BYTES = 64
"""A chunk with an end is smaller."""

_encode = msgspec.msgpack.Encoder().encode
_rows = msgspec.msgpack.Decoder(list[list[Any]]).decode
_UNDECODABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, NoColumns)


class Head(NamedTuple):
    """The first chunk of a file that goes on from another.

    Attributes:
        number: of the file.
        t_ns: when it was begun.
        carried: rows of the records that were recorded before.
    """

    number: int
    t_ns: int
    carried: list[list[Any]]

    @property
    def session_begin_ns(self) -> int:
        """When the session began; the file's own begin where that is not told."""
        return next((row[1] for row in self.carried if row[0] == START), self.t_ns)

    def news_since(self, t_ns: int | None) -> list[list[Any]]:
        """What was recorded after that time (None: nothing was read before)."""
        return [row for row in self.carried if t_ns is None or row[1] > t_ns]


def rows_of(payload: bytes | memoryview) -> list[list[Any]]:
    """The records of a payload as plain rows; none where it holds none."""
    try:
        rows = _rows(unfold(payload) if is_squeezed(payload) else payload)
    except _UNDECODABLE:
        return []
    good = all(len(row) >= 2 and type(row[0]) is int and type(row[1]) is int for row in rows)
    return rows if good else []


def head_of(rows: list[list[Any]]) -> Head | None:
    """What the first chunk of a file says; None: the file goes on from no other."""
    if not rows or rows[0][0] != SEGMENT or len(rows[0]) < 3 or type(rows[0][2]) is not int:
        return None
    return Head(rows[0][2], rows[0][1], rows[1:])


def is_end(payload: bytes | memoryview) -> bool:
    """Whether a payload ends a finished file."""
    if len(payload) > MOST_END_BYTES:
        return False
    rows = rows_of(payload)
    return len(rows) == 1 and rows[0][0] == END


def gap_in(rows: list[list[Any]]) -> LogGap | None:
    """The gap that a payload consists of, if it does."""
    if len(rows) != 1 or rows[0][0] != GAP:
        return None
    try:
        return msgspec.convert(rows[0], LogGap)
    except msgspec.MsgspecError:
        return None


def payload_of(gap: LogGap | None, rows: list[list[Any]]) -> bytes:
    """A payload in row form of a gap and what is known after it."""
    return _encode([*([] if gap is None else [gap]), *rows])


def first_payload(fd: int) -> bytes | None:
    """That of the chunk at the very begin of a file; None: there is none, or it is damaged."""
    begin = os.pread(fd, HEADER.size, 0)
    if len(begin) < HEADER.size:
        return None
    magic, length, _ = HEADER.unpack(begin)
    if magic != MAGIC or length > MAX_PAYLOAD:
        return None
    chunk = os.pread(fd, HEADER.size + length, 0)
    return chunk[HEADER.size :] if whole_chunk(chunk) == 0 else None


def end_of(fd: int) -> LogSegmentEnd | None:
    """What ends a finished file; None: it is cut off, or none."""
    size = os.fstat(fd).st_size
    data = os.pread(fd, HEADER.size + MOST_END_BYTES, max(0, size - HEADER.size - MOST_END_BYTES))
    at = whole_chunk(data)
    while at >= 0:
        end = at + HEADER.size + HEADER.unpack_from(data, at)[1]
        payload = data[at + HEADER.size : end]
        if end == len(data) and is_end(payload):
            return msgspec.convert(rows_of(payload)[0], LogSegmentEnd)
        at = whole_chunk(data, at + 1)
    return None
