"""torchcodec's ``VideoEncoder``: a complete clip, counted where it is written out."""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, Outputs, argument, enter, failed, leave, length, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "torchcodec VideoEncoder"
_encoders = Outputs()


class _Clip(Output):
    """The frames that an encoder was made with, which it writes once or more often."""

    __slots__ = ("count",)

    def __init__(self, frames: Any, fps: Any) -> None:
        shape = tuple(getattr(frames, "shape", ()))
        height, width = shape[-2:] if len(shape) == 4 else (None, None)
        Output.__init__(self, NAME, size_and_rate(width, height, fps), whole=True)
        self.count = length(frames) or 0


def install(module: Any) -> None:
    """``torchcodec.encoders._video_encoder``."""
    encoder = module.VideoEncoder
    wrap(encoder, "__init__", None, _made)
    for method in ("to_file", "to_file_like", "to_tensor"):
        if hasattr(encoder, method):
            wrap(encoder, method, _before, _after, failed)


def _made(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    frames = argument(args, kwargs, 1, "frames")
    _encoders.add(args[0], _Clip(frames, kwargs.get("frame_rate")))


def _before(args: Any, kwargs: Any) -> Any:
    output = _encoders.find(args[0])
    return None if output is None else enter(output, "encode")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    if call is not None:
        leave(call, call.output.count)
        call.output.end()
