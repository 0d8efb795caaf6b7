"""MoviePy's ``FFMPEG_VideoWriter``: one frame for each ``write_frame``."""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, Outputs, argument, ends, enter, failed, leave, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "moviepy"
_writers = Outputs()


def install(module: Any) -> None:
    """``moviepy.video.io.ffmpeg_writer``."""
    writer = module.FFMPEG_VideoWriter
    wrap(writer, "__init__", None, _made)
    wrap(writer, "write_frame", _before, _after, failed)
    wrap(writer, "close", None, ends(_writers))


def _made(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    size = argument(args, kwargs, 2, "size") or (None, None)
    fps = argument(args, kwargs, 3, "fps")
    _writers.add(args[0], Output(NAME, size_and_rate(size[0], size[1], fps)))


def _before(args: Any, kwargs: Any) -> Any:
    return enter(_writers.find(args[0]), "write")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 1)
