"""A text file that grows: its new lines, each with its place in the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 1 << 16
"""Read at most so much of what is new in a poll…"""
FARTHEST_BEHIND = 8 << 20
"""…and give up what lies farther back than this."""
LONGEST_LINE = 1 << 16
_LOOK_AGAIN_NS = 1_000_000_000


class Line(NamedTuple):
    """A line without its end. ``offset``: of its first byte in the file."""

    offset: int
    text: str


class GrowingFile:
    """Follows a file as it is appended to; waits for one that is not there yet.

    A carriage return ends a line as a line feed does: progress bars are rewritten with it.
    Where the file is cut short, or another one takes its name, reading begins anew there.

    Args:
        path: of a regular file; ``/proc/PID/fd/1`` is one too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.length = 0
        """Bytes in the file, as of the last poll."""
        self.skipped_bytes = 0
        """What was not looked at, since it came faster than it could be read."""
        self._file: int | None = None
        self._read = 0
        self._rest = b""
        self._looked_ns = 0

    @property
    def is_open(self) -> bool:
        """Whether the file was there."""
        return self._file is not None

    def poll(self, now_ns: int, *, final: bool = False) -> list[Line]:
        """Lines that are complete by now; with ``final`` also the last one without an end."""
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            self.length = os.fstat(self._file).st_size
            if self.length < self._read:
                self._read, self._rest = 0, b""
        except OSError:
            return []
        lines: list[Line] = []
        if self.length > self._read or (final and self._rest):
            lines = self._take(self._file, final=final)
        elif now_ns - self._looked_ns >= _LOOK_AGAIN_NS:
            self._looked_ns = now_ns
            self._follow_name()
        return lines

    def go_to_end(self, head: int, tail: int) -> tuple[str, str]:
        """Skip what is there by now.

        Returns:
            At most ``head`` bytes of its beginning and ``tail`` bytes of its end, which do not
            overlap; complete lines both, as far as there are any.
        """
        try:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            self.length = os.fstat(self._file).st_size
            last_from = max(0, self.length - tail)
            first = os.pread(self._file, min(head, last_from), 0)
            last = os.pread(self._file, self.length - last_from, last_from)
        except OSError:
            return "", ""
        if last_from:
            last = last.partition(b"\n")[2]
        complete = last.rfind(b"\n") + 1
        self._read = self.length
        self._rest = last[complete:][-LONGEST_LINE:]
        first = first[: first.rfind(b"\n") + 1]
        return first.decode("utf-8", "replace"), last[:complete].decode("utf-8", "replace")

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _take(self, file: int, *, final: bool) -> list[Line]:
        if self.length - self._read > FARTHEST_BEHIND:
            self.skipped_bytes += self.length - MOST_BYTES - self._read
            self._read, self._rest = self.length - MOST_BYTES, b""
        lines: list[Line] = []
        while True:
            data = os.pread(file, MOST_BYTES, self._read)
            begin = self._read - len(self._rest)
            self._read += len(data)
            *complete, self._rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
            if final and self._read >= self.length:
                complete.append(self._rest)  # what a dying program says often lacks its end
                self._rest = b""
            for line in complete:
                if line:
                    lines.append(Line(begin, line.decode("utf-8", "replace")))
                begin += len(line) + 1
            self._rest = self._rest[-LONGEST_LINE:]
            if not final or self._read >= self.length or not data:
                return lines

    def _follow_name(self) -> None:
        """Go over to the file that has the name now (a log that was rotated)."""
        try:
            there, here = os.stat(self.path), os.fstat(self._file or 0)
        except OSError:
            return  # the name is gone: the old file may go on
        if (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino):
            self.close()
            self._read, self._rest = 0, b""
