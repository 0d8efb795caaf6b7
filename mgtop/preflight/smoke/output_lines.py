"""The program's output, line by line, with what mgtop knows of a line's kind."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mgtop.record.output_lines import plain, recognise

LARGEST_BYTES = 16 << 20
"""Of a longer output the beginning and the end are read, half each."""


class OutputLine(NamedTuple):
    """A line without escapes; ``kind`` as in :mod:`mgtop.record.output_lines`, or None."""

    text: str
    kind: str | None
    number: int


def read_output(path: Path) -> list[OutputLine]:
    """All lines of an output file; what a carriage return rewrote counts as a line, too."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(min(size, LARGEST_BYTES // 2 if size > LARGEST_BYTES else size))
            if size > LARGEST_BYTES:
                file.seek(-(LARGEST_BYTES // 2), 2)
                data += b"\n" + file.read()
    except OSError:
        return []
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        bare = plain(line).rstrip()
        if bare:
            known = recognise(line)
            found.append(OutputLine(bare, known[0] if known else None, number))
    return found
