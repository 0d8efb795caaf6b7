"""What an event may say: bounds for its numbers, and text that is safe to print.

A FIFO can be written by any program of the same user, and more than half of all randomly
changed messages still decode. So what decodes is checked here, once, before it is recorded:
everybody behind the log may rely on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_args, get_type_hints

import msgspec

from mgtop.session.secrets import mask, mask_text
from mgtop.wire.records import (
    FIRST_FREE_NAME,
    ROUTES,
    Action,
    AnyEvent,
    Compile,
    Event,
    Failure,
    FrameEmit,
    GarbageCollection,
    Hello,
    Mark,
    Name,
    Notice,
    RequestReceived,
    SegmentMap,
    Sink,
    Span,
    TorchAllocator,
    Wait,
)

_SIGNED = (1 << 63) - 1
_EXACT = 1 << 53
"""Numbers up to here survive in every JSON reader."""
_DEFAULT = (0, 1 << 62)
_BYTES = (0, 1 << 50)

_BOUNDS: dict[str, tuple[int, int]] = {
    "t_ns": (1, _SIGNED),
    "seq": (0, _SIGNED),
    "proc": (1, _SIGNED),
    "tid": (0, 1 << 32),
    "request": (0, _EXACT),
    "emit": (0, _EXACT),
    "index": (-1, _EXACT),
    "frames": (0, _EXACT),
    "count": (1, 1_000_000),
    "depth": (0, _EXACT),
    "capacity": (0, _EXACT),
    "dropped": (0, _EXACT),
    "delivered": (0, _EXACT),
    "duplicated": (0, _EXACT),
    "name": (0, 0xFFFF),
    "id": (FIRST_FREE_NAME, 0xFFFF),
    "route": (0, len(ROUTES) - 1),
    "rank": (-1, 1 << 31),
    "device": (-1, 4096),
    "generation": (0, 16),
}
_EXCEPTIONS: dict[tuple[type[Event], str], tuple[int, int]] = {(FrameEmit, "index"): (0, _EXACT)}

_TIMED = (Span, Wait, GarbageCollection, Compile, SegmentMap)
_WORDY = (
    Hello,
    Name,
    RequestReceived,
    Mark,
    Failure,
    TorchAllocator,
    SegmentMap,
    Compile,
    Notice,
    Action,
    Sink,
)

_LONGEST_TEXT = 2000
_MOST_PARAMS = 200
_DEEPEST = 3
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def _bounds_of(kind: type[Event]) -> list[tuple[str, int, int]]:
    """Name and bounds of every field of ``kind`` that holds an integer."""
    bounds = []
    for name, hint in get_type_hints(kind).items():
        if hint is int or (int in get_args(hint) and bool not in get_args(hint)):
            usual = _BYTES if name.endswith("_bytes") else _BOUNDS.get(name, _DEFAULT)
            bounds.append((name, *_EXCEPTIONS.get((kind, name), usual)))
    return bounds


def _checker(kind: type[Event]) -> Callable[[AnyEvent], bool]:
    bounds = _bounds_of(kind)
    values = attrgetter(*(name for name, _, _ in bounds))
    limits = tuple((low, high) for _, low, high in bounds)

    def plausible(event: AnyEvent) -> bool:
        for value, (low, high) in zip(values(event), limits, strict=True):
            if value is not None and not low <= value <= high:
                return False
        return True

    if kind not in _TIMED:
        return plausible

    def plausible_with_duration(event: Any) -> bool:
        return plausible(event) and event.duration_ns <= event.t_ns

    return plausible_with_duration


PLAUSIBLE: dict[type[Event], Callable[[AnyEvent], bool]] = {
    kind: _checker(kind) for kind in get_args(AnyEvent)
}
"""For each kind of event, whether its numbers can be true."""


def printable(event: AnyEvent) -> AnyEvent:
    """The event with its texts made safe to keep and to print.

    No control or direction characters, and no secrets: what a program tells of a request is
    kept in the log.

    Parameters of a request are brought down to plain data (numbers, texts, flat lists).
    """
    if not isinstance(event, _WORDY):
        return event
    changes: dict[str, Any] = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if isinstance(value, str):
            cleaned: Any = mask_text(clean(value))
        elif isinstance(value, dict):
            cleaned = mask(clean_params(value))
        else:
            continue
        if cleaned != value:
            changes[name] = cleaned
    return msgspec.structs.replace(event, **changes) if changes else event


def clean(text: str) -> str:
    """``text`` with control characters replaced, cut to 2,000 characters; line ends stay."""
    if len(text) > _LONGEST_TEXT:
        text = text[:_LONGEST_TEXT] + "…"
    return text if text.isprintable() else _UNPRINTABLE.sub("�", text)


def clean_params(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters as plain data that every writer can write; at most 200 of them."""
    kept = list(params.items())[:_MOST_PARAMS]
    return {clean(key): _plain(value, 0) for key, value in kept}


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if -_SIGNED <= value <= _SIGNED else str(value)
    if isinstance(value, str):
        return clean(value)
    if depth < _DEEPEST and isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value[:_MOST_PARAMS]]
    if depth < _DEEPEST and isinstance(value, dict):
        kept = list(value.items())[:_MOST_PARAMS]
        return {clean(str(key)): _plain(item, depth + 1) for key, item in kept}
    return f"({type(value).__name__})"
