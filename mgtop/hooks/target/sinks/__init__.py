"""Sinks: the places where a program's frames leave it, found without a line of it changed.

One file per library, loaded when the program imports that library and not before. A library's
file says which of its calls take frames, and how many; :mod:`.counting` does the rest. To add
one, write its file and name it in :data:`FILES`.
"""

from __future__ import annotations

import sys
from importlib import import_module

from ..importing import when_imported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

FILES = (
    ("cv2", "opencv", "install"),
    ("imageio.core.format", "imageio_writers", "install_formats"),
    ("imageio.plugins.pillow", "imageio_writers", "install_pillow"),
    ("imageio.plugins.pyav", "imageio_writers", "install_pyav"),
    ("av.container.output", "pyav", "install_container"),
    ("av.video.stream", "pyav", "install_stream"),
    ("torchvision.io.video", "torchvision_video", "install"),
    ("torchcodec.encoders._video_encoder", "torchcodec_encoder", "install"),
    ("diffusers.utils.export_utils", "diffusers_export", "install"),
    ("diffusers.pipelines.ltx2.export_utils", "diffusers_export", "install_encode_video"),
    ("moviepy.video.io.ffmpeg_writer", "moviepy_writer", "install"),
    ("subprocess", "ffmpeg_pipe", "install"),
    ("asyncio.subprocess", "ffmpeg_pipe", "install_asyncio"),
    ("aiortc.rtcrtpsender", "aiortc_sender", "install"),
    ("websockets.asyncio.connection", "websocket_sends", "install_websockets"),
    ("websockets.sync.connection", "websocket_sends", "install_websockets"),
    ("websockets.legacy.protocol", "websocket_sends", "install_websockets_legacy"),
    ("starlette.websockets", "websocket_sends", "install_starlette"),
    ("flask_socketio", "socketio_emits", "install_flask"),
    ("socketio.server", "socketio_emits", "install_server"),
    ("socketio.async_server", "socketio_emits", "install_server"),
    ("pygame.display", "pygame_display", "install"),
)
"""Module of the library, file of this package, function in it that takes the module."""


def watch(late: bool = False) -> None:
    """Wait for the libraries. Modules that are there already are seen to at once.

    ``late``: the program runs already, so it may have functions of theirs by name.
    """
    for library, file, function in FILES:
        when_imported(library, _Install(file, function, late), again=True)


class _Install:
    """Loads a library's file, and lets it see to the library."""

    __slots__ = ("_file", "_function", "_late")

    def __init__(self, file: str, function: str, late: bool) -> None:
        self._file = file
        self._function = function
        self._late = late

    def __call__(self, module: ModuleType) -> None:
        # The boot loads this package under a name of its own.
        name = "%s.%s" % (__name__, self._file)
        file = sys.modules.get(name) or import_module(name)
        before = dict(vars(module)) if self._late else {}
        getattr(file, self._function)(module)
        for name, value in before.items():
            now = vars(module).get(name)
            if now is not value:
                from ..hooking import rebind

                rebind(value, now, module)
