"""A person's input, where a program takes it in: the keyboard, a window, a viewer's message.

What a program waits for a person is no part of a frame's time; and from the moment the input is
there, the time counts until a frame can show it.
"""

from __future__ import annotations

import builtins
import os
import sys
from stat import S_ISREG
from time import monotonic_ns

from .importing import when_imported
from .wrapping import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

PERSON_NS = 20_000_000
"""A line that was there sooner was not waited for: it comes from another program."""
SAME_NS = 1_000_000
"""So soon after the one before it is the same input, on its way through another layer."""

_last_ns = 0
_NO_INPUT = ("connect", "disconnect")


def watch() -> None:
    """Watch ``input()``, and the libraries that take input, as they are imported."""
    wrap(builtins, "input", _now, _read)
    for library, see_to in _LIBRARIES:
        when_imported(library, see_to)


def told(kind: str) -> None:
    """An input is there, unless it is the one that was told of just now."""
    global _last_ns
    now = monotonic_ns()
    if now - _last_ns >= SAME_NS:
        from . import emitting

        _last_ns = now
        emitting.action(kind)


def _now(args: Any, kwargs: Any) -> int:
    return monotonic_ns()


def _read(begin_ns: int, args: Any, kwargs: Any, result: Any) -> None:
    """``input()`` returned a line: the program had waited for it."""
    if monotonic_ns() - begin_ns >= PERSON_NS and not _is_file(sys.stdin):
        from . import emitting

        emitting.waited(begin_ns)
        told("input")


def _is_file(stream: Any) -> bool:
    """Whether lines come from a file, for which nobody waits."""
    try:
        return S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):
        return False


# ---------------------------------------------------------------------------- windows


def _opencv(module: Any) -> None:
    for name in ("waitKey", "waitKeyEx"):
        if hasattr(module, name):
            wrap(module, name, _now, _key_waited_for)
    if hasattr(module, "pollKey"):
        wrap(module, "pollKey", after=_key_polled)


def _key_waited_for(begin_ns: int, args: Any, kwargs: Any, result: Any) -> None:
    """``waitKey(0)`` waits until there is a key; with a time, it only paces the program."""
    delay = args[0] if args else kwargs.get("delay", 0)
    if delay <= 0:
        from . import emitting

        emitting.waited(begin_ns)
    _key_polled(None, args, kwargs, result)


def _key_polled(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    if result >= 0:
        told("key")


def _pygame(module: Any) -> None:
    pressed = frozenset(
        getattr(module, name)
        for name in ("KEYDOWN", "MOUSEBUTTONDOWN", "JOYBUTTONDOWN", "FINGERDOWN")
        if hasattr(module, name)
    ) or frozenset((768, 1025))  # the numbers of SDL 2, where they stand in another module

    def seen(token: Any, args: Any, kwargs: Any, result: Any) -> None:
        for event in result if isinstance(result, list) else (result,):
            if getattr(event, "type", None) in pressed:
                told("key")
                return

    for name in ("get", "poll", "wait"):
        if hasattr(module, name):
            wrap(module, name, after=seen)


# --------------------------------------------------------------------------- messages


def _message(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    told("message")


def _websockets(module: Any) -> None:
    for name in ("Connection", "WebSocketCommonProtocol"):
        if hasattr(module, name):
            wrap(getattr(module, name), "recv", after=_message)


def _starlette(module: Any) -> None:
    def received(token: Any, args: Any, kwargs: Any, result: Any) -> None:
        if result.get("type") == "websocket.receive":
            told("message")

    wrap(module.WebSocket, "receive", after=received)


def _socketio(module: Any) -> None:
    def triggered(args: Any, kwargs: Any) -> None:
        if len(args) > 1 and args[1] not in _NO_INPUT:
            told("message")

    for name in ("Server", "AsyncServer"):
        if hasattr(module, name):
            wrap(getattr(module, name), "_trigger_event", before=triggered)


def _data_channel(module: Any) -> None:
    def emitted(args: Any, kwargs: Any) -> None:
        if len(args) > 1 and args[1] == "message":
            told("message")

    wrap(module.RTCDataChannel, "emit", before=emitted)


_LIBRARIES: tuple[tuple[str, Callable[[Any], None]], ...] = (
    ("cv2", _opencv),
    ("pygame.event", _pygame),
    ("websockets.asyncio.connection", _websockets),
    ("websockets.sync.connection", _websockets),
    ("websockets.legacy.protocol", _websockets),
    ("starlette.websockets", _starlette),
    ("socketio.server", _socketio),
    ("socketio.async_server", _socketio),
    ("aiortc.rtcdatachannel", _data_channel),
)
