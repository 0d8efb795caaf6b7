"""The target's output: how long the file was when, and the lines that tell something."""

from __future__ import annotations

import os
from pathlib import Path

from mgtop.record.output_lines import recognise
from mgtop.wire.records import OutputAt, OutputLine

OUTPUT_FILE = "stdout.log"
LENGTH_PERIOD_NS = 100_000_000
MOST_BYTES = 1 << 16
"""Read at most so much of new output in a poll…"""
FARTHEST_BEHIND = 8 << 20
"""…and give up what lies farther back than this."""
MOST_LINES = 20
"""Recognised lines written in a second; a program that prints nothing else says no more."""
_LONGEST_LINE = 1 << 16


class OutputTail:
    """Follows ``stdout.log`` as it grows."""

    def __init__(self, path: Path) -> None:
        self.skipped_bytes = 0
        """Output that was not looked at, since it came faster than it could be read."""
        self._path = path
        self._file: int | None = None
        self._length = 0
        self._next_length_ns = 0
        self._read = 0
        self._rest = b""
        self._second = 0
        self._lines_in_second = 0

    def poll(self, now_ns: int, *, final: bool = False) -> list[OutputAt | OutputLine]:
        """The new length (at most ten times a second) and the lines understood since."""
        try:
            if self._file is None:
                self._file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            length = os.fstat(self._file).st_size
        except OSError:
            return []
        records: list[OutputAt | OutputLine] = []
        if length > self._read or (final and self._rest):
            records += self._look(self._file, length, now_ns, final=final)
        if length != self._length and (final or now_ns >= self._next_length_ns):
            self._length = length
            self._next_length_ns = now_ns + LENGTH_PERIOD_NS
            records.append(OutputAt(t_ns=now_ns, offset=length))
        return records

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _look(self, file: int, length: int, now_ns: int, *, final: bool) -> list[OutputLine]:
        if length - self._read > FARTHEST_BEHIND:
            self.skipped_bytes += length - MOST_BYTES - self._read
            self._read, self._rest = length - MOST_BYTES, b""
        lines: list[OutputLine] = []
        while True:
            data = os.pread(file, MOST_BYTES, self._read)
            begin = self._read - len(self._rest)
            self._read += len(data)
            *complete, self._rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
            if final and self._read >= length:
                complete.append(self._rest)  # what a dying program says often lacks its end
                self._rest = b""
            for line in complete:
                if line:
                    lines += self._recognised(line, begin, now_ns)
                begin += len(line) + 1
            self._rest = self._rest[-_LONGEST_LINE:]
            if not final or self._read >= length:
                return lines

    def _recognised(self, line: bytes, offset: int, now_ns: int) -> list[OutputLine]:
        found = recognise(line.decode("utf-8", "replace"))
        if found is None:
            return []
        if now_ns // 1_000_000_000 != self._second:
            self._second, self._lines_in_second = now_ns // 1_000_000_000, 0
        self._lines_in_second += 1
        if self._lines_in_second > MOST_LINES:
            return []
        return [OutputLine(t_ns=now_ns, offset=offset, kind=found[0], text=found[1])]
