"""Score the causes that need a GPU: one command, some five minutes on an H200.

    python -m benchmarks.truth.gpu --out gpu.json

Real stalls of the allocator (hundreds of small segments released at the limit), and a reclaim
of a millisecond that must not be named; idle time of the GPU beside sleeps of known length;
more work on it; compilations by Inductor, with and without CUDA graphs; running out of memory;
neighbours. Prints the tables and writes one JSON file, also where time ran out.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.truth.run import ROOT, await_start, paths, report_of
from benchmarks.truth.score import RunScore, confusion, count, judge, metrics
from benchmarks.truth.table import goals, matrix
from benchmarks.truth.truth import Strike, Truth, TruthFile
from benchmarks.truth.witness import Witness


class Part(NamedTuple):
    """One run."""

    name: str
    faults: tuple[str, ...]
    seconds: float
    every: float = 8


PAIRS = (
    "gpu_supply+gpu_compute",
    "gpu_stall+gpu_compute",
    "gpu_stall_mid+gpu_supply",
    "gpu_supply+reclaim",
    "gpu_stall+reclaim",
    "gpu_compute+reclaim",
)
"""Two at once, each with a third of the time at least."""
PARTS = (
    Part("work", ("gpu_stall", "gpu_stall_mid", "gpu_supply", "gpu_compute"), 45),
    Part("memory", ("reclaim", "small_reclaim"), 45),
    Part("pairs", PAIRS, 45),
    Part("compile", ("recompile", "regraph"), 55, 12),
    Part("oom", ("oom",), 15),
    Part("neighbour", (), 36),
    Part("clean", (), 20),
)
NEIGHBOURS = 2
IDLE_FAULTS = ("gpu_stall", "gpu_stall_mid", "gpu_supply", "small_reclaim")
"""Faults during which the GPU has nothing to do: the symptom must show, as long as they are."""
NEAR = 0.25


def main() -> int:
    options = options_of()
    work = options.keep or Path(tempfile.mkdtemp(prefix="mgtop-truth-gpu-"))
    deadline = time.monotonic() + 60 * options.minutes
    found: dict[str, Any] = {"machine": machine(), "seed": options.seed, "parts": {}}
    scores: list[tuple[Part, RunScore]] = []
    for part in PARTS:
        if options.only and part.name not in options.only:
            continue
        if time.monotonic() + part.seconds + 25 > deadline:
            found["parts"][part.name] = "no time was left"
            continue
        folder = work / part.name
        try:
            score, idle = run(part, folder, options)
        except (SystemExit, subprocess.TimeoutExpired, OSError) as error:
            found["parts"][part.name] = f"failed: {error}; {tail_of(folder / 'output.txt')}"
            continue
        scores.append((part, score))
        found["parts"][part.name] = {
            "judged": len(score.judged),
            "emits": score.emits,
            "gpu_idle": idle,
            "confusion": confusion(score.judged),
        }
    faulty = [score for part, score in scores if part.name != "clean"]
    clean = [score for part, score in scores if part.name == "clean"]
    found["metrics"] = metrics(faulty, clean)
    found["confusion"] = confusion(j for score in faulty for j in score.judged)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    if options.keep is None:
        shutil.rmtree(work, ignore_errors=True)
    print(render(found))
    return 0


def options_of() -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.gpu",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--out", type=Path, metavar="FILE", help="write the result as JSON")
    add("--keep", type=Path, metavar="DIR", help="keep every run there")
    add("--seed", type=int, default=100)
    add("--minutes", type=float, default=8.5, help="start no run that would end later")
    add("--only", nargs="+", choices=[part.name for part in PARTS])
    add("--device", default="cuda", choices=("cuda", "cpu"), help="cpu: only to try it out")
    return parser.parse_args()


def run(part: Part, folder: Path, options: Any) -> tuple[RunScore, dict[str, Any]]:
    """Run one part and judge it.

    Returns:
        The score, and how the symptom ``gpu_idle`` did.

    Raises:
        SystemExit: it did not start.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seen, struck = TruthFile(folder / "witness.jsonl"), TruthFile(folder / "strikes.jsonl")
    command = [
        sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(folder / "session"), "--",
        sys.executable, "-m", "benchmarks.truth.gpu_generator", "--seconds", str(part.seconds),
        "--truth", str(folder / "truth.jsonl"), "--seed", str(options.seed),
        "--every", str(part.every), "--device", options.device,
        *(word for fault in part.faults for word in ("--fault", fault)),
    ]  # fmt: skip
    witness = Witness(seen)
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths()},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            await_start(folder, process)
            witness.start()
            if part.name == "neighbour" and options.device == "cuda":
                disturb(part.seconds, options.seed, struck)
            process.wait(timeout=part.seconds + 60)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            if witness.is_alive():
                witness.close()
            seen.close()
            struck.close()
    truth = Truth.read(folder / f"{name}.jsonl" for name in ("truth", "strikes", "witness"))
    report = report_of(folder / "session")
    return judge(truth, report, "gpu", "spans"), idle_scores(truth, report)


