"""Are growth, and change, decided right? Real torch work on the CPU, whose answer is known.

python -m benchmarks.rounds                  both parts, some five minutes on two quiet cores
python -m benchmarks.rounds --part growth    20 seeds of each kind, rounds in this process
python -m benchmarks.rounds --part sessions  whole sweeps, and their repeats compared in pairs

Growth: four kinds of work (benchmarks/rounds_work.py) over 4, 8 and 16 steps, each seed with
its own sizes. A round is 2 warm-up frames and 30 counted ones, whose median counts; rounds run
in the order of a sweep. The CPU time that the same frames took is decided upon as well: where
the machine is busy, it tells the method from the machine. Sessions: ``mgtop sweep`` runs the
same work as programs of its own; then every two repeats of one setting are compared, where
whatever is called a change is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median

from mgtop.rounds.compare import compare
from mgtop.rounds.linearity import Tier, decide
from mgtop.rounds.schedule import schedule
from mgtop.rounds.variables import Variable

ROOT = Path(__file__).parent.parent
STEPS = Variable(name="steps", values=[4, 8, 16])
WARM_UP, COUNTED = 2, 30
SESSION_FRAMES = 120


def growth(seeds: int, repeats: int) -> None:
    import torch

    from benchmarks.rounds_work import KINDS, Work, frame_times_ms

    torch.set_num_threads(1)
    print(f"Growth decided over {seeds} seeds, {repeats} repeats of 4, 8 and 16 steps")
    print(f"{'':<12}{'-- by the clock --':^30}{'-- by CPU time --':^30}")
    columns = f"{'right':>7}{'undec.':>7}{'wrong':>6}{'scatter':>9} "
    print(f"{'kind':<12}{columns}{columns}{'ms a frame':>16}")
    for kind in KINDS:
        decided: list[Counter[str]] = [Counter(), Counter()]
        scatter: list[list[float]] = [[], []]
        spans = []
        for seed in range(seeds):
            work = Work(kind, seed)
            rounds: dict[int, list[tuple[float, float]]] = {4: [], 8: [], 16: []}
            for step in schedule([STEPS], repeats):
                steps = step.setting["steps"]
                found = frame_times_ms(work.frame, steps, WARM_UP + COUNTED)[WARM_UP:]
                rounds[steps].append((median(t[0] for t in found), median(t[1] for t in found)))
            for clock in (0, 1):
                times = {steps: [its[clock] for its in found] for steps, found in rounds.items()}
                tiers = [Tier(steps, found) for steps, found in times.items()]
                decided[clock][decide(tiers).kind] += 1
                scatter[clock] += [(max(t) - min(t)) / median(t) for t in times.values()]
            spans.append([median(its[1] for its in rounds[steps]) for steps in (4, 16)])
        text = f"{kind:<12}"
        for clock in (0, 1):
            right, undecided = decided[clock][kind], decided[clock]["undecided"]
            text += f"{right:>7}{undecided:>7}{seeds - right - undecided:>6}"
            text += f"{100 * median(scatter[clock]):>7.1f} % "
        low, high = (median(span[n] for span in spans) for n in (0, 1))
        print(f"{text}{f'{low:.1f} → {high:.1f}':>16}", flush=True)


def sessions(repeats: int) -> None:
    from benchmarks.rounds_work import KINDS

    print(f"\nWhole sweeps, one of each kind, {repeats} repeats")
    print(f"{'kind':<12}{'decided':<13}{'slopes, ms a step (95 %)'}")
    pairs: list[tuple[Path, Path]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for kind in KINDS:
            data = _sweep(Path(temporary), kind, repeats)
            line = data["linearity"]
            slopes = ", ".join(
                f"{slope:.3f} ({low:.3f} to {high:.3f})"
                for slope, low, high in zip(line["slopes"], line["low"], line["high"], strict=True)
            )
            print(f"{kind:<12}{line['kind']:<13}{slopes}", flush=True)
            by_steps: dict[int, list[Path]] = {}
            for row in data["rounds"]:
                by_steps.setdefault(row["params"]["steps"], []).append(Path(row["session"]))
            for its in by_steps.values():
                pairs += itertools.combinations(its, 2)
        _compare(pairs)


def _sweep(folder: Path, kind: str, repeats: int) -> dict:
    config = folder / f"{kind}.yaml"
    command = [sys.executable, "-m", "benchmarks.rounds_work", kind, "{steps}", "7",
               str(SESSION_FRAMES)]  # fmt: skip
    config.write_text(json.dumps({"command": command, "cwd": str(ROOT), "params": {"steps": 8}}))
    words = [sys.executable, "-m", "mgtop", "sweep", str(config), "--vary", "steps=4,8,16",
             "--repeats", str(repeats), "--json", "--out", str(folder / kind)]  # fmt: skip
    env = {**os.environ, "MGTOP_RUNTIME": str(folder / "runtime")}
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def _compare(pairs: list[tuple[Path, Path]]) -> None:
    changed: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    largest: dict[str, float] = {}
    for pair in pairs:
        for name, metric in compare(pair).metrics.items():
            if metric.changed[1] is not None:
                asked[name] += 1
                changed[name] += metric.changed[1]
                largest[name] = max(largest.get(name, 0.0), abs(metric.change_percent[1] or 0.0))
    print(f"\nTwo repeats of the same settings, compared: {len(pairs)} pairs")
    print(f"{'figure':<28}{'called changed':>15}{'largest difference':>20}")
    for name, count in asked.items():
        print(f"{name:<28}{f'{changed[name]} of {count}':>15}{largest[name]:>18.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["growth", "sessions", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--repeats", type=int, default=3, choices=range(2, 21), metavar="N")
    given = parser.parse_args()
    begin = time.monotonic()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    if given.part != "sessions":
        growth(given.seeds, given.repeats)
    if given.part != "growth":
        sessions(given.repeats)
    print(f"\ntook {time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
