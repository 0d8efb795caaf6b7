"""How records lie in the log file: chunks that can be found again after damage.

A chunk is ``MAGIC`` (4 bytes), the payload's length (``u32``), its CRC-32 (``u32``), both
big endian, and the payload: a msgpack array of records.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import msgspec

from mgtop.wire.records import Record

MAGIC = b"\xc1LOG"
HEADER = struct.Struct(">4sII")
MAX_PAYLOAD = 64 << 20

_encoder = msgspec.msgpack.Encoder()


def pack(records: Sequence[Record]) -> bytes:
    """One chunk with these records."""
    payload = _encoder.encode(records)
    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload
