"""OpenCV's ``cv2.VideoWriter``: one frame for each ``write`` that it took.

OpenCV 4 returns None and leaves out, without an error, frames of another size or number of
channels than the writer's. So these are compared with what the writer was opened with.
"""

from __future__ import annotations

from ..wrapping import wrap
from .counting import Output, Outputs, argument, ends, enter, failed, leave, size_and_rate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

NAME = "cv2.VideoWriter"
_outputs = Outputs()


class _Writer(Output):
    """One opened writer, with the shape of frames that it takes."""

    __slots__ = ("channels", "shape")

    def __init__(self, width: Any, height: Any, fps: Any, colour: Optional[bool]) -> None:
        Output.__init__(self, NAME, size_and_rate(width, height, fps))
        known = "width" in self.params and "height" in self.params
        self.shape = (int(height), int(width)) if known else None
        self.channels = None if colour is None else 3 if colour else 1

    def takes(self, frame: Any) -> bool:
        """Whether a frame has the writer's shape, as far as both are known."""
        shape = getattr(frame, "shape", None)
        if shape is None or self.shape is None:
            return True
        if tuple(shape[:2]) != self.shape:
            return False
        channels = 1 if len(shape) == 2 else shape[2]
        return self.channels is None or channels == self.channels


def install(cv2: Any) -> None:
    """See to the class; its objects take no attributes of ours."""
    writer = getattr(cv2, "VideoWriter", None)
    if writer is None:
        return
    wrap(writer, "__init__", None, _opened)
    wrap(writer, "open", None, _opened)
    wrap(writer, "write", _before, _after, failed)
    wrap(writer, "release", None, ends(_outputs))


def _opened(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    # (filename, fourcc, fps, frameSize[, isColor or params]), or with apiPreference after filename
    writer, given = args[0], args[1:]
    _outputs.end(writer)
    if not given and not kwargs:
        return
    if not _is_size(given, 3) and _is_size(given, 4):
        given = (given[0], *given[2:])
    fps = argument(given, kwargs, 2, "fps")
    size = argument(given, kwargs, 3, "frameSize")
    colour: Any = argument(given, kwargs, 4, "isColor", True)
    if "params" in kwargs or not isinstance(colour, (bool, int)):
        colour = None  # in a list of properties: not looked at
    try:
        width, height = size
    except (TypeError, ValueError):
        width = height = None
    _outputs.add(writer, _Writer(width, height, fps, None if colour is None else bool(colour)))


def _is_size(given: Any, place: int) -> bool:
    return len(given) > place and isinstance(given[place], (tuple, list))


def _before(args: Any, kwargs: Any) -> Any:
    writer = args[0]
    output = _outputs.find(writer)
    if output is None:
        output = _outputs.add(writer, _Writer(None, None, None, None))
    return enter(output, "encode")


def _after(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    taken = 0
    if call is not None and result is not False:  # OpenCV 5 says whether it took the frame
        writer = args[0]
        frame = args[1] if len(args) > 1 else kwargs.get("image")
        taken = 1 if result or (call.output.takes(frame) and writer.isOpened()) else 0
    leave(call, taken)
