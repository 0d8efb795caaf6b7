"""krea's ``release_server.py`` under uvicorn as it stands: tiny random weights, and a viewer.

The viewer is a process of its own, which asks for three blocks over the WebSocket and counts the
pictures that it gets: as many as were made, or the driver fails.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import stand_in
import torch
import wan_parts
import workplace
from witness import Witness

HEADS, WIDTH, LAYERS, DIM = 2, 24, 1, 4
BLOCKS = 3
VIEWER = """
import json, sys, time
from msgpack import packb
from websockets.sync.client import connect

url, seen, blocks = sys.argv[1:]
for attempt in range(1200):
    try:
        socket = connect(url, open_timeout=600, max_size=None, ping_interval=None)
        break
    except OSError:
        time.sleep(0.1)
pictures = 0
with socket:
    socket.recv()
    socket.send(packb({"prompt": "word1 word2", "num_blocks": int(blocks), "seed": 1}))
    while True:
        message = socket.recv(900)
        if isinstance(message, bytes):
            pictures += 1
        elif json.loads(message).get("status") == "completed":
            break
    try:  # those that were still on their way
        while True:
            pictures += isinstance(socket.recv(30), bytes)
    except TimeoutError:
        pass
with open(seen, "w") as file:
    json.dump(pictures, file)
"""


def prepare(work: Path) -> None:
    """Weights and configuration in the places where the program looks for them."""
    import demo_utils.vae_block3 as block3
    import safetensors.torch
    from utils.wan_wrapper import WanDiffusionWrapper
    from wan.modules.causal_model import CausalWanModel

    wan_parts.replace("wan", "flash_attention", wan_parts.attention)
    wan_parts.shrink_text_encoder("wan.modules.t5")
    wan_parts.replace("utils", "umt5_xxl", sys.modules["wan.modules.t5"].umt5_xxl)
    wan_parts.shrink_video_vae("wan.modules.vae", dim=DIM)
    wan_parts.small_defaults(block3.VAEDecoder3d, dim=DIM)
    torch.manual_seed(0)
    base = work / "Wan-2.1" / "Wan2.1-T2V-1.3B"
    wan_parts.save_text_encoder("wan.modules.t5", base)
    text = torch.load(base / "models_t5_umt5-xxl-enc-bf16.pth")
    safetensors.torch.save_file(text, base / "models_t5_umt5-xxl-enc-bf16.safetensors")
    wan_parts.save_vae("wan.modules.vae", base / "Wan2.1_VAE.pth", DIM)
    model = CausalWanModel(dim=HEADS * WIDTH, ffn_dim=32, num_heads=HEADS, num_layers=LAYERS)
    wan_parts.wake(model)
    larger = "Wan2.1-T2V-14B"  # what it takes for every width but the small model's
    model.save_pretrained(work / "Wan-2.1" / larger)
    whole = WanDiffusionWrapper(model_name=larger, is_causal=True)
    safetensors.torch.save_file(whole.state_dict(), work / "tiny.safetensors")
    settings = (work / "configs" / "self_forcing_server.yaml").read_text("utf-8")
    settings = settings.replace("checkpoints/self_forcing_dmd.sft", "tiny.safetensors")
    (work / "tiny.yaml").write_text(settings, encoding="utf-8")


def main() -> None:
    """One client, three blocks."""
    given = workplace.arguments()
    stand_in.install()
    stand_in.one_precision()
    stand_in.weights_on_cpu()
    torch.set_num_threads(1)
    own = ("Wan-2.1", "tiny.safetensors", "tiny.yaml")
    workplace.enter(given.repo, given.work, own=own)
    prepare(Path())
    os.environ["CONFIG"] = "tiny.yaml"
    import uvicorn

    witness = Witness()
    witness.request("release_server.py", "GenerationSession.__init__")
    witness.emit(
        "release_server.py",
        "GenerationSession.generate_block",
        lambda result, frame: int(result.shape[1]),
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def view() -> None:
        Path("viewer.py").write_text(VIEWER, encoding="utf-8")
        url = f"ws://127.0.0.1:{port}/session/one"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MGTOP")}
        environment.pop("PYTHONPATH", None)
        command = [sys.executable, "viewer.py", url, "seen.json", str(BLOCKS)]
        code = subprocess.run(command, env=environment, check=False).returncode
        witness.write(given.truth)
        made = sum(event.get("count", 0) for event in witness.events)
        got: Any = json.loads(Path("seen.json").read_text("utf-8")) if code == 0 else None
        if got != made:
            print(f"made {made} pictures, the viewer got {got}", flush=True)
            Path(given.truth).unlink()
        os._exit(0 if got == made else 1)  # the server itself never ends

    threading.Thread(target=view, daemon=True).start()
    witness.start()
    uvicorn.run("release_server:app", host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main()
