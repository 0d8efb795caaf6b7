"""The websockets library's threads: one for each viewer."""

import threading

import websockets
from driving import FRAMES, cost_us, done
from websockets.sync import connection
from websockets.sync.client import connect
from websockets.sync.server import serve

PNG = b"\x89PNG\r\n\x1a\n" + bytes(5_000)
told = {}


def viewer(socket):
    """What the server does for each viewer."""
    for _ in range(FRAMES):
        socket.send(PNG)
        socket.send("text")
    told["cost"], told["more"] = cost_us(connection.Connection, "send", socket, PNG)


with serve(viewer, "127.0.0.1", 0) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with connect(f"ws://127.0.0.1:{server.socket.getsockname()[1]}") as client:
        got = sum(isinstance(message, bytes) for message in client)
    assert got == FRAMES, got
    server.shutdown()
done(FRAMES + told["more"], websockets.__version__, told["cost"])
