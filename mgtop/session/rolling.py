"""A log that goes on in a new file from time to time, so that old ones can be made small.

The step from one to the next is made so that a recorder may be killed at any moment of it and a
disk may fill up: ``session.log`` is there at all times, and each record is in one file.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from mgtop.session.carried import Carried
from mgtop.session.chunks import RecordTooLarge, pack
from mgtop.session.log_files import numbered
from mgtop.session.writer import LogWriter, SessionWriteError
from mgtop.wire.records import LogSegmentEnd, Record

AFTER_NS, LEAST_BYTES = 300_000_000_000, 1 << 20
"""A file is as long and as large, before another goes on from it…"""
MOST_BYTES = 16 << 20
"""…or as large, however short."""
AGAIN_NS = 60_000_000_000
"""Where no other file can be begun, it is tried again after so long."""
NEW_NAME = ".session.log.next"


class RollingLog(LogWriter):
    """Appends records to a log of several files.

    Args:
        folder: the session's; it holds no log yet.
        rolled: is called when a file is finished.
        after_ns, least_bytes, most_bytes: when that is, by the times of the records.
    """

    def __init__(
        self,
        folder: Path,
        rolled: Callable[[], None] = lambda: None,
        after_ns: int = AFTER_NS,
        least_bytes: int = LEAST_BYTES,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__(folder)
        self.problem = ""
        """Why no other file could be begun, the last time that was tried."""
        self._folder = folder
        self._rolled = rolled
        self._after_ns, self._least_bytes, self._most_bytes = after_ns, least_bytes, most_bytes
        self._carried = Carried()
        self._number = 1
        self._bytes = 0
        self._began_ns: int | None = None
        self._not_before_ns: int | None = None

    def append(self, records: Sequence[Record]) -> int:
        """Append one chunk, as any log; then go on in another file, where it is time to."""
        size = super().append(records)
        if not records:
            return size
        self._carried.take(records)
        self._bytes += size
        now_ns = records[-1].t_ns
        if self._began_ns is None:
            self._began_ns = now_ns
        old_enough = now_ns - self._began_ns >= self._after_ns and self._bytes >= self._least_bytes
        if old_enough or self._bytes >= self._most_bytes:
            size += self._roll(now_ns)
        return size

    def _roll(self, now_ns: int) -> int:
        """Go on in another file; bytes written for it. Where that fails, this one goes on."""
        if self._not_before_ns is not None and now_ns < self._not_before_ns:
            return 0
        new = self._folder / NEW_NAME
        fd = -1
        try:
            head = self._carried.head(self._number + 1, now_ns, self._began_ns or now_ns)
            (begin,) = pack(head)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC
            fd = os.open(new, flags | os.O_NOFOLLOW, 0o600)
            if os.write(fd, begin) != len(begin):
                raise OSError("no space left")
            os.link(self.path, numbered(self._folder, self._number))
            end = self._end(now_ns, new)
        except (OSError, SessionWriteError, RecordTooLarge, ValueError) as error:
            self.problem = str(error)
            self._not_before_ns = now_ns + AGAIN_NS
            if fd >= 0:
                os.close(fd)
            with contextlib.suppress(OSError):
                os.unlink(new)
            return 0
        old, self._fd = self._fd, fd
        self._number, self._bytes, self._began_ns = self._number + 1, len(begin), now_ns
        with contextlib.suppress(OSError):
            os.close(old)
        self._rolled()
        return end + len(begin)

    def _end(self, now_ns: int, new: Path) -> int:
        """Say in this file that it ends, and put the new one in its place; bytes written."""
        end = 0
        try:
            end = super().append([LogSegmentEnd(t_ns=now_ns)])
            os.replace(new, self.path)
        except (OSError, SessionWriteError):
            os.unlink(numbered(self._folder, self._number))
            self._cut_back(end)
            raise
        return end
