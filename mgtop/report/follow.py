"""Reading a session into a model, and going on where one left off while it grows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.session.lock import is_live
from mgtop.session.marks import MarksReader
from mgtop.session.reader import LogReader
from mgtop.wire.records import AnyRecord

READ_BYTES = 1 << 20
"""Of the log, at once: tens of thousands of records."""


class Follower:
    """Feeds a model from a session's folder, in the order of the log.

    Args:
        folder: the session's.
        model: what to feed; default: a new one.

    Attributes:
        live: a recorder held the session at the last poll.
        begin_ns: time of the first record; None: none has come.
    """

    def __init__(self, folder: Path, model: Model | None = None) -> None:
        self.folder = folder
        self.model = Model() if model is None else model
        self.live = False
        self.begin_ns: int | None = None
        self._reader = LogReader(folder, most_bytes=READ_BYTES)
        self._marks = MarksReader(folder)
        self._finished = False

    @property
    def at_end(self) -> bool:
        """The last poll came to the end of what was written."""
        return self._reader.at_end

    @property
    def share_read(self) -> float:
        """How much of what is written was read, 0 to 1."""
        return self._reader.share_read

    @property
    def end_ns(self) -> int:
        """The newest time of a record, in ``CLOCK_MONOTONIC``."""
        return self.model.about.last_ns

    @property
    def error(self) -> str | None:
        """Why the log could not be read at the last poll; None: it could."""
        return self._reader.error

    def poll(self) -> list[AnyRecord]:
        """Feed what was written since, some megabytes at most, and give it.

        A session that has ended is judged to its end once all of it is read.
        """
        self.live = is_live(self.folder)  # asked first: what it wrote last is read below
        records = self._reader.poll()
        self.model.feed_all(records)
        if records and self.begin_ns is None:
            self.begin_ns = records[0].t_ns
        if self.at_end:
            for mark in self._marks.poll():
                self.model.feed(mark)
            if not self.live and not self._finished:
                self._finished = True
                self.model.finish()
        return records

    def rest(self) -> Iterator[list[AnyRecord]]:
        """Feed all that is written, and give what each poll read, to the end of it."""
        yield self.poll()
        while not self.at_end:
            yield self.poll()

    def catch_up(self) -> None:
        """Feed all that is written."""
        for _ in self.rest():
            pass

    def summary(self) -> Summary:
        """What the session shows as far as it was read.

        Of one that is still recorded the newest tails are not final yet.
        """
        summary = self.model.summary()
        return msgspec.structs.replace(
            summary,
            session=msgspec.structs.replace(
                summary.session, path=str(self.folder.resolve()), live=self.live
            ),
            losses=msgspec.structs.replace(
                summary.losses,
                log_damaged=self._reader.malformed_chunks,
                records_unknown=self._reader.unknown_records,
            ),
        )
