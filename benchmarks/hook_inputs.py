"""A person's input by the real libraries: is each one told of, once, and of the right kind?

    python -m benchmarks.hook_inputs [--python PATH]

Drives a program of each library that is installed for that Python (websockets, starlette with
uvicorn, python-socketio with Flask-SocketIO, aiortc, pygame): three inputs, 50 ms apart. With
Xvfb and xdotool on the machine, an OpenCV window, too.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.hook_launches import launch, write_program
from mgtop.wire.records import Action

WANTED = 3
PROGRAMS: dict[str, tuple[str, str, str]] = {
    "websockets (asyncio)": (
        "websockets",
        "message",
        """
import asyncio
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
import model

async def serving(socket):
    async for message in socket:
        model.generate()

async def main():
    async with serve(serving, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect(f"ws://127.0.0.1:{port}") as client:
            for _ in range(3):
                await client.send("left")
                await asyncio.sleep(0.05)

asyncio.run(main())
""",
    ),
    "websockets (threads)": (
        "websockets",
        "message",
        """
import threading, time
from websockets.sync.client import connect
from websockets.sync.server import serve
import model

def serving(socket):
    for message in socket:
        model.generate()

with serve(serving, "127.0.0.1", 0) as server:
    port = server.socket.getsockname()[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with connect(f"ws://127.0.0.1:{port}") as client:
        for _ in range(3):
            client.send("left")
            time.sleep(0.05)
    server.shutdown()
""",
    ),
    "starlette, uvicorn, websockets": (
        "uvicorn",
        "message",
        """
import socket, threading, time
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from websockets.sync.client import connect
import model

async def serving(viewer):
    await viewer.accept()
    async for text in viewer.iter_text():
        model.generate()

free = socket.create_server(("127.0.0.1", 0))
port = free.getsockname()[1]
free.close()
app = Starlette(routes=[WebSocketRoute("/", serving)])
server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
thread = threading.Thread(target=server.run)
thread.start()
while not server.started:
    time.sleep(0.01)
with connect(f"ws://127.0.0.1:{port}") as client:
    for _ in range(3):
        client.send("left")
        time.sleep(0.05)
server.should_exit = True
thread.join()
""",
    ),
    "Flask-SocketIO": (
        "flask_socketio",
        "message",
        """
import os, threading, time
import flask, flask_socketio, socketio
import model

app = flask.Flask("x")
server = flask_socketio.SocketIO(app, async_mode="threading")

@server.on("left")
def moved(data):
    model.generate()

from werkzeug.serving import make_server
flask.cli.show_server_banner = lambda *a: None
web = make_server("127.0.0.1", 0, app, threaded=True)
threading.Thread(target=web.serve_forever, daemon=True).start()
client = socketio.Client()
client.connect(f"http://127.0.0.1:{web.server_port}", transports=["websocket"])
for _ in range(3):
    client.emit("left", {"x": 1})
    time.sleep(0.05)
time.sleep(0.2)
client.disconnect()
time.sleep(0.05)
os._exit(0)
""",
    ),
    "aiortc data channel": (
        "aiortc",
        "message",
        """
import asyncio
from aiortc import RTCPeerConnection
import model

async def main():
    viewer, server = RTCPeerConnection(), RTCPeerConnection()
    channel = viewer.createDataChannel("keys")
    done = asyncio.Event()

    @server.on("datachannel")
    def opened(there):
        @there.on("message")
        def moved(message):
            model.generate()

    @channel.on("open")
    def ready():
        async def play():
            for _ in range(3):
                channel.send("left")
                await asyncio.sleep(0.05)
            done.set()
        asyncio.ensure_future(play())

    await viewer.setLocalDescription(await viewer.createOffer())
    await server.setRemoteDescription(viewer.localDescription)
    await server.setLocalDescription(await server.createAnswer())
    await viewer.setRemoteDescription(server.localDescription)
    await asyncio.wait_for(done.wait(), 10)
    await viewer.close()
    await server.close()

asyncio.run(main())
""",
    ),
    "pygame": (
        "pygame",
        "key",
        """
import os, time
os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy", PYGAME_HIDE_SUPPORT_PROMPT="1")
import pygame
import model

pygame.init()
pygame.display.set_mode((8, 8))
for turn in range(9):
    if turn % 3 == 0:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_LEFT))
    for event in pygame.event.get():
        if event.type == pygame.KEYDOWN:
            model.generate()
    time.sleep(0.02)
""",
    ),
    "input()": (
        "sys",
        "input",
        "import model\nfor _ in range(3):\n    input()\n    model.generate()\n",
    ),
}

WINDOW = """
import os, subprocess, sys, threading, time
screen = subprocess.Popen(["Xvfb", ":77", "-screen", "0", "320x240x24"], stderr=subprocess.DEVNULL)
os.environ["DISPLAY"] = ":77"
time.sleep(1)
import cv2, numpy
import model

try:
    cv2.namedWindow("win")
except cv2.error:  # the headless build
    sys.exit(77)
finally:
    threading.Timer(20, screen.kill).start()
cv2.imshow("win", numpy.zeros((80, 80, 3), numpy.uint8))
cv2.waitKey(500)

def press():
    for _ in range(9):
        time.sleep(0.4)
        subprocess.run("xdotool mousemove 20 20 click 1; xdotool search --name win windowfocus;"
                       "xdotool key a", shell=True, capture_output=True)

threading.Thread(target=press, daemon=True).start()
for waits in (10, 10, 0):
    while cv2.waitKey(waits) < 0:
        pass
    model.generate()
screen.kill()
os._exit(0)
"""
"""An OpenCV window on a screen of its own; keys are pressed by xdotool."""


def main() -> int:
    """Drive them all; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    if all(map(shutil.which, ("Xvfb", "xdotool"))):
        PROGRAMS["OpenCV window"] = ("cv2", "key", WINDOW)
    parser.add_argument("--python", default=sys.executable, help="with the libraries installed")
    python = parser.parse_args().python
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "program"
        write_program(folder)
        for name, (module, kind, source) in PROGRAMS.items():
            asked = [python, "-c", f"import {module}"]
            if subprocess.run(asked, capture_output=True, check=False).returncode:
                print(f"{name:34} n/a ({module} is not installed for {python})")
                continue
            (folder / "driven.py").write_text(source)
            words = [python, "driven.py"]
            if kind == "input":
                typed = "sleep 1; for i in 1 2 3; do sleep 0.1; echo x; done"
                words = ["sh", "-c", f"({typed}) | {python} driven.py"]
            seen = launch(words, folder)
            if seen.code == 77:
                print(f"{name:34} n/a (opencv-python-headless shows no windows)")
                continue
            kinds = [event.kind for event in seen.events if isinstance(event, Action)]
            fine = kinds == [kind] * WANTED and seen.code == 0
            wrong += not fine
            frames = sum(seen.frames.values())
            print(f"{name:34} {'ok' if fine else 'NO'}  {len(kinds)} told, {frames} frames "
                  f"{'' if fine else seen.output[-500:]}")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
