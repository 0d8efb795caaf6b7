"""``mgtop smoke`` and ``mgtop check`` on this machine, against what programs time themselves.

``python -m benchmarks.smoke`` runs real torch programs, on the GPU where there is one: one that
works and measures its own load, forward and post with synchronisation, one that runs out of
memory, one that finds no CUDA. It prints what mgtop said beside what is true, and then what a
check of a made-up repository says here. Two minutes on a GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = """
import json, os, sys, time
began = time.monotonic()
import struct, zlib
import torch

device = "cuda" if os.environ.get("WANT") == "cuda" or torch.cuda.is_available() else "cpu"
wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
size = 1024 if device == "cuda" else 48
torch.set_num_threads(1)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(40))

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return x

def write_png(path, picture):
    height, width, _ = picture.shape
    rows = b"".join(b"\\0" + bytes(row.flatten().tolist()) for row in picture)
    def chunk(kind, body):
        checksum = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + checksum
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    open(path, "wb").write(
        b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))

t = time.monotonic()
weights = torch.load("weights.pt", map_location=device)
wait()
load = time.monotonic() - t
model = Model().to(device)
model.load_state_dict(weights)
if os.environ.get("HUGE"):
    torch.empty(1 << 44, dtype=torch.uint8, device=device)
told = []
USE_PROBE = os.environ.get("USE_PROBE")
if USE_PROBE:
    from mgtop import probe
    request = probe.request(width=size, height=size)
with torch.no_grad():
    for number in range(2):
        x = torch.rand(1, 16, size, size, device=device)
        wait()
        t = time.monotonic()
        if USE_PROBE:
            with request.span("forward"):
                y = model(x)
        else:
            y = model(x)
        wait()
        fwd = time.monotonic() - t
        t = time.monotonic()
        def post():
            write_png("frame.png", (y[0, :3] * 127 + 128).byte().permute(1, 2, 0).cpu())
        if USE_PROBE:
            with request.span("postprocess"):
                post()
            request.frame()
        else:
            post()
        told.append({"fwd_ms": fwd * 1e3, "post_ms": (time.monotonic() - t) * 1e3})
print("saved frame.png")
json.dump({"load_ms": load * 1e3, "frames": told, "device": device}, open("truth.json", "w"))
"""
WEIGHTS = """
import torch
layers = torch.nn.ModuleList(torch.nn.Conv2d(16, 16, 3, padding=1) for _ in range(40))
torch.save({"layers." + key: value for key, value in layers.state_dict().items()}, "weights.pt")
"""
README = """# A model

## Requirements

- NVIDIA GPU with at least 24 GB of VRAM (tested on an H100 with 80 GB; A100 works)
- 64 GB RAM, 100 GB of free disk space
- Linux, Python 3.10 or newer, CUDA 12.4 or newer
- FP8 needs compute capability 8.9 or higher
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="mgtop-bench-") as name:
        folder = Path(name)
        (folder / "infer.py").write_text(PROGRAM)
        (folder / "README.md").write_text(README)
        (folder / "mgtop.yaml").write_text(f"command: [{sys.executable}, infer.py]\n")
        subprocess.run([sys.executable, "-c", WEIGHTS], cwd=folder, check=True)
        for label, more in (("by module calls", {}), ("by the probe", {"USE_PROBE": "1"})):
            _compare(folder, label, more)
        for label, more, wanted in (
            ("out of memory", {"HUGE": "1"}, "oom"),
            ("no CUDA", {"WANT": "cuda", "CUDA_VISIBLE_DEVICES": ""}, "no_cuda"),
        ):
            result = _smoke(folder, more)
            print(f"\n{label}: named {result['failure']} (should be {wanted})")
            print(f"  {result['failure_text']}")
        print()
        subprocess.run(
            [sys.executable, "-m", "mgtop", "check", str(folder), "--python", sys.executable],
            check=False,
        )


def _compare(folder: Path, label: str, more: dict[str, str]) -> None:
    result = _smoke(folder, more)
    print(f"\n{label}: passed {result['passed']}; {result['times_note']}")
    if not (folder / "truth.json").exists():
        print(f"  the program failed: {result['failure_text']}")
        return
    truth = json.loads((folder / "truth.json").read_text())
    print(f"  on {truth['device']}; ms, mgtop / the program itself")
    rows = [("load", result["cold"]["load_ms"], truth["load_ms"])]
    rows += [
        (f"{frame} {part[:-3]}", result[frame][part], truth["frames"][at][part])
        for at, frame in enumerate(("cold", "warm"))
        for part in ("fwd_ms", "post_ms")
    ]
    for name, said, true in rows:
        shown = "n/a" if said is None else f"{said:10.2f}"
        print(f"  {name:10} {shown:>10} / {true:10.2f}")
    (folder / "truth.json").unlink()


def _smoke(folder: Path, more: dict[str, str]) -> dict[str, Any]:
    answer = subprocess.run(
        [sys.executable, "-m", "mgtop", "smoke", str(folder), "--json", "--seconds", "120",
         "--out", tempfile.mkdtemp(dir=folder) + "/session"],
        env=os.environ | more, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(answer.stdout)
    return result


if __name__ == "__main__":
    main()
