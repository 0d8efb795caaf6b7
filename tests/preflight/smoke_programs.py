"""Small real programs for the smoke test: most of them fail, each in a way of its own."""

from __future__ import annotations

PICTURE = """
import struct, zlib

def write_png(path, width, height, pixel):
    rows = b"".join(
        b"\\0" + bytes(value for x in range(width) for value in pixel(x, y)) for y in range(height)
    )
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body
                + struct.pack(">I", zlib.crc32(kind + body)))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    with open(path, "wb") as file:
        file.write(b"\\x89PNG\\r\\n\\x1a\\n" + data)

def slope(x, y):
    return (4 * x % 256, 7 * y % 256, 90)
"""

PLAIN = (
    PICTURE
    + """
import os, sys
import time

def load(path="weights.safetensors"):
    with open(path, "rb") as file:
        return file.read()

os.makedirs("out", exist_ok=True)
"""
)
"""Without torch: weights are bytes, the model is a slope."""

TORCH = (
    PICTURE
    + """
import os, sys
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(
            torch.nn.Conv2d(2, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(8, 3, 1)
        )

    def forward(self, x):
        return self.net(x)

def picture(model, width, height):
    y, x = torch.meshgrid(torch.linspace(0, 1, height), torch.linspace(0, 1, width), indexing="ij")
    with torch.no_grad():
        frame = model(torch.stack([x, y])[None])[0]
    return frame.sub(frame.min()).div(frame.max() - frame.min()).mul(255).byte()

def pixels(frame):
    rows = frame.permute(1, 2, 0).tolist()
    return lambda x, y: rows[y][x]

os.makedirs("out", exist_ok=True)
"""
)
"""A real model: weights by torch.load, a picture by its forward."""

GOOD = (
    "weights = load()\nwrite_png('out/frame.png', 64, 48, slope)\nprint('saved to out/frame.png')\n"
)

GOOD_TORCH = """
torch.save(Model().state_dict(), "weights.pt")
model = Model()
model.load_state_dict(torch.load("weights.pt"))
write_png("out/frame.png", 64, 48, pixels(picture(model, 64, 48)))
print("saved to out/frame.png")
"""

NO_CUDA = """
weights = load()
raise AssertionError("Torch not compiled with CUDA enabled")  # torch's own words
"""

CORRUPT_WEIGHTS = """
model = Model()
try:
    model.load_state_dict(torch.load("broken.pt"))
except Exception as error:
    print("using random weights instead:", type(error).__name__)
write_png("out/frame.png", 64, 48, pixels(picture(model, 64, 48)))
print("saved to out/frame.png")
"""

OUT_OF_MEMORY = """
weights = load()

class OutOfMemoryError(RuntimeError):
    pass

def step():
    try:
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total "
                               "capacity of 23.64 GiB of which 1.12 GiB is free.")
    except OutOfMemoryError as error:
        print("step failed:", error)

step().shape  # what came back is None
"""

NO_WEIGHTS_FILE = """
weights = load("checkpoints/model.safetensors")
"""

RANDOM_WEIGHTS = """
write_png("out/frame.png", 64, 48, slope)
print("saved to out/frame.png")
"""

SILENT = """
weights = load()
write_png("out/frame.png", 64, 48, slope)
print("done")
"""

NOT_WRITTEN = """
weights = load()
print("saved to out/frame.png")
"""

CONSTANT = """
weights = load()
write_png("out/frame.png", 64, 48, lambda x, y: (0, 0, 0))
print("saved to out/frame.png")
"""

WRONG_SIZE = """
weights = load()
write_png("out/frame.png", 32, 24, slope)
print("saved to out/frame.png")
"""

CUT_OFF = """
weights = load()
write_png("out/frame.png", 64, 48, slope)
with open("out/frame.png", "r+b") as file:
    file.truncate(60)
print("saved to out/frame.png")
"""

SWALLOWED = """
import traceback
weights = load()
write_png("out/frame.png", 64, 48, slope)
try:
    raise ValueError("the second clip has no frames")
except ValueError:
    traceback.print_exc()
print("saved to out/frame.png")
"""

EXIT_CODE = GOOD + "sys.exit(3)\n"

KILLED = GOOD + "sys.stdout.flush(); os.kill(os.getpid(), 9)\n"

HANGS = GOOD + "sys.stdout.flush(); time.sleep(60)\n"

STAGES = """
weights = load()
write_png("out/frame.png", 64, 48, slope)
print("LOAD 812.5 ms | FWD 95.25 ms | POST 4.5 ms | TOTAL 912.25 ms")
print("LOAD 0 ms | FWD 40.5 ms | POST 4 ms | TOTAL 44.5 ms")
print("saved to out/frame.png")
"""

PROBED = """
from mgtop import probe
probe.load_begin()
weights = load()
probe.load_done()
with probe.request(width=64, height=48) as request:
    for number in range(2):
        with request.span("forward"):
            time.sleep(0.03 if number else 0.08)
        with request.span("encode"):
            write_png("out/frame.png", 64, 48, slope)
        request.frame()
print("saved to out/frame.png")
"""
