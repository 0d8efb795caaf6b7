"""A file of a log, held open: it can be read to its end whatever becomes of its name."""

from __future__ import annotations

import contextlib
import os
import weakref
from functools import cached_property
from pathlib import Path

from mgtop.session.log_files import finished, numbered
from mgtop.session.log_heads import first_payload, head_of, rows_of
from mgtop.session.seek import first_ns
from mgtop.session.writer import LOG_NAME

_LOOKS = 8
"""So often files may come and go while one looks which there are."""


class OpenLog:
    """One file.

    Args:
        path: the file.
        number: of a finished file; None: it is the one that is written, and says so itself.

    Raises:
        OSError: it cannot be opened.

    Attributes:
        fd: to read it by; closed when nobody has this object any more.
        number: its place in the log, from 1.
        is_finished: nothing more is written to it.
    """

    def __init__(self, path: Path, number: int | None = None) -> None:
        # O_NONBLOCK: a FIFO put there must not hold us up.
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        self.close = weakref.finalize(self, os.close, self.fd)
        self.path = path
        status = os.fstat(self.fd)
        self.inode = (status.st_dev, status.st_ino)
        self.is_finished = number is not None
        self.number = self._own_number() if number is None else number

    @cached_property
    def beside(self) -> tuple[int, int]:
        """Bytes of the files before it and after it, as they were when first asked for."""
        folder = self.path.parent
        sizes = {other: _size(numbered(folder, other)) for other in finished(folder)}
        after = _size(folder / LOG_NAME) if self.is_finished else 0
        after += sum(size for other, size in sizes.items() if other > self.number)
        return sum(size for other, size in sizes.items() if other < self.number), after

    def is_complete(self) -> bool:
        """Whether nothing more is written to it: another one lies in its place.

        Raises:
            OSError: none does.
        """
        if self.is_finished:
            return True
        status = os.stat(self.path)
        return (status.st_dev, status.st_ino) != self.inode

    def begin_ns(self) -> int | None:
        """When it begins; None where nothing in it can be read."""
        payload = first_payload(self.fd)
        rows = [] if payload is None else rows_of(payload)
        return int(rows[0][1]) if rows else first_ns(self.fd)

    def _own_number(self) -> int:
        payload = first_payload(self.fd)
        head = None if payload is None else head_of(rows_of(payload))
        if head is not None:
            return head.number
        if payload is not None:
            return 1
        return max(finished(self.path.parent), default=0) + 1


def open_first(folder: Path) -> OpenLog:
    """The oldest file that is there.

    Raises:
        OSError: none can be opened.
    """
    for _ in range(_LOOKS):
        numbers = finished(folder)
        if not numbers:
            break
        with contextlib.suppress(FileNotFoundError):
            return OpenLog(numbered(folder, numbers[0]), numbers[0])
    return OpenLog(folder / LOG_NAME)


def open_next(file: OpenLog) -> OpenLog | None:
    """The file that goes on from one, or the first one after it; None: there is none yet.

    Raises:
        OSError: it cannot be opened.
    """
    folder = file.path.parent
    for _ in range(_LOOKS):
        later = [number for number in finished(folder) if number > file.number]
        for number in later:  # the first one that can be opened
            with contextlib.suppress(OSError):
                return OpenLog(numbered(folder, number), number)
        if later and finished(folder)[-1:] != later[-1:]:  # they went while we looked
            continue
        newest = OpenLog(folder / LOG_NAME)
        rolled = any(file.number < number < newest.number for number in finished(folder))
        if not rolled:  # while we looked
            return newest if newest.number > file.number else None
        newest.close()
    return None


def open_at(folder: Path, t_ns: int) -> OpenLog:
    """The file that a time lies in.

    Raises:
        OSError: none can be opened.
    """
    numbers = finished(folder)
    first, end = 1, len(numbers)  # files before ``first`` begin by then, those from ``end`` do not
    found: OpenLog | None = None
    newest = OpenLog(folder / LOG_NAME)
    begin = newest.begin_ns()
    if not numbers or (begin is not None and begin <= t_ns):
        return newest
    while first < end:
        middle = (first + end) // 2
        try:
            file = OpenLog(numbered(folder, numbers[middle]), numbers[middle])
        except FileNotFoundError:  # dropped just now, with all before it
            first = middle + 1
            continue
        begin = file.begin_ns()
        if begin is None or begin <= t_ns:
            found, first = file, middle + 1
        else:
            end = middle
    return found or open_first(folder)


def open_before_end(folder: Path, count: int) -> tuple[OpenLog, int]:
    """The file and the place in it that so many bytes of the log stand after.

    Raises:
        OSError: none can be opened.
    """
    file, left = OpenLog(folder / LOG_NAME), count
    numbers = finished(folder)
    while True:
        size = os.fstat(file.fd).st_size
        earlier = [number for number in numbers if number < file.number]
        if size >= left or not earlier:
            return file, max(0, size - left)
        left -= size
        try:
            file = OpenLog(numbered(folder, earlier[-1]), earlier[-1])
        except FileNotFoundError:
            return file, 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
