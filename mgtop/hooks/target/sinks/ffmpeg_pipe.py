"""Raw video piped into ffmpeg: frames are the bytes written, over the bytes of a frame.

``subprocess.Popen`` is looked at; where its command is ffmpeg's and its standard input raw video
of a known size, writes into the pipe count: through the file object, by ``os.write`` and
``os.writev``, and through asyncio's stream. Only bytes that the pipe took count.
"""

from __future__ import annotations

import io
import os
from _weakref import ref

from ..wrapping import wrap
from .counting import Output, argument, enter, failed, leave, size_and_rate
from .pixel_formats import frame_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

NAME = "ffmpeg pipe"
_SIZES = {
    "qcif": (176, 144), "cif": (352, 288), "qvga": (320, 240), "vga": (640, 480),
    "svga": (800, 600), "xga": (1024, 768), "hd480": (852, 480), "hd720": (1280, 720),
    "hd1080": (1920, 1080), "2k": (2048, 1080), "uhd2160": (3840, 2160), "4k": (4096, 2160),
}  # fmt: skip
_pipes: Dict[int, Tuple[Any, _Pipe]] = {}
"""Open pipes by their file's number, each with a reference to what holds it open."""
_os_seen = False


class _Pipe(Output):
    """One pipe into ffmpeg."""

    __slots__ = ("_bytes", "_frame")

    def __init__(self, frame: int, params: Dict[str, object]) -> None:
        Output.__init__(self, NAME, params)
        self._frame = frame
        self._bytes = 0

    def took(self, size: int) -> int:
        """How many frames are complete now that were not before ``size`` more bytes."""
        before = self._bytes // self._frame
        self._bytes += size
        return self._bytes // self._frame - before


def install(module: Any) -> None:
    """``subprocess``."""
    wrap(module.Popen, "__init__", None, _started)


def install_asyncio(module: Any) -> None:
    """``asyncio.subprocess``."""
    wrap(module.Process, "__init__", None, _started_by_asyncio)


