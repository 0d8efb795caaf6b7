"""Raw video into ffmpeg's standard input, in all the ways that bytes get there."""

import asyncio
import io
import os
import subprocess
from time import perf_counter

import imageio_ffmpeg
from driving import FRAMES, HEIGHT, WIDTH, done, folder, picture

there = folder()
frame = picture().tobytes()


def command(name, pixels="rgb24"):
    """ffmpeg, from raw frames to a file."""
    head = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", "-f", "rawvideo"]
    size = ["-s", f"{WIDTH}x{HEIGHT}", "-pix_fmt", pixels, "-r", "24", "-i", "-"]
    return head + size + ["-c:v", "mpeg4", os.path.join(there, name)]


expected = 0
with subprocess.Popen(command("a.mp4"), stdin=subprocess.PIPE) as process:
    for _ in range(FRAMES):
        process.stdin.write(frame)  # buffered
    process.stdin.write(frame[:1000])  # not a whole one
    expected += FRAMES
with subprocess.Popen(command("b.mp4"), stdin=subprocess.PIPE, bufsize=0) as process:
    for _ in range(FRAMES):
        rest = memoryview(frame)
        while rest:
            rest = rest[process.stdin.write(rest[:5000]) :]  # in pieces
    expected += FRAMES
with subprocess.Popen(command("c.mp4"), stdin=subprocess.PIPE) as process:
    for _ in range(FRAMES):
        sent = os.writev(process.stdin.fileno(), [frame[:100], frame[100:]])
        while sent < len(frame):
            sent += os.write(process.stdin.fileno(), frame[sent:])
    expected += FRAMES
subprocess.run(command("d.mp4"), input=frame * FRAMES, check=True)
expected += FRAMES
line = " ".join(command("e.mp4", "yuv420p"))
with subprocess.Popen(line, stdin=subprocess.PIPE, shell=True) as process:
    process.stdin.writelines([bytes(WIDTH * HEIGHT * 3 // 2)] * FRAMES)
    expected += FRAMES
subprocess.run(["cat"], input=frame, stdout=subprocess.DEVNULL, check=True)  # no ffmpeg


async def with_asyncio():
    """The same through asyncio's stream."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command("f.mp4"), stdin=pipe)
    for _ in range(FRAMES):
        process.stdin.write(frame)
        await process.stdin.drain()
    process.stdin.close()
    assert await process.wait() == 0


def own_writes_us(process):
    """What telling of a piece (of no frame, so that none is sent) adds to a buffered write."""
    best = {}
    for batch in range(60):
        write = (io.BufferedWriter, type(process.stdin))[batch % 2].write
        began = perf_counter()
        for _ in range(20):
            write(process.stdin, b"x")
        took = (perf_counter() - began) / 20
        best[batch % 2] = min(best.get(batch % 2, took), took)
    process.kill()
    process.wait()
    return round((best[1] - best[0]) * 1e6, 1)


asyncio.run(with_asyncio())
expected += FRAMES
cost = None
if os.environ.get("SINK_CASE_MEASURES") == "1":
    cost = own_writes_us(subprocess.Popen(command("g.mp4"), stdin=subprocess.PIPE))
done(expected, imageio_ffmpeg.__version__, cost)
