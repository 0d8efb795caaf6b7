"""Raw video into ffmpeg: which commands are, how large a frame is, and bytes in all their ways.

A program of the name ffmpeg that swallows its input stands for the encoder: what is looked at is
this side of the pipe.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sink_programs import run_text

from mgtop.hooks.target.sinks.ffmpeg_pipe import _pipe_of
from mgtop.hooks.target.sinks.pixel_formats import frame_bytes

RAW = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "64x48", "-r", "24", "-i", "-"]


@pytest.mark.parametrize(
    ("pixels", "width", "height", "size"),
    [
        ("rgb24", 64, 48, 64 * 48 * 3),
        ("bgra", 10, 10, 400),
        ("yuv420p", 64, 48, 64 * 48 * 3 // 2),
        ("nv12", 64, 48, 64 * 48 * 3 // 2),
        ("yuv420p", 5, 3, 15 + 2 * 3 * 2),
        ("yuv422p", 64, 48, 64 * 48 * 2),
        ("yuv444p", 64, 48, 64 * 48 * 3),
        ("yuv420p10le", 64, 48, 64 * 48 * 3),
        ("yuva420p", 64, 48, 64 * 48 * 5 // 2),
        ("gray16le", 64, 48, 64 * 48 * 2),
        ("rgb48le", 2, 2, 24),
        ("hasenfuss", 64, 48, None),
    ],
)
def test_bytes_of_a_frame(pixels: str, width: int, height: int, size: int | None):
    assert frame_bytes(width, height, pixels) == size


@pytest.mark.parametrize("name", ["rgb24", "bgra", "gray", "yuv420p", "nv12", "yuv422p", "p010le"])
@pytest.mark.parametrize(("width", "height"), [(64, 48), (66, 50)])
def test_bytes_of_a_frame_as_ffmpegs_own_library_says(name: str, width: int, height: int):
    av = pytest.importorskip("av", reason="PyAV brings ffmpeg's own figures")
    frame = av.VideoFrame(width, height, name)
    whole = sum(
        plane.height * _row(name, frame, number) for number, plane in enumerate(frame.planes)
    )
    assert frame_bytes(width, height, name) == whole


def _row(name: str, frame: object, number: int) -> int:
    """Bytes of one row of a plane, without its padding."""
    parts = [part for part in frame.format.components if part.plane == number]  # type: ignore[attr-defined]
    bits = {"p010le": 16}.get(name)
    return sum(part.width * (bits or part.bits) for part in parts) // 8


@pytest.mark.parametrize(
    "command",
    [
        ["ffmpeg", "-y", *RAW, "out.mp4"],
        ["/opt/x/ffmpeg-linux-v7.0.2", "-loglevel", "error", *RAW, "-c:v", "libx264", "out.mp4"],
        ["nice", "-n", "5", "ffmpeg", *RAW, "out.mp4"],
        [b"ffmpeg", *(word.encode() for word in RAW), b"out.mp4"],
        "ffmpeg -y " + " ".join(RAW) + " 'my out.mp4'",
        ["ffmpeg", "-f", "rawvideo", "-vcodec", "rawvideo", *RAW[2:], "-i", "a.wav", "o.mp4"],
        ["ffmpeg", "-i", "a.wav", *RAW, "out.mp4"],
        ["ffmpeg", "-vcodec", "rawvideo", *RAW[2:-1], "pipe:0", "out.mp4"],
        [Path("/usr/bin/ffmpeg"), *RAW, Path("out.mp4")],
    ],
)
def test_commands_that_read_raw_video(command: object):
    pipe = _pipe_of(command)
    assert pipe is not None
    assert pipe.params == {"width": 64, "height": 48, "fps": 24.0}
    assert pipe.took(64 * 48 * 3 * 2 + 5) == 2


@pytest.mark.parametrize(
    "command",
    [
        ["cat"],
        "cat ffmpeg",
        ["ffmpeg", "-i", "in.mp4", "out.mp4"],
        ["ffmpeg", "-f", "mp4", "-i", "-", "out.mp4"],
        ["ffmpeg", "-f", "rawvideo", "-i", "-", "out.mp4"],
        ["ffmpeg", "-f", "rawvideo", "-s", "wide", "-i", "-", "out.mp4"],
        ["ffmpeg", *RAW[:2], "-pix_fmt", "hasenfuss", "-s", "64x48", "-i", "-", "out.mp4"],
        ["ffmpeg", *RAW[:-1], "in.raw", "out.mp4"],
        [],
        "ffmpeg 'not closed",
        None,
        [object()],
    ],
)
def test_commands_that_do_not(command: object):
    assert _pipe_of(command) is None


def test_named_sizes_and_rates_that_are_fractions():
    pipe = _pipe_of(
        ["ffmpeg", "-f", "rawvideo", "-video_size", "hd720", "-framerate", "30000/1001", "-i", "-"]
    )
    assert pipe is not None
    assert (pipe.params["width"], pipe.params["height"]) == (1280, 720)
    assert abs(float(str(pipe.params["fps"])) - 29.97) < 0.01
    assert pipe.took(1280 * 720 * 3 // 2) == 1


PROGRAM = """
import asyncio, gc, os, subprocess, sys
ffmpeg = {ffmpeg!r}
frame = bytes(64 * 48 * 3)
command = [ffmpeg, *{raw!r}, "out.mp4"]

