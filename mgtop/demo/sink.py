"""The output: frames are encoded, put into a transport stream, and written to a file."""

from __future__ import annotations

import os
import threading
import time
from fractions import Fraction
from pathlib import Path
from types import TracebackType

import av
from torch import Tensor

from mgtop.demo.clip import frame_from

SUFFIX = ".ts"
"""An MPEG transport stream has no end to be written: what is in the file can be played."""

_NARROW = 4096


class Sink:
    """One output file. Frames that were encoded are in it once :meth:`write` returns.

    Args:
        path: of the file, made anew.
        width: of the frames, pixels.
        height: of the frames, pixels.
        fps: at which they are to be played.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(self, path: Path, width: int, height: int, fps: float) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._muxed = _Buffer()
        self._container = av.open(self._muxed, "w", format="mpegts", options={"flush_packets": "1"})
        rate = Fraction(fps).limit_denominator(1001)
        # One packet for each frame at once: no frame is held back to compress it better.
        if "libx264" in av.codecs_available:
            options = {"preset": "ultrafast", "tune": "zerolatency"}
            self._stream = self._container.add_stream("libx264", rate=rate, options=options)
        else:
            self._stream = self._container.add_stream("mpeg4", rate=rate)
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt = "yuv420p"
        self._stream.codec_context.thread_count = 1
        self._stream.codec_context.max_b_frames = 0
        self._packets: list[av.Packet[av.VideoStream]] = []
        self._frames = 0

    def encode(self, pictures: Tensor) -> None:
        """Encode pictures, ``[n, height, width, 3]`` bytes on the CPU."""
        for picture in pictures:
            frame = frame_from(picture)
            frame.pts = self._frames
            self._frames += 1
            self._packets += self._stream.encode(frame)

    def write(self) -> None:
        """Write what was encoded.

        Raises:
            OSError: the file cannot take it.
        """
        _write_all(self._file, self._take())

    def write_slowly(self, ms: float) -> None:
        """Write what was encoded through a pipe whose reader needs ``ms`` for it."""
        data = self._take()
        out, into = os.pipe()
        reader = threading.Thread(
            target=self._drain, args=(out, ms * 1e6 / max(1, len(data))), name="slow-reader"
        )
        try:
            _narrow(into)
            reader.start()
            _write_all(into, data)
        finally:
            os.close(into)
            reader.join()

    def _drain(self, out: int, ns_per_byte: float) -> None:
        """Hand a pipe's bytes on to the file, at a pace."""
        begin_ns = time.monotonic_ns()
        done = 0
        try:
            while data := os.read(out, 512):
                done += len(data)
                wait_ns = begin_ns + done * ns_per_byte - time.monotonic_ns()
                if wait_ns > 0:
                    time.sleep(wait_ns / 1e9)
                _write_all(self._file, data)
        finally:
            os.close(out)

    def _take(self) -> bytes:
        for packet in self._packets:
            self._container.mux(packet)
        self._packets.clear()
        return self._muxed.take()

    def close(self) -> None:
        """Write what the encoder still holds, and close the file."""
        try:
            if self._frames:
                self._packets += self._stream.encode()
            self._take_and_end()
        finally:
            os.close(self._file)

    def _take_and_end(self) -> None:
        data = self._take()
        self._container.close()
        _write_all(self._file, data + self._muxed.take())

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Buffer:
    """Collects what a container writes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


def _narrow(pipe: int) -> None:
    """Let the pipe hold little, where the system allows it, so that its writer feels the reader."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _NARROW)
    except (ImportError, AttributeError, OSError):
        pass
