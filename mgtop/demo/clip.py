"""The input: a clip of a moving scene, drawn and encoded once and kept in the user's cache."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Generator
from pathlib import Path

import av
import torch
from torch import Tensor

from mgtop.demo.errors import DemoError

WIDTH, HEIGHT, FRAMES, RATE = 640, 360, 96, 24
NAME = "demo-1.mp4"
"""Carries a number: another picture gets another name."""


def find_clip(instead: Path) -> Path:
    """The clip's path; it is made where it is not there yet.

    Args:
        instead: where to keep it if the user's cache (``$XDG_CACHE_HOME/mgtop``, else
            ``~/.cache/mgtop``) cannot be written.

    Raises:
        DemoError: it can be written nowhere.
    """
    failure: OSError | None = None
    for folder in (*_cache(), instead):
        path = folder / NAME
        if path.is_file() and path.stat().st_size:
            return path
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make(path)
        except OSError as error:
            failure = error
        else:
            return path
    raise DemoError(f"The demo cannot write its input clip ({failure}); set XDG_CACHE_HOME.")


def _cache() -> list[Path]:
    """The folder in the user's cache; none where there is no home."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.expanduser("~/.cache")
    return [Path(cache) / "mgtop"] if os.path.isabs(cache) else []


def _make(path: Path) -> None:
    """Encode under another name first: whoever finds the clip finds all of it."""
    handle, name = tempfile.mkstemp(suffix=".mp4", dir=path.parent)
    os.close(handle)
    try:
        with av.open(name, "w") as container:
            stream = container.add_stream("mpeg4", rate=RATE)
            stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            stream.bit_rate = 3_000_000
            stream.codec_context.thread_count = 1
            for number in range(FRAMES):
                container.mux(stream.encode(frame_from(_draw(number / FRAMES))))
            container.mux(stream.encode())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _draw(phase: float) -> Tensor:
    """One picture, ``[HEIGHT, WIDTH, 3]`` bytes; ``phase`` 0 and 1 are the same."""
    y = torch.linspace(-1, 1, HEIGHT)[:, None]
    x = torch.linspace(-16 / 9, 16 / 9, WIDTH)[None, :]
    turn = 2 * math.pi * phase
    sky = torch.stack((0.25 + 0.2 * y, 0.45 + 0.15 * y, 0.8 - 0.2 * y), dim=-1)
    picture = sky.expand(HEIGHT, WIDTH, 3).clone()
    depth = 0.35 / (y - 0.05).clamp(min=0.02)
    tiles = (torch.floor(x * depth * 3) + torch.floor(depth * 6 + phase * 8)) % 2
    floor = (0.25 + 0.45 * tiles)[..., None] * torch.tensor([0.9, 0.8, 0.6])
    picture = torch.where((y > 0.05)[..., None], floor, picture)
    balls = (
        (1.1 * math.cos(turn), 0.25 * math.sin(2 * turn), 0.34, (0.95, 0.3, 0.2)),
        (1.2 * math.sin(turn), -0.3 + 0.2 * math.cos(turn), 0.22, (0.2, 0.8, 0.4)),
        (0.6 * math.cos(turn + 2), 0.5 + 0.1 * math.sin(turn), 0.28, (0.95, 0.8, 0.2)),
    )
    for at_x, at_y, radius, colour in balls:
        away = ((x - at_x) ** 2 + (y - at_y) ** 2).sqrt() / radius
        light = (1.1 - 0.6 * away.clamp(max=1))[..., None] * torch.tensor(colour)
        picture = torch.where((away < 1)[..., None], light, picture)
    return (picture.clamp(0, 1) * 255).to(torch.uint8)


def frame_from(picture: Tensor) -> av.VideoFrame:
    """A video frame of a picture, ``[height, width, 3]`` bytes on the CPU."""
    height, width, _ = picture.shape
    frame = av.VideoFrame(width, height, "rgb24")
    _rows(frame)[:, : 3 * width].copy_(picture.reshape(height, 3 * width))
    return frame


def picture_from(frame: av.VideoFrame) -> Tensor:
    """The picture of a video frame, ``[height, width, 3]`` bytes; a copy."""
    colour = frame.reformat(format="rgb24")
    rows = _rows(colour)[:, : 3 * colour.width]
    return rows.reshape(colour.height, colour.width, 3).clone()


def _rows(frame: av.VideoFrame) -> Tensor:
    """The memory of an RGB frame, one row of bytes per line (longer than the line may be)."""
    plane = frame.planes[0]
    return torch.frombuffer(plane, dtype=torch.uint8).view(-1, plane.line_size)[: frame.height]


def endless(path: Path) -> Generator[av.VideoFrame, None, None]:
    """Decoded frames of a clip, again and again.

    Raises:
        DemoError: it cannot be read as a video.
    """
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            stream.codec_context.thread_count = 1  # what the decoder does is to show in its span
            while True:
                decoded = 0
                for frame in container.decode(stream):
                    decoded += 1
                    yield frame
                if not decoded:
                    raise DemoError(f"The clip {path} has no frames; remove it and try again.")
                container.seek(0)
    except (av.error.FFmpegError, IndexError) as error:
        raise DemoError(f"The clip {path} cannot be read ({error}); remove it.") from None
