"""Events as hostile programs may send them: every kind, every number at its edges."""

from __future__ import annotations

import random
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from mgtop.wire.framing import ALIGN, HEADER, MAGIC, MAX_MESSAGE
from mgtop.wire.records import AnyEvent

KINDS = get_args(AnyEvent)
EDGES = (0, 1, 2, 3, 7, 24, 255, 65_535, 1 << 20, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1)
TEXTS = ("", "a", "\x1b[31mred\x1b[0m", "\u202etxt", "é" * 300, "\x00", "<script>x</script>", "r1")


def framed(payload: bytes) -> bytes:
    """A message as the probe writes it."""
    body = MAGIC + len(payload).to_bytes(2, "big") + payload
    return body + b"\x00" * (-len(body) % ALIGN)


def message(chance: random.Random, now_ns: int, seq: int) -> bytes:
    """An event that is well formed, of a kind and with values by chance."""
    kind = chance.choice(KINDS)
    info = msgspec.structs.fields(kind)
    values: dict[str, Any] = {field.name: _value(field.type, chance) for field in info}
    if chance.random() < 0.9:  # mostly one that will be taken
        values["t_ns"] = now_ns - chance.randrange(2_000_000)
        values["seq"] = seq
        values["proc"] = chance.choice((5 << 32 | 1, 6 << 32 | 2, 7))
        for name in ("request", "emit", "index", "count"):
            if name in values and chance.random() < 0.8:
                values[name] = seq % 50 if name != "count" else 1
    payload = msgspec.msgpack.encode(kind(**values))
    if len(payload) > MAX_MESSAGE - HEADER:
        payload = payload[:64]
    return framed(payload)


def _value(hint: Any, chance: random.Random) -> Any:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _value(chance.choice(get_args(hint)), chance)
    if hint is int:
        return chance.choice(EDGES) * (1 if chance.random() < 0.95 else -1)
    if hint is float:
        return chance.choice((0.0, 1.5, -1.0, 1e300, float("inf"), float("nan")))
    if hint is bool:
        return chance.random() < 0.5
    if hint is str:
        return chance.choice(TEXTS)
    if origin is dict or hint is dict:
        return {chance.choice(TEXTS): chance.choice((*EDGES[:9], *TEXTS, None, [1, [2, [3]]]))}
    if origin in (list, tuple):
        inner = [one for one in get_args(hint) if one is not Ellipsis] or [int]
        return [_value(inner[0], chance) for _ in range(chance.randrange(4))]
    return None
