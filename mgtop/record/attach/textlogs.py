"""The text logs of a running program: its output where that is a file, or a file that is named."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgtop.record.attach.process import Process
from mgtop.record.output import OutputTail, log_state
from mgtop.record.textlog import TextLog
from mgtop.wire.records import Record, SourceState

_MOST_LOGS = 16
_LOG = re.compile(r"log[^/]*$|\.(?:txt|out|err|jsonl)$", re.IGNORECASE)


@dataclass(frozen=True)
class Where:
    """Where a stream of the program goes. ``path``: a file that can be read; None: it cannot."""

    path: Path | None
    name: str
    """What to call it: the file's own name, or "a terminal", "a pipe", …"""


def output_of(process: Process) -> list[Where]:
    """Where its standard output and error go, each file once."""
    found: list[Where] = []
    known: set[tuple[int, int]] = set()
    for number in (1, 2):
        where, identity = _stream(process.pid, number)
        if identity is None or identity not in known:
            found.append(where)
        if identity is not None:
            known.add(identity)
    files = [where for where in found if where.path is not None]
    return files or found[:1]


def _stream(pid: int, number: int) -> tuple[Where, tuple[int, int] | None]:
    path = Path(f"/proc/{pid}/fd/{number}")
    try:
        name = os.readlink(path)
        status = os.stat(path)
    except OSError:
        return Where(None, "nowhere (closed)"), None
    identity = (status.st_dev, status.st_ino)
    if stat.S_ISREG(status.st_mode):
        return Where(path, name.removesuffix(" (deleted)")), identity
    for test, kind in (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a terminal" if name.startswith(("/dev/pts", "/dev/tty")) else name),
    ):
        if test(status.st_mode):
            return Where(None, kind), identity
    return Where(None, name), identity


def logs_of(process: Process) -> list[Where]:
    """Other files that it has open for writing and that look like logs, by their names."""
    found: dict[tuple[int, int], Where] = {}
    try:
        numbers = sorted(map(int, os.listdir(f"/proc/{process.pid}/fd")))
    except OSError:
        return []
    for number in numbers:
        if number > 2 and len(found) < _MOST_LOGS and _is_written(process.pid, number):
            where, identity = _stream(process.pid, number)
            if where.path is not None and identity is not None and _LOG.search(where.name):
                found.setdefault(identity, where)
    streams = {_stream(process.pid, number)[1] for number in (1, 2)}
    return [where for identity, where in found.items() if identity not in streams]


def _is_written(pid: int, number: int) -> bool:
    try:
        lines = Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines()
    except OSError:
        return False
    flags = next((int(line.split()[1], 8) for line in lines if line.startswith("flags:")), 0)
    return flags & os.O_ACCMODE != os.O_RDONLY


class TextLogs:
    """Follows them from their ends; what :class:`mgtop.record.recorder.Recorder` takes.

    Args:
        paths: the files.
        others: files of which one is followed, too, if lines of it tell of frames, and none of
            ``paths`` do: what goes into both would count twice.
        parser: makes a parser for lines of frames, or None where they are not wanted.
        superseded: whether frames are told by a better source: then their lines are passed by.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        parser: Callable[[], TextLog | None],
        superseded: Callable[[], bool],
        others: Sequence[Path] = (),
    ) -> None:
        self._superseded = superseded
        self._parser = parser
        self._logs: list[TextLog | None] = []
        self._tails: list[OutputTail] = []
        self.known = sum(self._follow(path) for path in paths)
        """Lines about frames that were there already."""
        self.other: Path | None = None
        """Which of ``others`` is followed."""
        for path in others:
            if self.known:
                break
            self.known = self._follow(path)
            if self.known:
                self.other = path
            else:
                self._logs.pop()
                self._tails.pop().close()

    def _follow(self, path: Path) -> int:
        log = self._parser()
        tail = OutputTail(path, frames=log, lengths=False)
        self._logs.append(log)
        self._tails.append(tail)
        return tail.begin_at_end()

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the last request that the existing text speaks of."""
        found = (log.params for log in self._logs if log is not None)
        return next((params for params in found if params), {})

    @property
    def skipped_bytes(self) -> int:
        """What was not looked at, since it came faster than it could be read."""
        return sum(tail.skipped_bytes for tail in self._tails)

    def poll(self, now_ns: int, *, final: bool = False) -> list[Record]:
        """What their new lines tell."""
        frames = not self._superseded()
        return [
            record
            for tail in self._tails
            for record in tail.poll(now_ns, final=final, frames=frames)
        ]

    def states(self, now_ns: int) -> list[SourceState]:
        """The logs as a source, once they have told of frames."""
        told = self.known or any(tail.events for tail in self._tails)
        return [log_state(now_ns)] if told and not self._superseded() else []

    def close(self) -> None:
        """Close them."""
        for tail in self._tails:
            tail.close()