process = subprocess.Popen(command, stdin=subprocess.PIPE)
assert process.stdin.writable() and "w" in process.stdin.mode
for _ in range(3):
    assert process.stdin.write(frame) == len(frame)
process.stdin.write(frame[:100])
process.stdin.close()
process.wait()

with subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0) as process:
    for _ in range(4):
        rest = memoryview(frame)
        while rest:
            rest = rest[process.stdin.write(rest[:5000]):]

with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
    number = process.stdin.fileno()
    for _ in range(5):
        sent = os.writev(number, [frame[:100], frame[100:]])
        while sent < len(frame):
            sent += os.write(number, frame[sent:])
os.write(1, b"")

subprocess.run(command, input=frame * 6, check=True)
process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
process.communicate(frame * 7)
with subprocess.Popen(" ".join(command), stdin=subprocess.PIPE, shell=True) as process:
    process.stdin.writelines([frame] * 8)
    process.stdin.flush()

async def main():
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
    for _ in range(9):
        process.stdin.write(frame)
        await process.stdin.drain()
    process.stdin.close()
    await process.wait()

asyncio.run(main())

# A pipe that the program lets go of is closed at once, as it would be without mgtop.
gc.disable()
process = subprocess.Popen(command, stdin=subprocess.PIPE)
process.stdin.write(frame)
number, process.stdin = process.stdin.fileno(), None
try:
    os.fstat(number)
    sys.exit("the pipe is still open")
except OSError:
    pass
process.wait()

# An encoder that dies is the program's own error, and its frames do not count.
process = subprocess.Popen([ffmpeg, "-die", *{raw!r}, "out.mp4"], stdin=subprocess.PIPE, bufsize=0)
process.wait()
try:
    process.stdin.write(frame)
    sys.exit("no error")
except BrokenPipeError:
    pass
"""


def test_bytes_in_all_the_ways_that_they_get_there(tmp_path: Path):
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text('#!/bin/sh\n[ "$1" = -die ] && exit 1\nexec cat >/dev/null\n')
    ffmpeg.chmod(0o755)
    told = run_text(tmp_path, PROGRAM.format(ffmpeg=str(ffmpeg), raw=RAW))
    assert [frames for _, frames in told.by_output] == [3, 4, 5, 6, 7, 8, 9, 1]
    assert {name for name, _ in told.by_output} == {"ffmpeg pipe"}
    assert told.ends == 8
    assert os.path.exists(ffmpeg)
