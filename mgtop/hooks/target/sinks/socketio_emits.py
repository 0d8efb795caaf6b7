"""Socket.IO: events that carry a picture, of Flask-SocketIO and of python-socketio's servers.

An event counts where its payload is or holds a picture (bytes, or base64 text), or where its name
speaks of frames and it is not small.
"""

from __future__ import annotations

import re

from ..wrapping import wrap
from .counting import Output, Outputs, argument, enter, failed, leave
from .pictures import LEAST_TEXT, holds_picture, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = re.compile(r"frame|image|img|video|picture|jpe?g|png", re.IGNORECASE)
_servers = Outputs()


def install_flask(module: Any) -> None:
    """``flask_socketio``."""
    wrap(module.SocketIO, "emit", _before, _after, failed)


def install_server(module: Any) -> None:
    """``socketio.server`` or ``socketio.async_server``."""
    for name in ("Server", "AsyncServer"):
        server = getattr(module, name, None)
        if server is not None and "emit" in server.__dict__:
            wrap(server, "emit", _before, _after, failed)


def _before(args: Any, kwargs: Any) -> Any:
    event = argument(args, kwargs, 1, "event", "")
    payload = args[2:] if len(args) > 2 else kwargs.get("data")
    named = _NAMES.search(str(event)) is not None and weight(payload) >= LEAST_TEXT
    if not named and not holds_picture(payload):
        return None
    return enter(_servers.get(args[0], _output), "write")


def _output(server: Any) -> Output:
    flask = type(server).__module__.startswith("flask_socketio")
    return Output("Flask-SocketIO" if flask else "python-socketio")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 1)
