"""What mgtop does to a workload: frame times of three generators with and without it.

    python -m benchmarks.gpu.effect [--device cuda] [--pairs 30] [--seconds 4]
        [--beside nothing,mgtop,nvitop,nvidia-smi] [--out FILE] [--limit-s N]

Three generators with frames of 16 ms and more (benchmarks/gpu/effect_programs): one that uses the
probe, one that is watched by hooks alone, one of blocks with a prefetch thread and allocations.
Each round runs each of them alone, and beside each of the others, in an order that turns from
round to round, so that a drifting machine favours nobody: `mgtop` with hooks, probe, recorder
(NVML, host) and a view in a pseudo-terminal; nvitop in one; `nvidia-smi -lms 100`; and `nothing`,
once more alone, which tells how small a change can be told at all.

Prints the change of P50, P95 and P99 in percent: the median over the pairs, and the 95 % upper
limit by bootstrap over pairs. Goal: at most 0.5 % at P50, 2 % at P99; exit code 1 where a
limit is above. A pair takes some 20 s for each generator. With ``--out`` finished runs are kept:
the same command goes on from them, and ``--limit-s`` ends it in time.
``--device cpu`` rehearses all of it without a GPU, and says nothing of one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

PROGRAMS = Path(__file__).parent / "effect_programs"
ROOT = Path(__file__).parents[2]
GENERATORS = ("probed", "hooked", "blocks")
BESIDE = ("nothing", "mgtop", "nvitop", "nvidia-smi")
QUANTILES = {"P50": 0.5, "P95": 0.95, "P99": 0.99}
GOALS_PERCENT = {"P50": 0.5, "P99": 2.0}
RESAMPLES = 10_000
HOOKS = """
name: effect
command: {command}
cwd: {folder}
frames:
  from: hooks
  hooks:
    - {{target: "pipeline:Pipeline.step", span: forward}}
    - {{target: "pipeline:Pipeline.decode", event: frame_emit, span: vae_decode}}
"""


def quantile(values: list[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def change(pairs: list[tuple[float, float]], seed: int = 0) -> tuple[float, float]:
    """Median change over pairs (without, with), in percent, and its 95 % upper limit."""
    changes = [100 * (with_ / without - 1) for without, with_ in pairs]
    chance = random.Random(seed)
    medians = sorted(median(chance.choices(changes, k=len(changes))) for _ in range(RESAMPLES))
    return median(changes), medians[int(0.95 * RESAMPLES)]


@contextlib.contextmanager
def in_terminal(command: list[str]) -> Iterator[None]:
    """A program with a screen, 120x40, for as long as the block lasts."""
    master, slave = pty.openpty()
    program = subprocess.Popen(
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        start_new_session=True,
    )
    os.close(slave)
    threading.Thread(target=_drain, args=(master,), daemon=True).start()
    try:
        yield
    finally:
        program.kill()
        program.wait()


def _drain(master: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(master, 65_536):
            pass


def run(generator: str, beside: str | None, device: str, seconds: float) -> dict[str, Any]:
    """One run: quantiles of its frame times in ms, and how many frames there were."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out = folder / "times.json"
        script = str(PROGRAMS / f"{generator}.py")
        command = [sys.executable, script, device, str(seconds), str(out)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "MGTOP_RUNTIME": f"{name}/runtime"}
        if beside == "mgtop":
            _under_mgtop(generator, command, folder, environment)
        else:
            with contextlib.ExitStack() as stack:
                if beside == "nvitop":
                    stack.enter_context(in_terminal([sys.executable, "-m", "nvitop"]))
                elif beside == "nvidia-smi":
                    smi = subprocess.Popen(["nvidia-smi", "-lms", "100"], **quiet)
                    stack.callback(smi.wait)
                    stack.callback(smi.kill)
                subprocess.run(command, check=True, env=environment, **quiet)
        times = [1e3 * t for t in json.loads(out.read_text())]
    return {"frames": len(times)} | {n: quantile(times, q) for n, q in QUANTILES.items()}


