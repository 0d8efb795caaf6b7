"""How records lie in the log file: chunks that can be found again after damage.

A chunk is ``MAGIC`` (4 bytes), the payload's length (``u32``), its CRC-32 (``u32``), both
big endian, and the payload: a msgpack array of records, mostly in column form
(:mod:`mgtop.session.columns`, docs/session-log.md).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import msgspec

from mgtop.session.columns import LIVE, squeeze
from mgtop.wire.records import Record
from mgtop.wire.text import printable

MAGIC = b"\xc1LOG"
"""Byte 0xc1 begins nothing in msgpack and occurs in no UTF-8 text; in numbers it may."""
HEADER = struct.Struct(">4sII")
MAX_PAYLOAD = 16 << 20

_MOST_IN_VAIN = 64 << 20
"""Bytes checked in vain per call, before a call ends: a hostile log must not freeze a screen."""

_encoder = msgspec.msgpack.Encoder()


class RecordTooLarge(Exception):
    """One record alone is larger than a chunk may be."""


def pack(records: Sequence[Record], level: int = LIVE) -> list[bytes]:
    """These records as chunks: one, unless it would be larger than a reader accepts.

    Raises:
        RecordTooLarge: a single record is.
    """
    try:
        payload = _encoder.encode(records)
    except UnicodeEncodeError:  # a file name or an argument that is not UTF-8
        payload = _encoder.encode(printable(msgspec.to_builtins(records)))
    if len(payload) <= MAX_PAYLOAD:
        return [chunk_of(squeeze(payload, level))]
    if len(records) == 1:
        raise RecordTooLarge(f"a {type(records[0]).__name__} of {len(payload) >> 20} MiB")
    half = len(records) // 2
    return pack(records[:half], level) + pack(records[half:], level)


def chunk_of(payload: bytes | memoryview) -> bytes:
    """A payload as a chunk."""
    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


class Cut(msgspec.Struct, frozen=True):
    """What :meth:`Cutter.cut` found in some bytes of a log."""

    payloads: list[memoryview]
    consumed: int
    """Bytes done with; the rest may be the beginning of a chunk that is still being written."""
    wanted: int
    """Bytes from ``consumed`` on that the chunk there would have; 0 where there is none."""
    finished: bool
    """False: there is more to find in the same bytes, from ``consumed`` on."""


class Cutter:
    """Finds whole chunks; ``damaged`` counts each uninterrupted run of other bytes once."""

    def __init__(self) -> None:
        self.damaged = 0
        self._in_damage = False

    def cut(self, data: bytes) -> Cut:
        """Cut the whole chunks out of the log's bytes from some place on."""
        view = memoryview(data)
        payloads: list[memoryview] = []
        at = wanted = in_vain = 0
        while len(data) - at >= HEADER.size and in_vain <= _MOST_IN_VAIN:
            magic, length, crc = HEADER.unpack_from(data, at)
            end = at + HEADER.size + length
            if magic == MAGIC and length <= MAX_PAYLOAD:
                if end > len(data):
                    # Being written, or a false length: a whole chunk further on tells.
                    further = whole_chunk(data, at + 1)
                    if further < 0:
                        wanted = end - at
                        break
                    self._damage()
                    at = further
                    continue
                payload = view[at + HEADER.size : end]
                if zlib.crc32(payload) == crc:
                    payloads.append(payload)
                    self._in_damage = False
                    at = end
                    continue
                in_vain += length
            self._damage()
            found = data.find(MAGIC, at + 1)
            at = found if found >= 0 else max(at + 1, len(data) - len(MAGIC) + 1)
        return Cut(payloads, at, wanted, finished=in_vain <= _MOST_IN_VAIN)

    def lost(self) -> None:
        """Count that something was lost between the bytes of two calls."""
        self.damaged += 1
        self._in_damage = True

    def _damage(self) -> None:
        if not self._in_damage:
            self._in_damage = True
            self.damaged += 1


def whole_chunk(data: bytes, at: int = 0) -> int:
    """Where the next whole chunk begins, from ``at`` on; −1 where none is found."""
    view = memoryview(data)
    in_vain = 0
    while in_vain <= _MOST_IN_VAIN:
        at = data.find(MAGIC, at)
        if at < 0 or len(data) - at < HEADER.size:
            return -1
        _, length, crc = HEADER.unpack_from(data, at)
        end = at + HEADER.size + length
        if length <= MAX_PAYLOAD and end <= len(data):
            if zlib.crc32(view[at + HEADER.size : end]) == crc:
                return at
            in_vain += length
        at += 1
    return -1
