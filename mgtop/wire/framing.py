"""How events travel through a FIFO.

A message is ``MAGIC`` (4 bytes), the payload's length (``u16``, big endian), the payload
(one msgpack array, see :mod:`mgtop.wire.records`), and zero padding to a multiple of
:data:`ALIGN` bytes. It is never longer than :data:`MAX_MESSAGE` (``PIPE_BUF``), so that one
``write`` is atomic however many processes share the FIFO. The first magic byte, ``0xc1``, is
never used by msgpack, so a reader that lost its place finds the next message again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mgtop.wire.records import AnyEvent

MAGIC = b"\xc1mg1"
HEADER = len(MAGIC) + 2
ALIGN = 64
MAX_MESSAGE = 4096


class Malformed(Exception):
    """The payload was not an event."""


_decoder = msgspec.msgpack.Decoder(AnyEvent)


def decode_event(payload: bytes | memoryview) -> AnyEvent:
    """Decode one payload.

    Raises:
        Malformed: it is not msgpack, or not an event of this schema.
    """
    try:
        return _decoder.decode(payload)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(str(error)) from None


class Splitter:
    """Cuts a byte stream into payloads; survives garbage and partial reads.

    A whole message is found whatever stands before it, a false beginning that claims its bytes
    included. ``malformed`` counts every uninterrupted run of bytes that belonged to no message,
    and ``skipped_bytes`` their length.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._in_garbage = False
        self.malformed = 0
        self.skipped_bytes = 0

    @property
    def pending_bytes(self) -> int:
        """Bytes kept, since the message that they may begin is not complete."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Add what was read; return the payloads that are complete, in order."""
        buffer = self._buffer
        buffer += data
        payloads: list[bytes] = []
        at, end = 0, len(buffer)
        while end - at >= HEADER:
            if not buffer.startswith(MAGIC, at):
                at = self._resynchronise(at)
                continue
            length = int.from_bytes(buffer[at + 4 : at + 6], "big")
            if not 0 < length <= MAX_MESSAGE - HEADER:
                at = self._resynchronise(at + 1, skipped=1)
                continue
            size = -(-(HEADER + length) // ALIGN) * ALIGN
            holds_another = buffer.find(MAGIC, at + 1, at + size + len(MAGIC) - 1) >= 0
            if end - at < size:
                if not holds_another:
                    break
            else:
                payload = bytes(buffer[at + HEADER : at + HEADER + length])
                doubtful = holds_another or _ends_in_magic(buffer, at + size)
                if not doubtful or _looks_like_an_event(payload):
                    payloads.append(payload)
                    self._in_garbage = False
                    at += size
                    continue
            at = self._resynchronise(at + 1, skipped=1)
        del buffer[:at]
        return payloads

    def _resynchronise(self, at: int, skipped: int = 0) -> int:
        """Skip to the next magic (or to where one may begin); return the new position."""
        found = self._buffer.find(MAGIC, at)
        to = found if found >= 0 else max(at, len(self._buffer) - len(MAGIC) + 1)
        self.skipped_bytes += to - at + skipped
        if not self._in_garbage:
            self._in_garbage = True
            self.malformed += 1
        return to


def _ends_in_magic(buffer: bytearray, end: int) -> bool:
    """Whether a magic may begin just before ``end``, cut off there."""
    return buffer[end - 1] in MAGIC and any(
        buffer.endswith(MAGIC[:cut], end - cut, end) for cut in range(1, len(MAGIC))
    )


def _looks_like_an_event(payload: bytes) -> bool:
    """Of whatever schema: an array of tag, time, sequence, process, thread and more."""
    try:
        fields = msgspec.msgpack.decode(payload, type=list[Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return len(fields) >= 5 and all(type(field) is int for field in fields[:5])
