"""PyAV: one frame for each ``VideoStream.encode(frame)``; flushing (``encode()``) is none.

Packets are not counted, since encoders hold frames back. Of many releases the classes are
immutable to Python. A stand-in for the container would reach PyAV's own compiled code, which
refuses it (``packet.stream = stream``), so the method is replaced in the class itself.
"""

from __future__ import annotations

import gc

from ..wrapping import wrap
from .counting import Output, Outputs, enter, failed, leave, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "PyAV"
_outputs = Outputs()


def install_stream(module: Any) -> None:
    """``av.video.stream``."""
    for owner in module.VideoStream.__mro__:
        if "encode" in owner.__dict__:
            _wrap(owner, "encode", _before, _after)
            return


def install_container(module: Any) -> None:
    """``av.container.output``: where packets are written, and where streams end."""
    container = module.OutputContainer
    _wrap(container, "mux", _before_mux, _after_mux)
    _wrap(container, "close", _streams, _closed)


def _wrap(owner: Any, attribute: str, before: Any, after: Any) -> None:
    try:
        wrap(owner, attribute, before, after, failed)
    except Exception:
        place: Any = type(owner.__name__, (), {attribute: owner.__dict__[attribute]})
        wrap(place, attribute, before, after, failed)
        _put(owner, attribute, place.__dict__[attribute])


def _put(owner: Any, attribute: str, value: Any) -> None:
    """Set an attribute of an immutable class, as ``setattr`` would if it were allowed."""
    import ctypes

    names = [found for found in gc.get_referents(owner.__dict__) if type(found) is dict]
    if len(names) != 1 or names[0].get(attribute) is not owner.__dict__[attribute]:
        raise TypeError("%s cannot be seen to in this Python" % owner.__name__)
    names[0][attribute] = value
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))


def _before(args: Any, kwargs: Any) -> Any:
    stream = args[0]
    frame = args[1] if len(args) > 1 else kwargs.get("frame")
    if getattr(stream, "type", "video") != "video":
        return None
    if frame is None:
        return enter(None, "encode")
    output = _outputs.find(stream)
    if output is None or not stream.codec_context.is_open:
        # Streams cannot say when they go: another one may have got the place of an earlier one.
        rate = getattr(stream, "average_rate", None) or getattr(stream, "base_rate", None)
        params = size_and_rate(getattr(frame, "width", None), getattr(frame, "height", None), rate)
        output = _outputs.add(stream, Output(NAME, params))
    return enter(output, "encode")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 0 if call is None or call.output is None else 1)


def _before_mux(args: Any, kwargs: Any) -> Any:
    return enter(None, "write")


def _after_mux(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call)


def _streams(args: Any, kwargs: Any) -> Any:
    call = enter(None, "write")
    if call is not None:
        call.owners = list(args[0].streams.video)
    return call


def _closed(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call)
    for stream in call.owners if call is not None else ():
        _outputs.end(stream)
