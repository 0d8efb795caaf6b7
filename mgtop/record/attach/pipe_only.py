"""A program of which nothing but its event pipe can be seen: in the container beside this one.

Two containers that share the runtime folder, but neither processes nor files. What the probe
tells is recorded; GPU and host figures are those of the machine, and nothing is known of the
program's own share.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path

from mgtop.record.attach.fifos import Place
from mgtop.record.attach.process import CannotAttach, Process
from mgtop.record.stops import Stops
from mgtop.wire.records import proc_of

_NAME = re.compile(r"(?:run-)?(\d{1,7})\.fifo")
_PATIENCE_NS = 1_000_000_000
"""A program may close all its files and open the pipe again."""


def pipe_at(path: Path) -> Place:
    """The event pipe at a path.

    Raises:
        CannotAttach: there is none, or no program has it open.
    """
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise CannotAttach(f"{path} is no event pipe of a probe; those are called PID.fifo.")
    try:
        if not stat.S_ISFIFO(path.lstat().st_mode):
            raise CannotAttach(f"{path} is no pipe.")
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW))
    except FileNotFoundError:
        raise CannotAttach(f"There is no event pipe {path}.") from None
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise CannotAttach(f"The program that made {path} has ended.") from None
        raise CannotAttach(f"{path} cannot be opened: {error.strerror}.") from None
    return Place(path.absolute(), str(path), None)


def pid_in(path: Path) -> int:
    """The pid in the name of an event pipe, as its program calls itself."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match is not None else 0


class PipeTarget:
    """What :class:`mgtop.record.attach.target.AttachedTarget` is for a process, for a pipe.

    Args:
        place: the pipe.
        has_writer: whether a program has it open.
    """

    def __init__(self, place: Place, has_writer: Callable[[], bool]) -> None:
        self.pid = pid_in(place.path)
        self.proc = proc_of(self.pid, 0)
        self.exited: tuple[int | None, int | None] | None = None
        self.oom_kills: int | None = None  # nor its control group
        self.stops = Stops(self.proc)  # nobody can see them
        self.process = Process(
            pid=self.pid,
            proc=self.proc,
            inner_pid=self.pid,
            inner_proc=self.proc,
            uid=place.path.stat().st_uid,
            inner_uid=place.path.stat().st_uid,
            name="seen by its pipe alone",
            command=(),
        )
        self._path = place.path
        self._has_writer = has_writer
        self._alone_since_ns: int | None = None
        self._asked = False

    def close(self) -> None:
        """Nothing is held."""

    def members(self) -> list[Process]:
        """None of its processes can be seen."""
        return []

    def pids(self) -> list[int]:
        """None of them."""
        return []

    def reap(self) -> None:
        """Notice its end: its probe takes the pipe's name away, or nobody has it open."""
        if self._has_writer() and self._path.exists():
            self._alone_since_ns = None
            return
        now = time.monotonic_ns()
        if self._alone_since_ns is None:
            self._alone_since_ns = now
        elif now - self._alone_since_ns > _PATIENCE_NS:
            self.exited = (None, None)

    @property
    def stopping(self) -> bool:
        """Whether its end was asked for."""
        return self._asked

    def stop(self) -> None:
        """It cannot be reached with a signal: only the recording ends."""
        self._asked = True

    def pursue(self, now_ns: int) -> bool:
        """Nothing can be waited for."""
        del now_ns
        return self._asked
