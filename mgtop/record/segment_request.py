"""Asking the programs of a live session for a map of their allocator's segments.

A question is a file beside the FIFO of their probe; a probe that runs torch on a GPU answers at
its next emit with a file beside it. Nothing is sent to the program, no thread, no signal.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mgtop.probe.outlet import ASK
from mgtop.record.attach.fifos import places
from mgtop.record.attach.process import look
from mgtop.record.tree import descendants
from mgtop.session.lock import is_live, read_owner

MOST_BYTES = 256 << 20
LEFT_BEHIND_S = 120


class CannotAsk(Exception):
    """There is nobody to ask; ``str()`` says why."""


class SegmentRequest:
    """One question to all programs of a session; close it, or use it in a ``with`` statement.

    Args:
        folder: the session's.
        token: names the question: letters, digits and ``-``, 64 at most; the snapshot's name.

    Raises:
        CannotAsk: the session is not live, or none of its programs has a probe.
    """

    def __init__(self, folder: Path, token: str) -> None:
        self.token = token
        owner = read_owner(folder) if is_live(folder) else None
        if owner is None or owner.target_pid is None:
            raise CannotAsk("the session is not live: a segment map is taken in the program itself")
        self._fifos = list(_fifos(owner.target_pid))
        if not self._fifos:
            raise CannotAsk("the program has no probe that could be asked for a segment map")
        self._asked: list[Path] = []
        for fifo in self._fifos:
            _tidy(fifo.parent)
            self._ask(fifo)
        if not self._asked:
            raise CannotAsk("the program's runtime folder cannot be written to")

    def _ask(self, fifo: Path) -> None:
        path = Path(f"{fifo}{ASK}")
        part = Path(f"{path}.{os.getpid()}")
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
            fd = os.open(part, flags, 0o600)
            try:
                os.write(fd, f"{self.token} {time.monotonic_ns()}\n".encode())
                _give_to_owner_of(fifo, fd)
            finally:
                os.close(fd)
            part.rename(path)
            self._asked.append(path)

    def take(self, into: Path) -> list[Path]:
        """Move the answers that have come into a folder, as ``segments-PID.json``."""
        taken = []
        for fifo in self._fifos:
            for answer in sorted(fifo.parent.glob(f"{fifo.name}.map-{self.token}-*.json")):
                pid = answer.name.removesuffix(".json").rpartition("-")[2]
                target = into / f"segments-{pid}.json"
                with contextlib.suppress(OSError):
                    if answer.is_symlink() or answer.stat().st_size > MOST_BYTES:
                        continue
                    target.write_bytes(answer.read_bytes())
                    answer.unlink()
                    taken.append(target)
        return taken

    def close(self) -> None:
        """Take the question back."""
        for path in self._asked:
            with contextlib.suppress(OSError):
                path.unlink()
        self._asked = []

    def __enter__(self) -> SegmentRequest:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _fifos(target_pid: int) -> Iterator[Path]:
    """FIFOs of the target's tree, as they are reached from here; each once."""
    seen: set[tuple[int, int]] = set()
    for pid in descendants([target_pid]):
        process = look(pid)
        if process is None:
            continue
        for place in places(process, look_into=False):
            with contextlib.suppress(OSError):
                found = place.path.stat()
                if place.path.is_fifo() and (found.st_dev, found.st_ino) not in seen:
                    seen.add((found.st_dev, found.st_ino))
                    yield place.path


def _tidy(folder: Path) -> None:
    """Remove questions and answers that somebody left behind."""
    oldest = time.time() - LEFT_BEHIND_S
    for pattern in (f"*.fifo{ASK}*", "*.fifo.map-*.json*"):
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):
                if path.lstat().st_mtime < oldest:
                    path.unlink()


def _give_to_owner_of(fifo: Path, fd: int) -> None:
    """A monitor that runs as root asks a program of somebody else: it must own the question."""
    owner = fifo.stat()
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.fchown(fd, owner.st_uid, owner.st_gid)


def wait_for_segments(folder: Path, token: str, into: Path, seconds: float = 3.0) -> list[Path]:
    """Ask, and wait until an answer has come and no more do; none within the time: empty.

    Raises:
        CannotAsk: there is nobody to ask.
    """
    taken: list[Path] = []
    with SegmentRequest(folder, token) as request:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            new = request.take(into)
            if taken and not new:
                break
            taken += new
            time.sleep(0.3 if taken else 0.05)
    return taken