def _started(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    process = args[0]
    stdin = process.stdin
    if stdin is None:
        return
    pipe = _pipe_of(process.args)
    if pipe is None:
        return
    process.stdin = file = _watched(stdin, pipe, argument(args, kwargs, 2, "bufsize", -1))
    _pipes[file.fileno()] = (ref(file), pipe)
    _see_to_os()


def _watched(stdin: Any, pipe: _Pipe, bufsize: Any) -> Any:
    """The same file, as an object that tells ``pipe`` what it took.

    A class of its own, since a method put on the object would hold the object: it would no longer
    be closed when the program lets go of it.
    """
    if isinstance(stdin, io.BufferedWriter):
        size = bufsize if isinstance(bufsize, int) and bufsize > 1 else io.DEFAULT_BUFFER_SIZE
        file: Any = _BufferedPipe(stdin.detach(), size)
    elif isinstance(stdin, io.FileIO):
        file = _RawPipe(os.dup(stdin.fileno()), "wb")
        stdin.close()
    else:
        return stdin  # text: no raw video
    file.pipe = pipe
    return file


class _Telling:
    """What both kinds of file do beside their work. Nothing here raises."""

    pipe: Optional[_Pipe] = None

    def _begin(self) -> Any:
        try:
            return None if self.pipe is None else enter(self.pipe, "write")
        except Exception:
            return None

    def _took(self, call: Any, size: Any) -> None:
        try:
            if call is not None:
                leave(call, call.output.took(size) if isinstance(size, int) else 0)
        except Exception:
            pass

    def _end(self) -> None:
        try:
            if self.pipe is not None:
                for number, (_, known) in list(_pipes.items()):
                    if known is self.pipe:
                        del _pipes[number]
                self.pipe.end()
        except Exception:
            pass


class _BufferedPipe(_Telling, io.BufferedWriter):
    def write(self, data: Any) -> int:
        call = self._begin()
        taken = 0
        try:
            taken = io.BufferedWriter.write(self, data)
        finally:
            self._took(call, taken)
        return taken

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def close(self) -> None:
        try:
            io.BufferedWriter.close(self)
        finally:
            self._end()


class _RawPipe(_Telling, io.FileIO):
    def write(self, data: Any) -> Any:
        call = self._begin()
        taken: Any = 0
        try:
            taken = io.FileIO.write(self, data)
        finally:
            self._took(call, taken)
        return taken

    def close(self) -> None:
        try:
            io.FileIO.close(self)
        finally:
            self._end()


def _see_to_os() -> None:
    """``os.write`` and ``os.writev``, once there is a pipe to look for."""
    global _os_seen
    if _os_seen:
        return
    _os_seen = True
    for name in ("write", "writev"):
        if hasattr(os, name):
            wrap(os, name, _before_fd, _after_fd, failed)


def _before_fd(args: Any, kwargs: Any) -> Any:
    known = _pipes.get(args[0]) if args else None
    if known is None:
        return None
    holder, pipe = known
    file = holder()
    if file is None or getattr(file, "closed", False):
        _pipes.pop(args[0], None)  # the number means another file by now
        return None
    return enter(pipe, "write")


def _after_fd(call: Any, args: Any, kwargs: Any, result: Any) -> None:
    if call is not None:
        leave(call, call.output.took(result) if isinstance(result, int) else 0)


def _started_by_asyncio(token: Any, args: Any, kwargs: Any, result: Any) -> None:
    process = args[0]
    stdin = getattr(process, "stdin", None)
    popen = args[1].get_extra_info("subprocess") if len(args) > 1 else None
    if stdin is None or popen is None:
        return
    pipe = _pipe_of(popen.args)
    if pipe is None:
        return
    for number in list(_pipes):
        if popen.stdin is not None and number == popen.stdin.fileno():
            del _pipes[number]  # asyncio's stream tells of it

    def before(args: Any, kwargs: Any) -> Any:
        return enter(pipe, "write")

    def wrote(call: Any, args: Any, kwargs: Any, result: Any) -> None:
        data = args[0] if args else kwargs.get("data", b"")
        if call is not None:
            leave(call, pipe.took(_size(data)))

    def before_drain(args: Any, kwargs: Any) -> Any:
        return enter(None, "write")

    def drained(call: Any, args: Any, kwargs: Any, result: Any) -> None:
        leave(call)

    def closed(token: Any, args: Any, kwargs: Any, result: Any) -> None:
        pipe.end()

    wrap(stdin, "write", before, wrote, failed)
    wrap(stdin, "drain", before_drain, drained, failed)
    wrap(stdin, "close", None, closed)


def _size(data: Any) -> int:
    return data.nbytes if isinstance(data, memoryview) else len(data)


def _pipe_of(command: Any) -> Optional[_Pipe]:
    """The pipe that a command reads raw video from; None where it is none, or not known."""
    try:
        words = _words(command)
        if not words:
            return None
        options = _input_options(words)
        if options is None:
            return None
        width, height = options["size"]
        frame = frame_bytes(width, height, options["pixels"])
        if not frame:
            return None
        return _Pipe(frame, size_and_rate(width, height, options["rate"]))
    except (KeyError, ValueError, TypeError):
        return None


def _words(command: Any) -> List[str]:
    """The arguments of ffmpeg; empty where the command is another one."""
    if isinstance(command, (str, bytes)):
        text = os.fsdecode(command)
        if "ffmpeg" not in text:
            return []
        import shlex

        words = shlex.split(text)
    else:
        words = [os.fsdecode(word) if not isinstance(word, str) else word for word in command]
    for place, word in enumerate(words[:8]):
        if os.path.basename(word).lower().startswith("ffmpeg"):
            return words[place + 1 :]
    return []


def _input_options(words: List[str]) -> Optional[Dict[str, Any]]:
    """What stands before the ``-i`` that is standard input, where that is raw video."""
    found: Dict[str, Any] = {"rate": None, "pixels": "yuv420p"}
    kind = ""
    for word, value in zip(words, words[1:]):  # noqa: B905, RUF007 (Python 3.8)
        if word == "-i":
            if value in ("-", "pipe:", "pipe:0", "/dev/stdin", "fd:", "fd:0"):
                return found if kind == "rawvideo" else None
            found, kind = {"rate": None, "pixels": "yuv420p"}, ""
        elif word == "-f" or (word in ("-c:v", "-vcodec", "-codec:v") and value == "rawvideo"):
            kind = value
        elif word in ("-s", "-s:v", "-video_size"):
            found["size"] = _SIZES.get(value) or tuple(int(part) for part in value.split("x"))
        elif word in ("-pix_fmt", "-pixel_format"):
            found["pixels"] = value
        elif word in ("-r", "-framerate"):
            found["rate"] = _rate(value)
    return None


def _rate(value: str) -> Optional[float]:
    above, _, below = value.partition("/")
    try:
        return float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        return None
