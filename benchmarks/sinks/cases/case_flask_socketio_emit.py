"""Flask-SocketIO: base64 frames in an event, as browsers' demos do, beside progress events."""

import base64

import flask
import flask_socketio
from driving import FRAMES, cost_us, done

app = flask.Flask("case")
sockets = flask_socketio.SocketIO(app, async_mode="threading")
data = "data:image/jpeg;base64," + base64.b64encode(b"\xff\xd8\xff" + bytes(9_000)).decode()
got = []


@sockets.on("start")
def start(_message):
    """A viewer asks for frames."""
    for i in range(FRAMES):
        sockets.emit("frame_ready", {"data": data, "frame_index": i})
        flask_socketio.emit("progress", {"message": f"frame {i}"})


client = sockets.test_client(app)
client.emit("start", {})
got = [event for event in client.get_received() if event["name"] == "frame_ready"]
assert len(got) == FRAMES, len(got)
cost, more = cost_us(flask_socketio.SocketIO, "emit", sockets, "frame_ready", data)
from importlib.metadata import version  # noqa: E402

done(FRAMES + more, version("flask-socketio"), cost)
