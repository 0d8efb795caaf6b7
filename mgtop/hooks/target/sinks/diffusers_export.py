"""diffusers' ``export_to_video``, ``export_to_gif`` and ``encode_video``: clips in one call.

They write through imageio, OpenCV or PyAV, whose calls inside them are silent. A clip that comes
as an iterator does not say how long it is: there the inner calls count.
"""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, argument, enter, failed, leave, length, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


def install(module: Any) -> None:
    """``diffusers.utils.export_utils``, before ``diffusers.utils`` takes the functions."""
    for name, fps_at in (("export_to_video", 2), ("export_to_gif", 2)):
        if hasattr(module, name):
            wrap(module, name, _before(name, fps_at), _after, failed)


def install_encode_video(module: Any) -> None:
    """``diffusers.pipelines.ltx2.export_utils``."""
    if hasattr(module, "encode_video"):
        wrap(module, "encode_video", _before("encode_video", 1), _after, failed)


def _before(name: str, fps_at: int) -> Callable[[Any, Any], Any]:
    def before(args: Any, kwargs: Any) -> Any:
        frames = args[0] if args else next(iter(kwargs.values()), None)
        if length(frames) is None:
            return None
        width, height = _size_of(frames)
        params = size_and_rate(width, height, argument(args, kwargs, fps_at, "fps"))
        return enter(Output("diffusers.%s" % name, params, whole=True), "encode")

    return before


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    if call is not None:
        frames = args[0] if args else next(iter(kwargs.values()), None)
        leave(call, length(frames) or 0)
        call.output.end()


def _size_of(frames: Any) -> Any:
    """Width and height: of an array [frames, height, width, channels], or of its first picture."""
    shape = getattr(frames, "shape", None)
    if shape is not None:
        return (shape[2], shape[1]) if len(shape) == 4 else (None, None)
    first: Optional[Any] = frames[0] if isinstance(frames, (list, tuple)) and frames else None
    shape = getattr(first, "shape", None)
    if shape is not None and len(shape) >= 2:
        return shape[1], shape[0]
    return getattr(first, "size", None) or (None, None)  # a picture of PIL
