"""``torchvision.io.write_video``: a complete clip in one call, frames first in its shape."""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, argument, enter, failed, leave, length, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "torchvision.io.write_video"


def install(module: Any) -> None:
    """``torchvision.io.video``, before others take the function out of it."""
    if hasattr(module, "write_video"):
        wrap(module, "write_video", _before, _after, failed)


def _before(args: Any, kwargs: Any) -> Any:
    frames = argument(args, kwargs, 1, "video_array")
    shape = tuple(getattr(frames, "shape", ()))
    height, width = shape[1:3] if len(shape) == 4 else (None, None)
    params = size_and_rate(width, height, argument(args, kwargs, 2, "fps"))
    return enter(Output(NAME, params, whole=True), "encode")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, length(argument(args, kwargs, 1, "video_array")) or 0)
    if call is not None:
        call.output.end()
