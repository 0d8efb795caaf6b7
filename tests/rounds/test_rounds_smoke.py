"""The smoke test before a sweep: where it fails, no round is run."""

from __future__ import annotations

import sys

import pytest
from round_programs import Workplace

pytestmark = pytest.mark.e2e

SMOKE = """
import struct, sys, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
width, height = 640, 360
print("Loading checkpoint shards: 100%", "All model weights loaded successfully", sep="\\n")
if len(sys.argv) > 1:
    sys.exit("RuntimeError: No CUDA GPUs are available")
rows = b"".join(b"\\0" + bytes((x + y) % 256 for x in range(3 * width)) for y in range(height))
with open("frame.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n")
    file.write(chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
    file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
print("saved to frame.png", flush=True)
"""


def test_a_smoke_test_that_passes_is_run_once(workplace: Workplace) -> None:
    (workplace.folder / "smoke.py").write_text(SMOKE)
    workplace.config(smoke={"command": [sys.executable, "smoke.py"], "output": "frame.png"})
    code, state, _ = workplace.carry_out(vary=["steps=4"])
    assert state.smoke == "passed"
    assert code == 0
    assert "smoke test: passed" in workplace.lines


def test_a_smoke_test_that_fails_stops_the_sweep(workplace: Workplace) -> None:
    (workplace.folder / "smoke.py").write_text(SMOKE)
    workplace.config(smoke={"command": [sys.executable, "smoke.py", "-"], "output": "frame.png"})
    code, state, _ = workplace.carry_out(vary=["steps=4"])
    assert code == 1
    assert state.status == "failed"
    assert state.message.startswith("the smoke test failed, so no round was run: no cuda")
    assert [found.status for found in state.rounds] == ["waiting"]
    assert state.rounds[0].session is None
