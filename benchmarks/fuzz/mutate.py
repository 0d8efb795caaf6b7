"""Turns good bytes into bad ones, quickly and always in the same way for the same seed."""

from __future__ import annotations

import random
from collections.abc import Sequence

NUMBERS = (
    b"\x00", b"\x7f", b"\x80", b"\xff", b"\xc1", b"\xff\xff", b"\x00\x00\x00\x00", b"\xff" * 4,
    b"\xcf" + b"\xff" * 8, b"\xd3\x80" + b"\x00" * 7, b"\xcb\x7f\xf0" + b"\x00" * 6,
    b"\xdd\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff", b"\x91" * 60, b"\xc1mg1", b"\x1b[2J",
    b"\x1b]0;pwned\x07", b"\xe2\x80\xae", b"\n", b"\r", b"\t", b"'", b'"', b"{", b"}", b"[" * 40,
    b"&a *a", b"!!python/object/apply:os.system ['true']", b"%s%n", b"9" * 400, b"1e999", b"NaN",
    b"-1", b"../../etc/passwd", b"<script>", b"\xed\xa0\x80", b"\xf0\x9f\x92\xa9", b"\x00a\x00b",
)  # fmt: skip
"""What parsers stumble over: edges of msgpack, of UTF-8, of YAML, escape codes."""


def mutated(good: bytes, chance: random.Random, others: Sequence[bytes]) -> bytes:
    """One to four changes of ``good``.

    Bits, bytes, slices doubled, lost or taken from ``others``, and things of :data:`NUMBERS`.
    """
    data = bytearray(good)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(8)
        if kind <= 1 and at < len(data):
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 2 and at < len(data):
            data[at] = chance.randrange(256)
        elif kind == 3:
            data[at:at] = chance.choice(NUMBERS)
        elif kind == 4:
            thing = chance.choice(NUMBERS)
            data[at : at + len(thing)] = thing
        elif kind == 5:
            del data[at : at + chance.randrange(1, 40)]
        elif kind == 6:
            data[at:at] = data[at : at + chance.randrange(1, 200)]
        else:
            other = chance.choice(others)
            begin = chance.randrange(len(other) + 1)
            data[at:at] = other[begin : begin + chance.randrange(1, 200)]
    return bytes(data)
