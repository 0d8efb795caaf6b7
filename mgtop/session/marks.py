"""Marks that viewers set: one JSON line each, beside the log."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated

import msgspec

from mgtop.session.secrets import mask_text
from mgtop.wire.records import Mark

MARKS_NAME = "marks.jsonl"
LONGEST_LINE = 4096
_READ_BYTES = 1 << 20
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+"
)
"""Also what turns the direction of writing, and halves of characters."""


class _Line(msgspec.Struct):
    t_ns: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    text: str


def clean(text: str) -> str:
    """Without escape codes and control characters."""
    return _CONTROL.sub(" ", _ESCAPES.sub("", text)).strip()


def append_mark(folder: Path, t_ns: int, text: str) -> Mark:
    """Set a mark at a time of ``CLOCK_MONOTONIC``; one write, so that viewers do not mix.

    A text that does not fit in a line of 4 KiB is cut.

    Raises:
        OSError: the folder cannot be written.
    """
    text = mask_text(clean(text))
    line = msgspec.json.encode(_Line(t_ns, text)) + b"\n"
    while len(line) >= LONGEST_LINE:
        text = text[: len(text) * 3 // 4]
        line = msgspec.json.encode(_Line(t_ns, text)) + b"\n"
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    fd = os.open(folder / MARKS_NAME, flags, 0o600)
    try:
        if _is_torn(fd):
            line = b"\n" + line
        if os.write(fd, line) != len(line):
            os.write(fd, b"\n")  # on a full disk this raises what the matter is
    finally:
        os.close(fd)
    return Mark(t_ns=t_ns, seq=0, proc=0, tid=0, text=text)


def _is_torn(fd: int) -> bool:
    """Whether the last line has no end, since the disk was full at the time."""
    size = os.fstat(fd).st_size
    return size > 0 and os.pread(fd, 1, size - 1) != b"\n"


class MarksReader:
    """Gives the marks of a session, each once.

    ``malformed`` counts lines that are none. A line without an end is waited for.
    """

    def __init__(self, folder: Path, from_offset: int = 0) -> None:
        self._path = folder / MARKS_NAME
        self._offset = from_offset
        self.malformed = 0

    def poll(self) -> list[Mark]:
        """The marks since the last time."""
        marks: list[Mark] = []
        while data := self._next_lines():
            for line in filter(None, data.split(b"\n")):
                try:
                    item = msgspec.json.decode(line, type=_Line)
                except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                    self.malformed += 1
                    continue
                marks.append(Mark(t_ns=item.t_ns, seq=0, proc=0, tid=0, text=clean(item.text)))
        return marks

    def _next_lines(self) -> bytes:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                data = os.pread(fd, _READ_BYTES, self._offset)
            finally:
                os.close(fd)
        except OSError:
            return b""
        # A line as long as all that was read is no mark: it counts as one that is none.
        end = len(data) if len(data) == _READ_BYTES and b"\n" not in data else data.rfind(b"\n") + 1
        self._offset += end
        return data[:end]


def read_marks(folder: Path, from_offset: int = 0) -> list[Mark]:
    """All marks of a session; with ``from_offset``, those from that byte on."""
    return MarksReader(folder, from_offset).poll()