def disturb(seconds: float, seed: int, truth: TruthFile) -> None:
    """Neighbours that come for a short while at random times, known to ``truth``."""
    draw = random.Random(seed)
    others = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.truth.gpu_faults"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": paths()},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(NEIGHBOURS)
    ]
    end = time.monotonic() + seconds
    try:
        told(others)
        while time.monotonic() < end - 2:
            time.sleep(draw.uniform(1.0, 2.0))
            began_ns = time.monotonic_ns()
            for other in others:
                assert other.stdin is not None
                other.stdin.write(f"{draw.uniform(0.2, 0.35):.3f}\n")
                other.stdin.flush()
            told(others)
            truth.strike(Strike("neighbour", None, None, began_ns, time.monotonic_ns()))
    finally:
        for other in others:
            with suppress(OSError, ValueError):
                other.communicate(timeout=20)
            if other.poll() is None:
                other.kill()
                other.wait()


def told(others: Sequence[subprocess.Popen[str]]) -> None:
    """Wait for a line of each."""
    for other in others:
        assert other.stdout is not None
        if not other.stdout.readline():
            raise OSError("a neighbour ended too early")


def idle_scores(truth: Truth, report: Mapping[str, Any]) -> dict[str, Any]:
    """How often idle time of the GPU was seen during sleeps, and how near their length."""
    tails = {tail["index"]: tail for tail in report["tails"]["frames"]}
    present, near = [], []
    for strike in truth.strikes:
        tail = tails.get(strike.emit) if strike.fault in IDLE_FAULTS else None
        if tail is None:
            continue
        row = next(e for e in tail["evidence"] if e["channel"] == "gpu_idle")
        present.append(row["state"] == "present")
        injected = (strike.end_ns - strike.begin_ns) / 1e6
        if row["value"] is not None and row["source"] == "CUDA events":
            near.append(abs(row["value"] - injected) <= NEAR * injected)
    return {"present": count(present).as_dict(), "within_25_percent": count(near).as_dict()}


def machine() -> dict[str, Any]:
    """GPU, driver, torch."""
    try:
        import torch

        name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"
        return {"gpu": name, "torch": torch.__version__, "cores": os.cpu_count()}
    except ImportError:
        return {"gpu": None, "torch": None, "cores": os.cpu_count()}


def tail_of(path: Path) -> str:
    """The last lines of a file."""
    return path.read_text()[-600:] if path.exists() else ""


def render(found: Mapping[str, Any]) -> str:
    """The tables."""
    about = found["machine"]
    lines = [f"{about['gpu']}, torch {about['torch']}, {about['cores']} cores", ""]
    lines += goals({"all": found["metrics"], "characters": {}})
    lines += ["", *matrix(found["confusion"]), ""]
    for name, part in found["parts"].items():
        if isinstance(part, str):
            lines.append(f"{name}: {part}")
            continue
        idle = part["gpu_idle"]["present"], part["gpu_idle"]["within_25_percent"]
        if idle[0]["n"]:
            shown = [f"{c['hits']}/{c['n']}" for c in idle]
            lines.append(f"{name}: gpu_idle seen {shown[0]}, within 25 % {shown[1]}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
