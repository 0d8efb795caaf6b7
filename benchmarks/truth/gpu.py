"""Score the causes that need a GPU, on a GPU.

    python -m benchmarks.truth.gpu [--seconds 16] [--out FILE]

Needs an NVIDIA GPU, torch and av; takes about five minutes. The demo runs with each of its
faults on the GPU, once clean, and then four programs of their own kind: a reclaim that is small
beside a sleep (which must not be named), another process that takes the GPU, an out-of-memory
error, and a loop whose GPU idles. Prints a table and writes the figures as JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.truth.score import Count

FAULTS = {
    "vram": "alloc_retry",
    "compute": "compute",
    "cpu": "supply",
    "gc": "gc",
    "output": "output",
    "stall": "blocked",
    "queue": "queue",
    "compile": "compile",
}
SPARED_EMITS = 3
"""The first emits of a request have no baseline of their own."""

SMALL_RECLAIM = r"""
import json, os, sys, time, torch
from mgtop import probe
torch.cuda.set_per_process_memory_fraction(0.06)
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
cap = int(torch.cuda.get_device_properties(0).total_memory * 0.06)
truth = open(os.path.join(os.environ["MGTOP_SESSION"], "truth.json"), "w")
with probe.request("r", fps=20) as request:
    request.preprocess_done()
    for emit in range(int(float(sys.argv[1]) * 20)):
        strike = emit > 40 and emit % 30 == 0
        with request.span("forward"):
            for _ in range(60): y = x @ x
            if strike:
                held = [torch.empty(400 << 20, dtype=torch.uint8, device="cuda") for _ in range(8)]
                del held
                big = torch.empty(int(cap * 0.7), dtype=torch.uint8, device="cuda"); del big
                torch.cuda.empty_cache()
            torch.cuda.synchronize()
        if strike:
            began = time.monotonic_ns(); time.sleep(0.2)
            truth.write(json.dumps({"request": "r", "emit": emit, "cause": "blocked",
                "injected_ms": (time.monotonic_ns() - began) / 1e6}) + "\n"); truth.flush()
        request.frame()
"""
NEIGHBOUR = r"""
import json, os, subprocess, sys, time, torch
from mgtop import probe
other = '''
import sys, time, torch
y = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
print("ready", flush=True)
for line in sys.stdin:
    end = time.monotonic() + float(line)
    held = torch.empty(2 << 30, dtype=torch.uint8, device="cuda")
    while time.monotonic() < end:
        for _ in range(8): y @ y
        torch.cuda.synchronize()
    del held; torch.cuda.empty_cache()
    print("done", flush=True)
'''
b = subprocess.Popen(["setsid", sys.executable, "-c", other], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, text=True)
b.stdout.readline()
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
truth = open(os.path.join(os.environ["MGTOP_SESSION"], "truth.json"), "w")
with probe.request("r", fps=20) as request:
    request.preprocess_done()
    for emit in range(int(float(sys.argv[1]) * 20)):
        strike = emit > 40 and emit % 30 == 0
        if strike:
            b.stdin.write("0.25\n"); b.stdin.flush(); time.sleep(0.003)
        began = time.monotonic_ns()
        with request.span("forward"):
            for _ in range(240): y = x @ x
            torch.cuda.synchronize()
        if strike:
            truth.write(json.dumps({"request": "r", "emit": emit, "cause": "neighbour",
                "injected_ms": (time.monotonic_ns() - began) / 1e6}) + "\n"); truth.flush()
        request.frame()
        if strike: b.stdout.readline()
b.stdin.close(); b.wait(10)
"""
OUT_OF_MEMORY = r"""
import sys, torch
from mgtop import probe
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
with probe.request("r", fps=20) as request:
    request.preprocess_done()
    for emit in range(80):
        with request.span("forward"):
            for _ in range(60): y = x @ x
            torch.cuda.synchronize()
        request.frame()
        if emit == 60:
            torch.empty(400 << 30, dtype=torch.uint8, device="cuda")
"""


def mgtop(*words: str) -> subprocess.CompletedProcess[str]:
    """One command of mgtop."""
    command = [sys.executable, "-m", "mgtop", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def report_of(folder: Path) -> dict[str, Any]:
    """The session's report."""
    done = mgtop("report", str(folder), "--json")
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def strikes_of(folder: Path) -> list[dict[str, Any]]:
    """What was really done."""
    return [json.loads(line) for line in (folder / "truth.json").read_text().splitlines()]


