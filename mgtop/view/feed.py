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
END_NS, END_RECORDS = 60_000_000_000, 10_000
"""That end: at most so long, and about so many records, which take less than a second."""
END_BYTES = 16 << 10
"""What is looked at to tell how many records there are in a second."""
BEGIN_BYTES = 64 << 10
_OF_THE_BEGIN = (SessionStart, TargetStart, GpuDevice, Hello, Name, LogGap)
"""What the end of a log cannot be understood without."""
READ_BYTES = 8 << 10
"""Read of the log at a time; its records wait until there is time for them."""
LOT = 32
"""Records between two looks at the clock: less than a millisecond, some with a late frame."""
NEAR_NS = 1_000_000_000
"""A reader that was at the end so long ago is as good as there."""


class _Reading:
    """A log on its way into a model, a piece at a time.

    Attributes:
        ended: the session's last record was among them.
    """

    def __init__(self, folder: Path, model: Model) -> None:
        self.model = model
        self.reader = LogReader(folder, READ_BYTES)
        self.output = OutputIndex()
        self.ended = False
        self._waiting: list[AnyRecord] = []
        self._next = 0

    @property
    def at_end(self) -> bool:
        """Nothing more is there now."""
        return self.reader.at_end and self._next == len(self._waiting)

    def read(self, until_ns: int) -> int:
        """Go on until this thread has worked so long, or to the end; how many records came."""
        count = 0
        while True:
            if self._next == len(self._waiting):
                self._waiting, self._next = self.reader.poll(), 0
            lot = self._waiting[self._next : self._next + LOT]
            for record in lot:
                self.model.feed(record)
                if type(record) in _OUTPUT:
                    self.output.take(record)
                elif type(record) is SessionEnd:
                    self.ended = True
            self._next += len(lot)
            count += len(lot)
            if self.at_end or time.thread_time_ns() >= until_ns:
                return count


class Feed:
    """Reads what was written since the last time and gives it to the model.

    A long log is begun at its end, so that there is something to see at once; the whole of it is
    read meanwhile into a model of its own, which takes the place of the first when it is there.

    Attributes:
        caught_up: the end of the log was reached by the last :meth:`poll`.
        records: how many of those that are shown were read so far: grows with each change.
    """

    def __init__(self, folder: Path, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.folder = folder
        self.caught_up = False
        self.records = 0
        self._clock = clock
        self._shown = _Reading(folder, Model())
        self._marks = MarksReader(folder)
        self._live = is_live(folder)
        self._live_checked_ns = clock()
        self._caught_up_ns: int | None = None
        self._whole: _Reading | None = None
        if log_bytes(folder) > LONG_BYTES:
            self._begin_at_the_end()

    @property
    def model(self) -> Model:
        """Of all that was read, or of the log's end while :attr:`share_read` is told."""
        return self._shown.model

    @property
    def output(self) -> OutputIndex:
        """When the target's output was written."""
        return self._shown.output

    @property
    def keeps_up(self) -> bool:
        """The end of the log was reached, if not by the last piece, then just before."""
        if self.caught_up or self._caught_up_ns is None:
            return self.caught_up
        return self._clock() - self._caught_up_ns < NEAR_NS

    @property
    def share_read(self) -> float | None:
        """How much of a long log was read, 0 to 1; None: all of it is in the model."""
        return None if self._whole is None else self._whole.reader.share_read

    @property
    def share_shown(self) -> float | None:
        """How much of what is to be shown was read; None: all, and what comes is followed."""
        if self.keeps_up or not log_bytes(self.folder):
            return None
        return self._shown.reader.share_read

    @property
    def damaged(self) -> int:
        """Damaged places of the log and of the marks so far."""
        return self._shown.reader.malformed_chunks + self._marks.malformed

    @property
    def live(self) -> bool:
        """Whether the session is still being recorded."""
        return self._live and not self._shown.ended

    @property
    def recorder_lost(self) -> bool:
        """The recorder is gone without having said that it ends."""
        return not self._live and not self._shown.ended and self.caught_up

    @property
    def folder_gone(self) -> bool:
        """The session's folder was moved or deleted while it was recorded."""
        return self.recorder_lost and not self.folder.exists()

    def poll(self, budget_ns: int = 40_000_000) -> int:
        """Read on, for about ``budget_ns`` of work; return how many records came."""
        until_ns = time.thread_time_ns() + budget_ns
        count = self._shown.read(until_ns)
        self.caught_up = self._shown.at_end
        unseen = 0
        if self.caught_up:
            self._caught_up_ns = self._clock()
            unseen = self._read_whole(until_ns)
        for mark in self._marks.poll():
            self.model.feed(mark)
            count += 1
        self.records += count
        self._check_live()
        return count + unseen

    def now_ns(self) -> int:
        """Now, while it is recorded; else the end of the log."""
        return self._clock() if self.live and self.keeps_up else self.model.about.last_ns

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
        self._whole, self._shown = self._shown, _Reading(self.folder, Model())
        self._shown.reader.seek(self._end_ns())
        begin = LogReader(self.folder, BEGIN_BYTES)
        while not begin.at_end and begin.bytes_read < BEGIN_BYTES:
            for record in begin.poll():
                if isinstance(record, _OF_THE_BEGIN):
                    self.model.feed(record)

    def _end_ns(self) -> int:
        """Where the end of a long log begins."""
        size = END_BYTES
        while True:
            reader = LogReader(self.folder, from_end=size)
            times_ns: list[int] = []
            while not reader.at_end:
                times_ns += [record.t_ns for record in reader.poll()]
            # One chunk may be as long as all that was looked at.
            if len(times_ns) > 1 or self._is_whole(size):
                break
            size *= 8
        if not times_ns:
            return 0
        passed_ns = max(times_ns) - min(times_ns)
        return max(times_ns) - min(END_NS, passed_ns * END_RECORDS // len(times_ns))

    def _read_whole(self, until_ns: int) -> int:
        """Read on from the begin of a long log; once all is read, that is what is shown."""
        whole = self._whole
        if whole is None:
            return 0
        count = whole.read(until_ns)
        if whole.at_end:
            self._shown, self._whole = whole, None
            self.records += 1
            self._marks = MarksReader(self.folder)  # the new model does not know them yet
        return count

    def _check_live(self) -> None:
        now = self._clock()
        if self._shown.ended and self.caught_up:
            self.model.finish()
            return
        if now - self._live_checked_ns >= LIVE_EVERY_NS:
            self._live_checked_ns = now
            was, self._live = self._live, is_live(self.folder)
            if was and not self._live:
                self.caught_up = False  # it may have written its last words just now
        if not self._live and self.caught_up:
            self.model.finish()
