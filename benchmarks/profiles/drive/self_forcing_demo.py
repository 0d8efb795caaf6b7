"""Self-Forcing's ``demo.py`` as it stands: server, tiny random weights, and a viewer.

The viewer is a process of its own, which asks for one video over Socket.IO and counts what it gets.
The truth about frames is what was sent: a picture can be lost on its way to the viewer.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import imageio_ffmpeg
import self_forcing
import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

VIEWER = """
import json, sys, threading, time
import socketio

url, seen = sys.argv[1:]
client, events, done = socketio.Client(), [], threading.Event()

@client.on("frame_ready")
def frame_ready(data):
    events.append((time.monotonic_ns(), data["block_index"]))

@client.on("generation_complete")
def complete(data):
    done.set()

@client.on("error")
def error(data):
    print(data, flush=True)
    done.set()

for attempt in range(100):
    try:
        client.connect(url)
        break
    except socketio.exceptions.ConnectionError:
        time.sleep(0.1)
client.emit("start_generation", {"prompt": "word1 word2", "seed": 1, "fps": 6})
done.wait(900)
client.disconnect()
with open(seen, "w") as file:
    json.dump(events, file)
"""


def small_start(dim: int) -> None:
    """The decoder's first cache, of zeros, in the tiny decoder's widths."""
    import demo_utils.constant as constant

    zeros = constant.ZERO_VAE_CACHE
    for n, cache in enumerate(zeros):
        batch, channels, *rest = cache.shape
        channels = channels if channels == 16 else channels * dim // 96
        zeros[n] = torch.zeros(batch, channels, *rest)


def serve_here(port: int, finish: Any) -> None:
    """Let the development server run, and a viewer come as soon as it does."""
    import flask_socketio

    run = flask_socketio.SocketIO.run

    def instead(self: Any, app: Any, **kwargs: Any) -> None:
        viewer = threading.Thread(target=finish, args=(port,), daemon=True)
        viewer.start()
        run(self, app, allow_unsafe_werkzeug=True, **kwargs)

    flask_socketio.SocketIO.run = instead


def block_of_picture(result: Any, frame: FrameType) -> int:
    """The block whose picture was sent; -1: it was another message."""
    if frame.f_locals["event"] != "frame_ready":
        return -1
    return int(frame.f_locals["args"][0]["block_index"])


def main() -> None:
    """One video of seven blocks."""
    given = workplace.arguments()
    stand_in.install()
    stand_in.one_precision()
    torch.set_num_threads(1)
    own = ("prompts.txt", "wan_models", "checkpoints", "images", "videos", "bin")
    workplace.enter(given.repo, given.work, own=own)
    self_forcing.prepare(Path())
    import demo_utils.vae_block3 as block3
    import pipeline
    from utils.wan_wrapper import WanDiffusionWrapper

    small_start(self_forcing.DIM)
    wan_parts.small_defaults(block3.VAEDecoder3d, dim=self_forcing.DIM)
    for name in ("checkpoints", "images", "videos", "bin"):
        Path(name).mkdir()
    Path("bin", "ffmpeg").symlink_to(imageio_ffmpeg.get_ffmpeg_exe())  # it writes a file at the end
    os.environ["PATH"] = f"{Path('bin').resolve()}:{os.environ['PATH']}"
    state = WanDiffusionWrapper(is_causal=True).state_dict()
    torch.save({"generator_ema": state}, "checkpoints/self_forcing_dmd.pt")
    wan_parts.shrink_caches(
        pipeline.CausalInferencePipeline, self_forcing.HEADS, self_forcing.WIDTH,
        self_forcing.LAYERS, ["_initialize_kv_cache", "_initialize_crossattn_cache"],
    )  # fmt: skip
    witness = Witness()
    witness.request("utils/wan_wrapper.py", "WanTextEncoder.forward")
    witness.sent("flask_socketio/__init__.py", "SocketIO.emit", block_of_picture)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def finish(port: int) -> None:
        witness.threads()
        Path("viewer.py").write_text(VIEWER, encoding="utf-8")
        command = [sys.executable, "viewer.py", f"http://127.0.0.1:{port}", "seen.json"]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MGTOP")}
        environment.pop("PYTHONPATH", None)
        subprocess.run(command, check=True, env=environment)
        witness.blocks_of_sent()
        got = len(json.loads(Path("seen.json").read_text("utf-8")))
        witness.note("viewer", pictures=got)
        print(f"the viewer got {got} pictures", flush=True)
        witness.write(given.truth)
        os._exit(0)  # the server itself never ends

    serve_here(port, finish)
    witness.start()
    workplace.run_script(given.repo / "demo.py", ["--port", str(port), "--host", "127.0.0.1"])


if __name__ == "__main__":
    main()
