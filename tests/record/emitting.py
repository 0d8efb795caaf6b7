"""A small emitter of probe events for tests: the wire format by struct, nothing of the probe."""

from __future__ import annotations

import struct

import msgspec

from mgtop.wire.framing import ALIGN, MAGIC
from mgtop.wire.records import Record

ENCODE = msgspec.msgpack.Encoder().encode


def frame(payload: bytes) -> bytes:
    """A payload as it travels: magic, length, payload, padding."""
    message = MAGIC + struct.pack(">H", len(payload)) + payload
    return message + b"\0" * (-len(message) % ALIGN)


def wire(record: Record) -> bytes:
    """An event as it travels."""
    return frame(ENCODE(record))
