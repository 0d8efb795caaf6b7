"""A session's log on its way into the model: what is new at each tick."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mgtop.analysis.model import Model
from mgtop.session.lock import is_live
from mgtop.session.log_files import log_bytes
from mgtop.session.marks import MarksReader
from mgtop.session.reader import LogReader
from mgtop.session.seek import LATE_NS
from mgtop.view.output_index import OutputIndex
from mgtop.wire.records import (
    AnyRecord,
    GpuDevice,
    Hello,
    LogGap,
    Name,
    OutputAt,
    OutputLine,
    SessionEnd,
    SessionStart,
    TargetStart,
)

RECENT_NS = 30_000_000_000
RECENT_BYTES, MOST_BYTES = 1 << 20, 64 << 20
"""How much of the log's end is read for :meth:`Feed.recent`: at first, and at most."""
_OUTPUT = (OutputAt, OutputLine)
LIVE_EVERY_NS = 1_000_000_000
LONG_BYTES = 6 << 20
"""A longer log is shown from its end at once; what was before is read while one looks."""
END_BYTES = 384 << 10
"""That end: some minutes, read in less than a second."""
BEGIN_BYTES = 64 << 10
_OF_THE_BEGIN = (SessionStart, TargetStart, GpuDevice, Hello, Name, LogGap)
"""What the end of a log cannot be understood without."""
READ_BYTES = 8 << 10
"""At a time, so that keys have their turn while a long log is read: some 10 ms of work, 45 of a
compacted log."""


class _Whole:
    """All of a log on its way into a model, while a screen shows another one of its end."""

    def __init__(self, folder: Path) -> None:
        self.model = Model()
        self.reader = LogReader(folder, READ_BYTES)
        self.output = OutputIndex()

    def read(self) -> int:
        """A piece more; how many records it held."""
        records = self.reader.poll()
        for record in records:
            self.model.feed(record)
            if type(record) in _OUTPUT:
                self.output.take(record)
        return len(records)


class Feed:
    """Reads what was written since the last time and gives it to the model.

    A long log is begun at its end, so that there is something to see at once; the whole of it is
    read meanwhile into a model of its own, which takes the place of the first when it is there.

    Attributes:
        model: of all that was read, or of the log's end while :attr:`share_read` is told.
        caught_up: the end of the log was reached.
        records: how many were read so far.
        output: when the target's output was written.
    """

    def __init__(self, folder: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.folder = folder
        self.model = Model()
        self.caught_up = False
        self.records = 0
        self.output = OutputIndex()
        self._clock = clock
        self._reader = LogReader(folder, READ_BYTES)
        self._marks = MarksReader(folder)
        self._live = is_live(folder)
        self._live_checked_ns = clock()
        self._ended = False
        self._whole: _Whole | None = None
        if log_bytes(folder) > LONG_BYTES:
            self._begin_at_the_end()

    @property
    def share_read(self) -> float | None:
        """How much of a long log was read, 0 to 1; None: all of it is in the model."""
        if self._whole is None:
            return None
        return self._whole.reader.share_read

    @property
    def damaged(self) -> int:
        """Damaged places of the log and of the marks so far."""
        # The end of a log begins inside a chunk, which is no damage.
        begun_inside = self._whole is not None and self._reader.malformed_chunks > 0
        return self._reader.malformed_chunks - begun_inside + self._marks.malformed

    @property
    def live(self) -> bool:
        """Whether the session is still being recorded."""
        return self._live and not self._ended

    @property
    def recorder_lost(self) -> bool:
        """The recorder is gone without having said that it ends."""
        return not self._live and not self._ended and self.caught_up

    @property
    def folder_gone(self) -> bool:
        """The session's folder was moved or deleted while it was recorded."""
        return self.recorder_lost and not self.folder.exists()

    def poll(self, budget_ns: int = 40_000_000) -> int:
        """Read on, for about ``budget_ns``; return how many records came."""
        began = self._clock()
        count = 0
        self.caught_up = False
        while True:
            records = self._reader.poll()
            for record in records:
                self.model.feed(record)
                if type(record) in _OUTPUT:
                    self.output.take(record)
            if not self._ended:
                self._ended = any(isinstance(record, SessionEnd) for record in records)
            count += len(records)
            if self._reader.at_end:
                self.caught_up = True
                break
            if self._clock() - began > budget_ns:
                break
        count += self._read_whole(began + budget_ns)
        for mark in self._marks.poll():
            self.model.feed(mark)
            count += 1
        self.records += count
        self._check_live()
        return count

    def now_ns(self) -> int:
        """Now, while it is recorded; else the end of the log."""
        return self._clock() if self.live and self.caught_up else self.model.about.last_ns

    def recent(self) -> list[AnyRecord]:
        """The records of the last 30 s, read from the end of the log once more."""
        size = RECENT_BYTES
        while True:
            reader = LogReader(self.folder, from_end=size)
            records: list[AnyRecord] = []
            while not reader.at_end:
                records += reader.poll()
            newest = max((record.t_ns for record in records), default=0)
            recent = [record for record in records if record.t_ns >= newest - RECENT_NS]
            if len(recent) < len(records) or size >= MOST_BYTES or self._is_whole(size):
                return recent
            size *= 4

    def between(self, begin_ns: int, end_ns: int) -> list[AnyRecord]:
        """The records of a piece of time, read from the log once more.

        Events that arrived more than :data:`LATE_NS` after their time are left out.
        """
        reader = LogReader(self.folder, BEGIN_BYTES)
        reader.seek(begin_ns)
        records: list[AnyRecord] = []
        while True:
            read = reader.poll()
            records += [r for r in read if begin_ns <= r.t_ns <= end_ns]
            past = bool(read) and read[-1].t_ns > end_ns + LATE_NS
            if reader.at_end or past or reader.bytes_read > MOST_BYTES:
                return records

    def _is_whole(self, size: int) -> bool:
        """Whether the log is not longer than that."""
        return log_bytes(self.folder) <= size

    def _begin_at_the_end(self) -> None:
        self._whole = _Whole(self.folder)
        begin = LogReader(self.folder, BEGIN_BYTES)
        while not begin.at_end and begin.bytes_read < BEGIN_BYTES:
            for record in begin.poll():
                if isinstance(record, _OF_THE_BEGIN):
                    self.model.feed(record)
        self._reader = LogReader(self.folder, READ_BYTES, from_end=END_BYTES)

    def _read_whole(self, until_ns: int) -> int:
        """Read on from the begin of a long log; once all is read, that is what is shown."""
        whole, count = self._whole, 0
        if whole is None or not self.caught_up:
            return 0
        while True:
            count += whole.read()
            if whole.reader.at_end:
                break
            if self._clock() >= until_ns:
                return count
        self._whole = None
        self.model, self.output = whole.model, whole.output
        self._reader = whole.reader
        self._marks = MarksReader(self.folder)  # the new model does not know them yet
        return count

    def _check_live(self) -> None:
        now = self._clock()
        if self._ended and self.caught_up:
            self.model.finish()
            return
        if now - self._live_checked_ns >= LIVE_EVERY_NS:
            self._live_checked_ns = now
            was, self._live = self._live, is_live(self.folder)
            if was and not self._live:
                self.caught_up = False  # it may have written its last words just now
        if not self._live and self.caught_up:
            self.model.finish()
