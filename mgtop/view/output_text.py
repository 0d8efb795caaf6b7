"""The target's output as lines, however long the file is; never a raw escape code."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from mgtop.view.figures import clean

BLOCK = 64 << 10
MOST_BLOCKS = 16
"""A line is looked for within so many blocks; a longer one is shown in pieces."""
SHOWN_BYTES = 8 << 10
"""Of one line."""
SEARCH_BYTES = 256 << 10
"""Looked through at a time, so that keys have their turn."""

_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|$)|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]"
)


class Line(NamedTuple):
    """A line: where it begins and ends in the file, and its text as it would be read."""

    begin: int
    end: int
    text: str


def plain(raw: bytes) -> str:
    """What a terminal would show in the end: no escape codes, of progress the last state."""
    text = raw.decode("utf-8", "replace")
    if "\x1b" in text or "\x9b" in text:
        text = _ESCAPE.sub("", text)
    if "\r" in text:
        states = [state for state in text.split("\r") if state.strip()]
        text = states[-1] if states else ""
    if "\b" in text:
        kept: list[str] = []
        for sign in text:
            if sign != "\b":
                kept.append(sign)
            elif kept:
                kept.pop()
        text = "".join(kept)
    return clean(text.replace("\t", "    "))


class OutputText:
    """Reads lines of a file around any place in it. What cannot be read is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def size(self) -> int | None:
        """Bytes; None: there is no such file."""
        try:
            return self.path.stat().st_size
        except OSError:
            return None

    def from_place(self, offset: int, number: int) -> list[Line]:
        """At most ``number`` lines from ``offset`` on, where one begins."""
        lines: list[Line] = []
        data, at = b"", offset
        while len(lines) < number:
            block = self._read(at + len(data), BLOCK)
            if not block and not data:
                break
            data += block
            last = not block
            begin = 0
            while len(lines) < number:
                end = data.find(b"\n", begin)
                whole = end >= 0
                if not whole:
                    if not last and len(data) - begin < MOST_BLOCKS * BLOCK:
                        break
                    end = len(data)
                    if end == begin:
                        break
                shown = plain(data[begin : min(end, begin + SHOWN_BYTES)])
                lines.append(Line(at + begin, at + end + whole, shown))
                begin = end + whole
            if last:
                break
            at, data = at + begin, data[begin:]
        return lines

    def before_place(self, offset: int, number: int) -> list[Line]:
        """At most ``number`` lines that end at ``offset``, where one begins, in their order."""
        begin, breaks = offset, 0
        for _ in range(MOST_BLOCKS):
            first = max(0, begin - BLOCK)
            breaks += self._read(first, begin - first).count(b"\n")
            begin = first
            if breaks > number or begin == 0:
                break
        if begin > 0:
            begin = self.begin_of(begin)
        lines = [line for line in self.from_place(begin, breaks + 2) if line.begin < offset]
        return lines[-number:]

    def begin_of(self, offset: int) -> int:
        """Where the line begins that holds a byte; one that is too long begins at a block."""
        at = offset
        for _ in range(MOST_BLOCKS):
            first = max(0, at - BLOCK)
            found = self._read(first, at - first).rfind(b"\n")
            if found >= 0:
                return first + found + 1
            at = first
            if at == 0:
                break
        return at

    def find(self, text: str, offset: int, forward: bool) -> tuple[int | None, int]:
        """The next line with that text from ``offset`` on, or the last one that ends by it.

        Capitals count if there are any. Returns where it begins, or None, and up to where
        it was looked: at the end (or 0) all was looked through.
        """
        exact = text != text.lower()
        size = self.size() or 0
        if forward:
            begin, end = offset, min(size, offset + SEARCH_BYTES)
            whole = self.begin_of(end) if end < size else end
            until = end = whole if whole > begin else end
        else:
            begin = max(0, offset - SEARCH_BYTES)
            begin, end = (self.begin_of(begin) if begin else 0), offset
            until = begin
        block = _ESCAPE.sub("", self._read(begin, end - begin).decode("utf-8", "replace"))
        if text not in (block if exact else block.lower()):
            return None, until  # most of a long file is passed by so
        lines = self._between(begin, end)
        for line in lines if forward else reversed(lines):
            if text in (line.text if exact else line.text.lower()):
                return line.begin, until
        return None, until

    def _between(self, begin: int, end: int) -> list[Line]:
        lines: list[Line] = []
        while begin < end:
            more = [line for line in self.from_place(begin, 4_096) if line.begin < end]
            if not more:
                break
            lines += more
            begin = more[-1].end
        return lines

    def _read(self, offset: int, size: int) -> bytes:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return b""
        try:
            return os.pread(fd, size, offset)
        except OSError:
            return b""
        finally:
            os.close(fd)
