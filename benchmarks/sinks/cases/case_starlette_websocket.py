"""Starlette under uvicorn, whose websockets implementation sends once more inside: counts once."""

import asyncio
import socket
import sys

import starlette
import uvicorn
from driving import FRAMES, done
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

try:
    from websockets.asyncio.client import connect
except ImportError:
    from websockets.legacy.client import connect

JPEG = b"\xff\xd8\xff\xe0" + bytes(20_000)


async def viewer(websocket):
    """What the application does for each viewer."""
    await websocket.accept()
    for i in range(FRAMES):
        await websocket.send_bytes(JPEG)
        await websocket.send_json({"frame": i})
    await websocket.close()


async def main():
    """Serve and view."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = Starlette(routes=[WebSocketRoute("/", viewer)])
    way = sys.argv[1] if len(sys.argv) > 1 else "websockets"
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws=way))
    serving = asyncio.ensure_future(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    async with connect(f"ws://127.0.0.1:{listening.getsockname()[1]}") as client:
        got = 0
        async for message in client:
            got += isinstance(message, bytes)
    server.should_exit = True
    await serving
    assert got == FRAMES, got


asyncio.run(main())
done(FRAMES, starlette.__version__)
