"""Memory from the probe to the report, with a torch that only pretends to have a GPU.

What is real: torch's modules, the probe, the FIFO, the recorder, the log, the commands. What the
pretended allocator stands for is checked against a GPU by ``benchmarks/gpu/memory.py``.
"""

from __future__ import annotations

import csv
import json
import subprocess
import time

import pytest
from machine import PYTHON, ROOT, Machine, until

pytest.importorskip("torch", reason="the pretended GPU replaces functions of the real torch")

pytestmark = pytest.mark.e2e

PROGRAM = """
import sys, time
sys.path.insert(0, ROOT)
from benchmarks.gpu.pretend import install
install()
import torch
from mgtop import probe
take = lambda mib: torch.empty(mib << 20, device="cuda")
probe.load_begin()
buffer = take(3000)
weights = take(2000)
del buffer
torch.cuda.empty_cache()
probe.load_done()
kept = []
with probe.request("a", width=640, height=360, steps=4, fps=50) as request:
    for i in range(130):
        time.sleep(0.02)
        kept.append(take(10))
        request.frame()
torch.cuda.set_per_process_memory_fraction(0.05)
try:
    with probe.request("b", fps=50) as request:
        for i in range(100):
            kept.append(take(100))
            request.frame()
            time.sleep(0.002)
except torch.OutOfMemoryError as error:
    print(f"torch.OutOfMemoryError: {error}", flush=True)
time.sleep(0.3)
None.shape
"""


def test_memory_of_a_whole_session(mgtop: Machine) -> None:
    program = mgtop.folder / "program.py"
    program.write_text(PROGRAM.replace("ROOT", repr(str(ROOT))))
    session = mgtop.folder / "session"
    recording = mgtop.start("run", "--headless", "--out", str(session), "--", PYTHON, str(program))
    asked: subprocess.CompletedProcess[str] | None = None
    end = time.monotonic() + 60
    while time.monotonic() < end and recording.poll() is None:
        asked = mgtop.run("report", str(session), "--segments")
        if asked.returncode == 0:
            break
        time.sleep(0.2)
    recording.wait(60)
    assert asked is not None
    assert asked.returncode == 0, asked.stderr
    assert "SEGMENTS" in asked.stdout
    assert "largest blocks" in asked.stdout
    (folder,) = (session / "snapshots").iterdir()
    assert len(list(folder.glob("segments-*.json"))) == 1
    assert next(folder.glob("segments-*.txt")).read_text() == asked.stdout
    assert until(lambda: not list(mgtop.folder.rglob("*.ask")), 2)

    report = json.loads(mgtop.run("report", str(session), "--json").stdout)
    memory = report["memory"]
    assert (memory["peak"]["source"], memory["total_mib"]) == ("framework", 80 * 1_024)
    load = memory["stages"]["load"]
    assert (load["allocated_mib"], load["reserved_mib"]) == (5_000, 5_000)
    assert memory["readings"]["resident"]["reserved_mib"] == 2_000
    (taken,) = memory["segment_maps"]
    assert (taken["request"], taken["error"]) == ("a", "")
    assert (session / taken["path"]).exists()
    # It ran out at 5 % of 80 GiB, in the second request; the error after it is another one.
    (oom,) = memory["ooms"]
    assert (oom["request"], oom["stage"]) == ("b", "steady")
    assert oom["amounts_mib"]["requested"] == 100
    # Emits 2 ms apart are too quick for all of them to be read.
    assert oom["allocated_mib"] == pytest.approx(3_300 + 100 * oom["frame"], abs=500)
    assert set(oom["seen"]) >= {"raised", "printed"}
    assert (report["verdict"]["code"], report["verdict"]["cause"]) == ("memory", "oom")

    rows = list(
        csv.DictReader(mgtop.run("report", str(session), "--memory-csv").stdout.splitlines())
    )
    assert [row["stage"] for row in rows] == ["load", "idle", "first_frame", "steady", "steady"]
    assert (rows[0]["steps"], rows[0]["resolution"]) == ("4", "640x360")
    assert (rows[0]["weights_resident_mib"], rows[0]["peak_extra_mib"]) == ("2000.0", "3000.0")
    assert "out of memory" in rows[-1]["note"]
