"""The websockets library, asyncio: a server that sends JPEGs, texts and pieces of MP4."""

import asyncio

import websockets
from driving import FRAMES, done

JPEG = b"\xff\xd8\xff\xe0" + bytes(20_000)
PIECE = b"\x00\x00\x00\x18moof" + bytes(20_000)
try:
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import serve
except ImportError:  # releases before 13
    from websockets.legacy.client import connect
    from websockets.legacy.server import serve


async def viewer(socket, *_):
    """What the server does for each viewer."""
    for _ in range(FRAMES):
        await socket.send(JPEG)
        await socket.send('{"frame": "text is not counted"}')
        await socket.send(PIECE)
    await socket.send(b"ok")  # too small to be a picture


async def main():
    """Serve and view."""
    async with serve(viewer, "127.0.0.1", 0, max_size=None) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}") as client:
            got = 0
            async for message in client:
                got += isinstance(message, bytes) and message[:3] == JPEG[:3]
    assert got == FRAMES, got


asyncio.run(main())
done(FRAMES, websockets.__version__)
