"""Binary WebSocket messages: of the ``websockets`` library and of Starlette (and so FastAPI).

A message that is a picture is one frame; the time of sending is the client's back-pressure.
Text messages, and pieces of an encoded stream, are not counted.
"""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, Outputs, argument, ends, enter, failed, leave
from .pictures import is_picture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_BINARY = (bytes, bytearray, memoryview)
_connections = Outputs()
_sockets = Outputs()


def install_websockets(module: Any) -> None:
    """``websockets.asyncio.connection`` or ``websockets.sync.connection``."""
    wrap(module.Connection, "send", _before, _after, failed)
    wrap(module.Connection, "close", None, ends(_connections))


def install_websockets_legacy(module: Any) -> None:
    """``websockets.legacy.protocol``, which uvicorn's usual implementation stands on."""
    wrap(module.WebSocketCommonProtocol, "send", _before, _after, failed)
    wrap(module.WebSocketCommonProtocol, "close", None, ends(_connections))


def install_starlette(module: Any) -> None:
    """``starlette.websockets``."""
    wrap(module.WebSocket, "send_bytes", _before_bytes, _after, failed)
    wrap(module.WebSocket, "close", None, ends(_sockets))


def _before(args: Any, kwargs: Any) -> Any:
    message = argument(args, kwargs, 1, "message")
    if kwargs.get("text") or not isinstance(message, _BINARY) or not is_picture(message):
        return None
    return enter(_connections.get(args[0], _WEBSOCKETS), "write")


def _before_bytes(args: Any, kwargs: Any) -> Any:
    data = argument(args, kwargs, 1, "data")
    if not isinstance(data, _BINARY) or not is_picture(data):
        return None
    return enter(_sockets.get(args[0], _STARLETTE), "write")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 1)


def _maker(name: str) -> Callable[[Any], Output]:
    def make(connection: Any) -> Output:
        return Output(name)

    return make


_WEBSOCKETS = _maker("websockets")
_STARLETTE = _maker("starlette WebSocket")
