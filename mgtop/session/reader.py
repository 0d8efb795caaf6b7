"""Reading the log while it grows, and after damage."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mgtop.session.chunks import HEADER, MAX_PAYLOAD, Cutter
from mgtop.session.columns import NoColumns, is_squeezed, unfold
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
    """Gives the records of a log in order, each once; never raises, whatever is in the file.

    A log that is not there yet, or cannot be opened, has no records (``error`` says why).
    A chunk that is not complete yet is waited for, and is damage only once a whole one stands
    after it.

    Args:
        folder: the session's.
        most_bytes: how much one :meth:`poll` reads (more only for a chunk that is larger), so
            that opening a long log stays responsive.
        from_end: begin that many bytes before the end (in the middle of a chunk, as may be).
        begin_at: begin at that byte, as told by another reader's ``offset``.

    Attributes:
        malformed_chunks: damaged places skipped so far.
        unknown_records: records of a newer version skipped so far.
        at_end: the last poll came to the end of what was written.
        pending_bytes: what stood at the end and was no whole chunk, at the last poll.
        replaced: another file lies there now; of that one nothing is read.
        share_read: how much of the log had been read at the last poll, 0 to 1.
        error: why the log could not be read at the last poll; None: it could.
    """

    def __init__(
        self,
        folder: Path,
        most_bytes: int = READ_BYTES,
        from_end: int | None = None,
        begin_at: int = 0,
    ) -> None:
        self.path = folder / LOG_NAME
        self.unknown_records = 0
        self.at_end = False
        self.pending_bytes = 0
        self.replaced = False
        self.error: str | None = None
        self.share_read = 0.0
        self._most_bytes = max(most_bytes, HEADER.size)
        self._window = self._looked = min(self._most_bytes, _FIRST_BYTES)
        self._offset = begin_at
        self._file: tuple[int, int] | None = None
        self._cutter = Cutter()
        self._undecodable = 0
        if from_end is not None:
            with contextlib.suppress(OSError):
                self._offset = max(0, self.path.stat().st_size - from_end)

    @property
    def offset(self) -> int:
        """The first byte that was not read yet; a chunk begins there, or damage."""
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
        with contextlib.suppress(OSError), self._opened() as fd:
            self._offset = place_of(fd, t_ns)
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
            with self._opened() as fd:
                self.error = None
                return self._read(fd)
        except OSError as error:
            self.error = error.strerror
            self.at_end = True
            return []

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        # O_NONBLOCK: a FIFO put there must not hold us up.
        fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            yield fd
        finally:
            os.close(fd)

    def _read(self, fd: int) -> Sequence[bytes | memoryview]:
        status = os.fstat(fd)
        file = (status.st_dev, status.st_ino)
        if self._file is None:
            self._file = file
        if self._file != file:
            self.replaced = True
        if self.replaced:
            self.at_end = True
            return []
        if status.st_size < self._offset:  # somebody cut off what was read already
            self._cutter.lost()
            self._offset = status.st_size
        window = self._window
        while True:
            data = os.pread(fd, window, self._offset)
            cut = self._cutter.cut(data)
            # Where one chunk is larger than what was read, read all of it.
            if cut.consumed or len(data) < window or cut.wanted <= window:
                break
            window = min(cut.wanted, HEADER.size + MAX_PAYLOAD)
        self._offset += cut.consumed
        self.pending_bytes = len(data) - cut.consumed
        self.share_read = min(1.0, self._offset / status.st_size) if status.st_size else 1.0
        self.at_end = len(data) < window and cut.finished
        self._looked = window
        self._window = min(self._most_bytes, 2 * self._window)
        return cut.payloads

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
