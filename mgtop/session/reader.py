"""Reading the log while it grows, and after damage."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from mgtop.session.chunks import HEADER, MAGIC, MAX_PAYLOAD
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import AnyRecord

READ_BYTES = 4 << 20

_records = msgspec.msgpack.Decoder(list[AnyRecord])
_raw = msgspec.msgpack.Decoder(list[msgspec.Raw])
_record = msgspec.msgpack.Decoder(AnyRecord)


class LogReader:
    """Gives the records of a log in order, each once.

    Args:
        folder: the session's.
        most_bytes: how much one :meth:`poll` reads, so that opening a long log stays responsive.
        from_end: begin that many bytes before the end (in the middle of a chunk, as may be).

    Attributes:
        malformed_chunks: damaged places skipped so far.
        unknown_records: records of a newer version skipped so far.
        at_end: the last poll came to the end of what was written.
    """

    def __init__(
        self, folder: Path, most_bytes: int = READ_BYTES, from_end: int | None = None
    ) -> None:
        self.path = folder / LOG_NAME
        self.malformed_chunks = 0
        self.unknown_records = 0
        self.at_end = False
        self._most_bytes = most_bytes
        self._offset = 0
        if from_end is not None:
            with contextlib.suppress(OSError):
                self._offset = max(0, self.path.stat().st_size - from_end)
        self._rest = b""

    def poll(self) -> list[AnyRecord]:
        """The complete records since the last time; of a long log, some at a time."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(self._most_bytes)
        except FileNotFoundError:
            self.at_end = True
            return []
        self.at_end = len(data) < self._most_bytes
        self._offset += len(data)
        self._rest += data
        return self._take()

    def _take(self) -> list[AnyRecord]:
        records: list[AnyRecord] = []
        data, at = self._rest, 0
        while len(data) - at >= HEADER.size:
            magic, length, crc = HEADER.unpack_from(data, at)
            end = at + HEADER.size + length
            if magic == MAGIC and length <= MAX_PAYLOAD and end > len(data):
                if data.find(MAGIC, at + 4) < 0:
                    break  # still being written
                magic = b""
            payload = data[at + HEADER.size : end]
            if magic != MAGIC or length > MAX_PAYLOAD or zlib.crc32(payload) != crc:
                self.malformed_chunks += 1
                found = data.find(MAGIC, at + 1)
                at = found if found >= 0 else max(at, len(data) - len(MAGIC) + 1)
                continue
            records += self._decode(payload)
            at = end
        self._rest = data[at:]
        return records

    def _decode(self, payload: bytes) -> list[AnyRecord]:
        try:
            return _records.decode(payload)
        except msgspec.MsgspecError:
            pass
        known: list[AnyRecord] = []
        try:
            items = _raw.decode(payload)
        except msgspec.MsgspecError:
            self.malformed_chunks += 1
            return known
        for item in items:
            try:
                known.append(_record.decode(item))
            except msgspec.MsgspecError:
                self.unknown_records += 1
        return known


def read_all(folder: Path) -> Iterator[AnyRecord]:
    """All records of a log."""
    reader = LogReader(folder)
    while records := reader.poll():
        yield from records