def _under_mgtop(
    generator: str, command: list[str], folder: Path, environment: dict[str, str]
) -> None:
    """Run it under mgtop with a view, and see to it that its frames were recorded."""
    session = folder / "session"
    mgtop = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(session)]
    if generator == "hooked":
        configuration = folder / "hooks.yaml"
        text = HOOKS.format(command=json.dumps(command), folder=json.dumps(str(PROGRAMS)))
        configuration.write_text(text)
        mgtop.append(str(configuration))
    else:
        mgtop += ["--", *command]
    log = folder / "mgtop.txt"
    with log.open("w") as file:
        recording = subprocess.Popen(mgtop, stdout=file, stderr=file, env=environment)
        while not (session / "session.log").exists():
            if recording.poll() is not None:
                raise SystemExit(f"mgtop run failed: {log.read_text()}")
            time.sleep(0.02)
        with in_terminal([sys.executable, "-m", "mgtop", "view", str(session)]):
            code = recording.wait()
    if code != 0:
        raise SystemExit(f"mgtop run ended with {code}: {log.read_text()}")
    from mgtop.session.reader import read_all
    from mgtop.wire.records import FrameEmit

    if not any(isinstance(record, FrameEmit) for record in read_all(session)):
        raise SystemExit(f"no frame of {generator} was recorded: that measures nothing")


def available(names: list[str]) -> list[str]:
    """Those of the others that are here; says which are not."""
    found = []
    for name in names:
        missing = None
        if name in ("nvitop", "nvidia-smi") and shutil.which("nvidia-smi") is None:
            missing = "there is no NVIDIA driver here"
        elif name == "nvitop" and not _has_nvitop():
            missing = "it is not installed (pip install nvitop)"
        if missing is None:
            found.append(name)
        else:
            print(f"without {name}: {missing}")
    return found


def _has_nvitop() -> bool:
    from importlib.util import find_spec

    return find_spec("nvitop") is not None


def told(runs: list[dict[str, Any]], generator: str, beside: str) -> tuple[list[str], bool]:
    """A line for each quantile of a generator beside something; whether the goals are met."""
    found = {(r["round"], r["beside"]): r for r in runs if r["generator"] == generator}
    rounds = [n for (n, what) in found if what == beside and (n, None) in found]
    lines, met = [], True
    if len(rounds) < 2:
        return [], True
    frames = sum(found[n, beside]["frames"] for n in rounds)
    for name in QUANTILES:
        pairs = [(found[n, None][name], found[n, beside][name]) for n in rounds]
        middle, limit = change(pairs)
        goal = GOALS_PERCENT.get(name) if beside == "mgtop" else None
        verdict = "" if goal is None else f"  goal {goal} %: {'met' if limit <= goal else 'MISSED'}"
        met = met and (goal is None or limit <= goal)
        lines.append(
            f"{generator:8} {beside:11} {name}  {median(a for a, _ in pairs):7.2f} ms alone  "
            f"{middle:+6.2f} %  95 % upper limit {limit:+6.2f} %  "
            f"({len(pairs)} pairs, {frames:,} frames){verdict}"
        )
    return lines, met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=4, help="of frames, in each run")
    parser.add_argument("--beside", default=",".join(BESIDE), help="what to compare with alone")
    parser.add_argument("--generators", default=",".join(GENERATORS))
    parser.add_argument("--out", type=Path, help="keep finished runs here, and go on from them")
    parser.add_argument("--limit-s", type=float, help="begin no round that would end later")
    options = parser.parse_args()
    beside = available(options.beside.split(","))
    runs: list[dict[str, Any]] = []
    if options.out is not None and options.out.exists():
        runs = [json.loads(line) for line in options.out.read_text().splitlines()]
    done = {(r["round"], r["generator"], r["beside"]) for r in runs}
    began, longest, loads = time.monotonic(), 0.0, [os.getloadavg()[0]]
    for number in range(options.pairs):
        round_began = time.monotonic()
        if options.limit_s and round_began - began + 1.2 * longest > options.limit_s:
            print(f"{number} of {options.pairs} rounds are done; the same command goes on.")
            break
        order: list[str | None] = [None, *beside]
        turn = number % len(order)
        order = order[turn:] + order[:turn]
        for generator in options.generators.split(","):
            for one in order:
                if (number, generator, one) in done:
                    continue
                result = run(generator, one, options.device, options.seconds)
                runs.append({"round": number, "generator": generator, "beside": one} | result)
                if options.out is not None:
                    with options.out.open("a") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
        longest = max(longest, time.monotonic() - round_began)
        loads.append(os.getloadavg()[0])
        print(f"round {number + 1} of {options.pairs}", file=sys.stderr, flush=True)
    if options.device == "cpu":
        print("A rehearsal on a CPU: it says nothing of a GPU.")
    print(f"{os.cpu_count()} cores, load {min(loads):.1f} to {max(loads):.1f}")
    all_met = True
    for generator in options.generators.split(","):
        for one in beside:
            lines, met = told(runs, generator, one)
            all_met = all_met and met
            print("\n".join(lines))
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
