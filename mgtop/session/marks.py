"""Marks that viewers set: one JSON line each, beside the log."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from mgtop.wire.records import Mark

MARKS_NAME = "marks.jsonl"
LONGEST_LINE = 4096
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


class _Line(msgspec.Struct):
    t_ns: int
    text: str


def clean(text: str) -> str:
    """Without control characters and escape codes."""
    return _CONTROL.sub(" ", text).strip()


def append_mark(folder: Path, t_ns: int, text: str) -> Mark:
    """Set a mark at a time of ``CLOCK_MONOTONIC``; one write, so that viewers do not mix.

    Raises:
        OSError: the folder cannot be written.
    """
    text = clean(text)
    line = msgspec.json.encode(_Line(t_ns, text)) + b"\n"
    while len(line) > LONGEST_LINE:
        text = text[: len(text) * 3 // 4]
        line = msgspec.json.encode(_Line(t_ns, text)) + b"\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(folder / MARKS_NAME, flags, 0o600)
    try:
        os.write(fd, line)
    finally:
        os.close(fd)
    return Mark(t_ns=t_ns, seq=0, proc=0, tid=0, text=text)


class MarksReader:
    """Gives the marks of a session, each once; lines that are none are counted."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / MARKS_NAME
        self._offset = 0
        self.malformed = 0

    def poll(self) -> list[Mark]:
        """The marks since the last time."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        marks: list[Mark] = []
        for line in whole.splitlines():
            try:
                item = msgspec.json.decode(line, type=_Line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                self.malformed += 1
                continue
            marks.append(Mark(t_ns=item.t_ns, seq=0, proc=0, tid=0, text=clean(item.text)))
        return marks


def read_marks(folder: Path, from_offset: int = 0) -> list[Mark]:
    """All marks of a session; with ``from_offset``, those from that byte on."""
    reader = MarksReader(folder)
    reader._offset = from_offset  # noqa: SLF001  # the same module's own
    return reader.poll()