def score(report: Mapping[str, Any], strikes: list[dict[str, Any]], cause: str) -> dict[str, Any]:
    """Strikes found as late frames, named rightly, and explained within a quarter."""
    warmup = {request["id"] for request in report["requests"] if request["warmup"]}
    tails = {(tail["request"], tail["emit"]): tail for tail in report["tails"]["frames"]}
    usual = report["interval_ms"]["p50"] or 0.0
    found: list[bool] = []
    right: list[bool] = []
    near: list[bool] = []
    named: Counter[str] = Counter()
    idle: Counter[str] = Counter()
    for strike in strikes:
        if strike["request"] in warmup or strike["emit"] < SPARED_EMITS:
            continue
        if strike["injected_ms"] < 1.1 * usual:
            continue  # need not be a late frame
        tail = tails.get((strike["request"], strike["emit"]))
        if tail is None:  # what struck after the emit's own work shows in the next one
            tail = tails.get((strike["request"], strike["emit"] + 1))
        found.append(tail is not None)
        if tail is None:
            named["not found"] += 1
            continue
        named[tail["cause"] or "not judged"] += 1
        right.append(tail["cause"] == cause)
        share = sum(c["explained_ms"] for c in tail["causes"] if c["name"] == cause)
        near.append(abs(share - tail["excess_ms"]) <= 0.25 * tail["excess_ms"])
        for item in tail["evidence"]:
            if item["channel"] == "gpu_idle":
                idle[item["state"]] += 1
    return {
        "strikes": len(found),
        "found": sum(found),
        "right": sum(right),
        "near": sum(near),
        "named": dict(named),
        "gpu_idle": dict(idle),
    }


def run_demo(folder: Path, seconds: float, fault: str | None) -> dict[str, Any]:
    """The demo on the GPU with one fault, or clean."""
    words = ["demo", "--device", "cuda", "--headless", "--seconds", str(seconds), "--requests", "0"]
    if fault is not None:
        words += ["--fault", f"{fault}:every=1s"]
    done = mgtop(*words, "--out", str(folder))
    if done.returncode:
        raise SystemExit(done.stderr)
    return report_of(folder)


def run_program(folder: Path, text: str, seconds: float) -> dict[str, Any]:
    """A program of its own kind."""
    folder.mkdir()
    script = folder / "program.py"
    script.write_text(text)
    mgtop(
        "run", "--headless", "--out", str(folder / "s"), "--", sys.executable, str(script),
        str(seconds),
    )  # fmt: skip
    return report_of(folder / "s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=16)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"seconds": options.seconds, "faults": {}}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for fault, cause in FAULTS.items():
            report = run_demo(work / fault, options.seconds, fault)
            result["faults"][fault] = score(report, strikes_of(work / fault), cause)
            print(fault, result["faults"][fault], flush=True)
        report = run_demo(work / "clean", 2 * options.seconds, None)
        frames = sum(request["frames"] for request in report["requests"])
        wrong = [t["cause"] for t in report["tails"]["frames"] if t["cause"] != "unexplained"]
        result["clean"] = {"frames": frames, "named": wrong, "tails": report["tails"]["count"]}
        print("clean", result["clean"], flush=True)
        for key, text, cause in (
            ("small_reclaim", SMALL_RECLAIM, "blocked"),
            ("neighbour", NEIGHBOUR, "neighbour"),
        ):
            report = run_program(work / key, text, options.seconds)
            result[key] = score(report, strikes_of(work / key / "s"), cause)
            print(key, result[key], flush=True)
        report = run_program(work / "oom", OUT_OF_MEMORY, options.seconds)
        result["oom"] = {
            "ooms": report["memory"]["ooms"],
            "verdict": report["verdict"]["code"],
            "text": report["verdict"]["text"],
            "exit_code": report["target"]["exit_code"],
        }
        print("oom", result["oom"], flush=True)
    total = [result["faults"][fault] for fault in FAULTS]
    for what, base in (("found", "strikes"), ("right", "found"), ("near", "found")):
        share = Count(sum(f[what] for f in total), sum(f[base] for f in total))
        result[what] = {"hits": share.hits, "n": share.n, "share": share.share}
        print(what, result[what])
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
