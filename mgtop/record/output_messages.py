"""From lines of output to records: messages of several lines are put together, floods cut.

What is out of memory is never cut: it is the root of the errors that follow it, of which
there may be many (a failed step hands on ``None``, and everything behind it fails on that).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from mgtop.record.limits import clean
from mgtop.record.output_file import Line
from mgtop.record.output_lines import LONGEST_TEXT, plain, recognise
from mgtop.session.secrets import mask_text
from mgtop.wire.memory_amounts import amounts_in
from mgtop.wire.records import OutputLine

MOST_LINES = 20
"""Records of a second; a program that prints nothing else says no more."""
MEMORY_KINDS = ("oom", "oom_suspect", "allocator")
_SECOND_NS = 1_000_000_000
_WAIT_NS = 60_000_000
"""A message that may have more lines is held back so long, not longer."""
_MOST_CONTINUED = 12
_PREFIX = r"(?:\[[^\]]{1,40}\](?:<\w+>)?:?\s*|[|│]\s*)*"
_TABLE = re.compile(
    _PREFIX + r"(?:\s*:\s|(?:Currently allocated|Requested|Device limit|Free \(according to \w+\))"
    r"\s*:|PyTorch limit\b)"
)
"""Lines of the message of ``cudaMallocAsync``; launchers put the rank before each."""
_WRAPPED = re.compile(
    r"total capaci?ty|is free|memory in use|(?:already|is) allocated|reserved|unallocated|cached\)"
    r"|private pools|max allowed|\ballowed;|Tried to allocate|^\W*[KMGT]?i?B\b|ALLOC_CONF"
)
"""Lines of one long sentence that a logger or a console has broken to its width."""
_ENDED = re.compile(r"environment-variables\)|ALLOC_CONF|cached\)|system failure\)")
_STATES = re.compile(r"Tried to allocate|MPS allocated|out of memory\.?\s*$")


class Messages:
    """Turns the lines of one file into records; times are those of reading."""

    def __init__(self) -> None:
        self._second = -1
        self._in_second = 0
        self._open: OutputLine | None = None
        self._lines: list[str] = []
        self._goes_on = _TABLE.match

    def take(self, lines: Iterable[Line], now_ns: int, *, final: bool = False) -> list[OutputLine]:
        """The records of the messages that these lines completed."""
        records: list[OutputLine] = []
        for line in lines:
            if self._open is not None and self._continues(line.text):
                continue
            records += self._finish()
            records += self._begin(line, now_ns)
        if self._open is not None and (final or now_ns - self._open.t_ns >= _WAIT_NS):
            records += self._finish()
        return records

    def _begin(self, line: Line, now_ns: int) -> list[OutputLine]:
        found = recognise(line.text)
        if found is None:
            return []
        kind, text = found[0], mask_text(found[1])
        if kind not in MEMORY_KINDS:
            if now_ns // _SECOND_NS != self._second:
                self._second, self._in_second = now_ns // _SECOND_NS, 0
            self._in_second += 1
            if self._in_second > MOST_LINES:
                return []
            amounts = amounts_in(line.text) if "allocat" in line.text else {}
            return [OutputLine(now_ns, line.offset, kind, text, amounts)]
        message = plain(line.text)
        record = OutputLine(
            t_ns=now_ns, offset=line.offset, kind=kind, text=text, amounts=amounts_in(message)
        )
        if "would exceed allowed memory" in message:
            self._goes_on = _TABLE.match
        elif kind == "oom" and _STATES.search(message) and not _ENDED.search(message):
            self._goes_on = _WRAPPED.search
        else:
            return [record]
        self._open, self._lines = record, [message]
        return []

    def _continues(self, line: str) -> bool:
        line = plain(line)
        if len(self._lines) > _MOST_CONTINUED or not self._goes_on(line) or _is_another(line):
            return False
        self._lines.append(line)
        return True

    def _finish(self) -> list[OutputLine]:
        record, self._open = self._open, None
        if record is None:
            return []
        first, *others = self._lines
        message = "\n".join([first, *(re.sub(_PREFIX, "", line, count=1) for line in others)])
        text = mask_text(clean(re.sub(r"\s+", " ", message).strip()[:LONGEST_TEXT]))
        return [
            OutputLine(
                t_ns=record.t_ns,
                offset=record.offset,
                kind=record.kind,
                text=text,
                amounts=amounts_in(re.sub(r"\s*[|│]?\n[|│]?\s*", " ", message)),
            )
        ]


def _is_another(line: str) -> bool:
    """Whether a message of its own begins here."""
    found = recognise(line)
    return found is not None and found[0] in (*MEMORY_KINDS, "error") and "rror" in line


def root_of(lines: Iterable[OutputLine]) -> OutputLine | None:
    """The line that tells why a program failed: not the last traceback, but where it began.

    That is the first about memory running out, else the first that may be, else the first
    error.
    """
    found: dict[str, OutputLine] = {}
    for line in lines:
        found.setdefault(line.kind, line)
    for kind in ("oom", "oom_suspect", "error"):
        if kind in found:
            return found[kind]
    return None
