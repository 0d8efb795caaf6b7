"""imageio: its formats' writers, its writer of animated pictures, and its PyAV plugin.

``Format.Writer.append_data`` is where ``get_writer``, ``mimwrite`` and version 3's ``imwrite``
meet, one call a frame. Pillow's plugin collects pictures and PyAV's writes single frames, each in
a method of its own. Stills are no frames: only writers of several pictures count.
"""

from __future__ import annotations

from ..wrapping import wrap
from .counting import (
    Output,
    Outputs,
    ends,
    enter,
    failed,
    leave,
    length,
    size_and_rate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Tuple

ANIMATED = (".gif", ".webp", ".apng", ".avif", ".mng")
_writers = Outputs()
_pillow = Outputs()
_pyav = Outputs()


def install_formats(module: Any) -> None:
    """``imageio.core.format``."""
    writer = module.Format.Writer
    wrap(writer, "append_data", _before_append, _after_one, failed)
    wrap(writer, "close", None, ends(_writers))


def install_pillow(module: Any) -> None:
    """``imageio.plugins.pillow``."""
    wrap(module.PillowPlugin, "write", _before_pillow, _after_pillow, failed)
    wrap(module.PillowPlugin, "close", None, ends(_pillow))


def install_pyav(module: Any) -> None:
    """``imageio.plugins.pyav``."""
    wrap(module.PyAVPlugin, "write_frame", _before_pyav, _after_one, failed)
    wrap(module.PyAVPlugin, "close", None, ends(_pyav))


def _after_one(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    leave(call, 1)


def _size(picture: Any) -> Tuple[Any, Any]:
    """Width and height of one picture, as far as it has them."""
    shape: Any = getattr(picture, "shape", ())
    return (shape[1], shape[0]) if len(shape) >= 2 else (None, None)


def _before_append(args: Any, kwargs: Any) -> Any:
    writer = args[0]
    output = _writers.find(writer)
    if output is None:
        format_name = str(getattr(writer.format, "name", "?"))
        mode = str(getattr(writer.request, "mode", "")) + "?"
        if format_name.upper() not in ("FFMPEG", "PYAV") and mode[1] != "I":
            return None  # a still
        width, height = _size(args[1] if len(args) > 1 else kwargs.get("im"))
        fps = getattr(writer.request, "kwargs", {}).get("fps")
        params = size_and_rate(width, height, fps)
        output = _writers.add(writer, Output("imageio (%s)" % format_name, params))
    return enter(output, "encode")


def _before_pillow(args: Any, kwargs: Any) -> Any:
    plugin = args[0]
    if str(getattr(plugin.request, "extension", "")).lower() not in ANIMATED:
        return None
    pictures = args[1] if len(args) > 1 else kwargs.get("ndimage")
    output = _pillow.find(plugin)
    if output is None:
        one = pictures[0] if isinstance(pictures, (list, tuple)) and pictures else pictures
        width, height = _size(one)
        params = size_and_rate(width, height, None)
        output = _pillow.add(plugin, Output("imageio (pillow)", params))
    return enter(output, "encode")


def _after_pillow(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    pictures = args[1] if len(args) > 1 else kwargs.get("ndimage")
    leave(call, _pictures_in(pictures, kwargs) if call is not None else 0)


def _pictures_in(pictures: Any, kwargs: Any) -> int:
    """As the plugin itself tells a batch from one picture."""
    if isinstance(pictures, (list, tuple)):
        return len(pictures)
    shape: Any = getattr(pictures, "shape", ())
    batch = kwargs.get("is_batch")
    if batch is None:
        batch = len(shape) > 3 or (len(shape) == 3 and shape[-1] not in (2, 3, 4))
    return (length(pictures) or 0) if batch else 1


def _before_pyav(args: Any, kwargs: Any) -> Any:
    plugin = args[0]
    output = _pyav.find(plugin)
    if output is None:
        width, height = _size(args[1] if len(args) > 1 else kwargs.get("frame"))
        stream = getattr(plugin, "_video_stream", None)
        fps = getattr(stream, "average_rate", None)
        output = _pyav.add(plugin, Output("imageio (pyav)", size_and_rate(width, height, fps)))
    return enter(output, "encode")
