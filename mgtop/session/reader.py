"""Reading the log while it grows, and after damage."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mgtop.session.chunks import HEADER, MAX_PAYLOAD, Cutter
from mgtop.session.columns import NoColumns, is_squeezed, unfold
from mgtop.session.joints import Joints
from mgtop.session.log_open import OpenLog, open_at, open_before_end, open_first, open_next
from mgtop.session.seek import place_of
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import AnyRecord

READ_BYTES = 4 << 20
MOST_RECORDS = 20_000
"""About so many come of one poll: what a byte of the log holds differs by a factor of ten."""

_FIRST_BYTES = 64 << 10
_SOUGHT_BYTES = 16 << 10

_UNDECODABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
_records = msgspec.msgpack.Decoder(list[AnyRecord])
_raw = msgspec.msgpack.Decoder(list[msgspec.Raw])
_record = msgspec.msgpack.Decoder(AnyRecord)


class LogReader:
    """Gives the records of a log in order, each once; never raises, whatever is in its files.

    A log that is not there yet, or cannot be opened, has no records (``error`` says why).
    A chunk that is not complete yet is waited for, and is damage only once a whole one stands
    after it, or another file. Where a file is missing, was dropped, or has lost its end, a
    :class:`LogGap` comes in its place, then what was recorded before and the next one cannot be
    understood without.

    Args:
        folder: the session's.
        most_bytes: how much one :meth:`poll` reads (more only for a chunk that is larger), so
            that opening a long log stays responsive.
        from_end: begin that many bytes before the end (in the middle of a chunk, as may be).
        only: read that one of the log's files, with what stands at its ends.

    Attributes:
        malformed_chunks: damaged places skipped so far.
        unknown_records: records of a newer version skipped so far.
        at_end: the last poll came to the end of what was written.
        pending_bytes: what stood at the end and was no whole chunk, at the last poll.
        replaced: another log lies there now; of that one nothing is read.
        share_read: how much of the log had been read at the last poll, 0 to 1.
        bytes_read: how much was read so far.
        error: why the log could not be read at the last poll; None: it could.
    """

    def __init__(
        self,
        folder: Path,
        most_bytes: int = READ_BYTES,
        from_end: int | None = None,
        only: Path | None = None,
    ) -> None:
        self.path = folder / LOG_NAME if only is None else only
        self.unknown_records = 0
        self.at_end = False
        self.pending_bytes = 0
        self.replaced = False
        self.error: str | None = None
        self.share_read = 0.0
        self.bytes_read = 0
        self._folder = folder
        self._only = only
        self._most_bytes = max(most_bytes, HEADER.size)
        self._window = self._looked = min(self._most_bytes, _FIRST_BYTES)
        self._offset = 0
        self._file: OpenLog | None = None
        self._joints = Joints()
        self._cutter = Cutter()
        self._undecodable = 0
        if from_end is not None:
            with contextlib.suppress(OSError):
                self._go_to(*open_before_end(folder, from_end))

    @property
    def offset(self) -> int:
        """The first byte of its file that was not read yet; a chunk begins there, or damage."""
        return self._offset

    @property
    def malformed_chunks(self) -> int:
        """Damaged places skipped so far."""
        return self._cutter.damaged + self._undecodable

    def seek(self, t_ns: int) -> None:
        """Go on from that time, or a little before it: no record of it and later is left out.

        Takes some milliseconds, however long the log is. Times are the log's own, nanoseconds of
        ``CLOCK_MONOTONIC``; what arrived more than two seconds late may be left out.
        """
        with contextlib.suppress(OSError):
            file = open_at(self._folder, t_ns)
            self._go_to(file, place_of(file.fd, t_ns))
            self._window = min(self._most_bytes, _SOUGHT_BYTES)

    def poll(self) -> list[AnyRecord]:
        """The complete records since the last time; of a long log, some at a time.

        An empty list does not mean the end: ``at_end`` does.
        """
        records: list[AnyRecord] = []
        for payload in self.poll_payloads():
            records += self.decode(payload)
        if len(records) > MOST_RECORDS:
            self._window = max(HEADER.size, self._looked * MOST_RECORDS // len(records))
        return records

    def poll_payloads(self) -> Sequence[bytes | memoryview]:
        """The same, undecoded: for those who :meth:`decode` by themselves, and not all of it."""
        try:
            self.error = None
            if self.replaced:
                return []
            if self._file is None:
                path, folder = self._only, self._folder
                self._file = open_first(folder) if path is None else OpenLog(path)
            return self._next(self._file)
        except OSError as error:
            self.error = error.strerror
            self.at_end = True
            return []

    def _next(self, file: OpenLog) -> Sequence[bytes | memoryview]:
        while True:
            # Asked first: what was written before another file went on is read below.
            complete = self._only is None and file.is_complete()
            read, ended = self._read_or_pass(file)
            payloads = self._joints.passed(file, read) if self._only is None else read
            following = open_next(file) if ended and complete else None
            if following is None:
                self.at_end = ended
                self.replaced = ended and complete and not file.is_finished
                return payloads
            if self.pending_bytes:
                self._cutter.lost()
            self._joints.left(file)
            file.close()
            self._file, self._offset, self._window = following, 0, self._looked
            file = following
            if payloads:
                self.at_end = False
                return payloads

    def _go_to(self, file: OpenLog, offset: int) -> None:
        self._file, self._offset = file, offset
        self._joints = Joints(file.number - 1, at_begin=offset == 0)

    def _read_or_pass(self, file: OpenLog) -> tuple[list[memoryview], bool]:
        """As :meth:`_read`; a finished file that the disk does not give costs itself alone."""
        try:
            return self._read(file)
        except OSError:
            if not file.is_finished or self._only is not None:
                raise
            self._cutter.lost()
            self.pending_bytes = 0
            return [], True

    def _read(self, file: OpenLog) -> tuple[list[memoryview], bool]:
        """What comes next in a file, and whether that is all that it holds."""
        size = os.fstat(file.fd).st_size
        if size < self._offset:  # somebody cut off what was read already
            self._cutter.lost()
            self._offset = size
        window = self._window
        while True:
            data = os.pread(file.fd, window, self._offset)
            cut = self._cutter.cut(data)
            # Where one chunk is larger than what was read, read all of it.
            if cut.consumed or len(data) < window or cut.wanted <= window:
                break
            window = min(cut.wanted, HEADER.size + MAX_PAYLOAD)
        self._offset += cut.consumed
        self.bytes_read += cut.consumed
        self.pending_bytes = len(data) - cut.consumed
        before, after = file.beside
        whole = before + size + after
        self.share_read = min(1.0, (before + self._offset) / whole) if whole else 1.0
        self._looked = window
        self._window = min(self._most_bytes, 2 * self._window)
        return cut.payloads, len(data) < window and cut.finished

    def decode(self, payload: bytes | memoryview) -> list[AnyRecord]:
        """The records of a payload; what cannot be read of it is counted."""
        try:
            if is_squeezed(payload):
                payload = unfold(payload)
            return _records.decode(payload)
        except NoColumns:
            self._undecodable += 1
            return []
        except _UNDECODABLE:
            pass
        known: list[AnyRecord] = []
        try:
            items = _raw.decode(payload)
        except _UNDECODABLE:
            self._undecodable += 1
            return known
        for item in items:
            try:
                known.append(_record.decode(item))
            except _UNDECODABLE:
                self.unknown_records += 1
        return known


def read_all(folder: Path) -> Iterator[AnyRecord]:
    """All records that a log holds now, some megabytes of it in memory at a time."""
    reader = LogReader(folder)
    while not reader.at_end:
        yield from reader.poll()
