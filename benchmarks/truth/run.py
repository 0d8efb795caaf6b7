"""Score mgtop's causes against the truth.

    python -m benchmarks.truth.run [--quick] [--seeds A..B] [--levels …] [--characters …]

Each run starts a generator under ``mgtop run --headless``, with faults at random known times
(those of its seed), then asks ``mgtop report --json`` and compares. Runs follow one another.
``--keep DIR`` keeps them; ``--again DIR`` asks for the reports of kept runs anew and scores
those, without running anything. One pass takes some 25 minutes for two seeds, with ``--quick``
four for one.

Thresholds were fitted on seeds 0 to 9; what is published is of seeds from 100 on.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.truth.cells import ALL_CHARACTERS, DEMO_CHARACTERS, DEMO_MS, Cell, cells
from benchmarks.truth.expected import LEVELS
from benchmarks.truth.outside import (
    MemoryGroup,
    NotHere,
    Prepared,
    context_of,
    prepare,
    strike_at_random,
)
from benchmarks.truth.parts import hooks
from benchmarks.truth.results import Scored, results
from benchmarks.truth.score import judge
from benchmarks.truth.table import render
from benchmarks.truth.truth import Truth, TruthFile
from benchmarks.truth.witness import Witness

ROOT = Path(__file__).parents[2]
TRUTH_FILES = ("truth.jsonl", "emits.jsonl", "strikes.jsonl", "witness.jsonl")
NICE = -15
"""Priority of the generators: others who use the machine are no part of the experiment."""
DEMO_LOADS_S = 7
MOST_CORES = 1.6
"""A run during which other programs took more than this, on average, is run once more."""


def main() -> int:
    options = options_of()
    work = options.again or options.keep or Path(tempfile.mkdtemp(prefix="mgtop-truth-"))
    work.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    try:
        if options.again is None:
            for cell in cells(options.characters, options.levels, options.seeds, options.quick):
                run(cell, work / cell.name, options.characters)
        scored = score_all(work, options)
    finally:
        if options.again is None and options.keep is None:
            shutil.rmtree(work, ignore_errors=True)
    took = time.monotonic() - began if options.again is None else None
    found = results(scored, options.seeds, took)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(render(found))
    return 0


def options_of() -> Any:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.truth.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="one seed, short runs, two characters")
    add("--seeds", type=seeds_of, metavar="A..B", help="default: 100..101")
    add("--levels", nargs="+", choices=LEVELS, default=LEVELS)
    add("--characters", nargs="+", choices=ALL_CHARACTERS)
    add("--keep", type=Path, metavar="DIR", help="keep every run there")
    add("--again", type=Path, metavar="DIR", help="score the runs kept there, with new reports")
    add("--out", type=Path, metavar="FILE", help="write the result as JSON")
    options = parser.parse_args()
    if options.seeds is None:
        options.seeds = [100] if options.quick else [100, 101]
    if options.characters is None:
        options.characters = ("single", "worker") if options.quick else ALL_CHARACTERS
    return options


def seeds_of(text: str) -> list[int]:
    """``3`` or ``0..9``."""
    first, _, last = text.partition("..")
    return list(range(int(first), int(last or first) + 1))


# ------------------------------------------------------------------------------ running


def run(cell: Cell, folder: Path, characters: Sequence[str]) -> None:
    """Run one cell; once more where other programs disturbed it much."""
    for attempt in (1, 2):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        cores = run_once(cell, folder)
        if cores <= MOST_CORES:
            break
        print(f"{cell.name}: others used {cores:.1f} cores (attempt {attempt})", file=sys.stderr)
    load = os.getloadavg()[0]
    about = {**cell.__dict__, "outside_cores": round(cores, 2), "load_average": round(load, 2)}
    (folder / "cell.json").write_text(json.dumps(about))


def run_once(cell: Cell, folder: Path) -> float:
    """Run a generator under mgtop; return how many cores other programs used."""
    outside = cell.faults[0] if cell.kind == "outside" else None
    core = max(os.sched_getaffinity(0))
    try:
        prepared = prepare(outside, folder)
    except NotHere as error:
        (folder / "not-here.txt").write_text(str(error))
        return 0.0
    environment = {**os.environ, "PYTHONPATH": paths()}
    if cell.level == "observe":
        environment["MGTOP_PROBE"] = "off"
    command = [
        sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(folder / "session"),
        *(["--seconds", str(cell.seconds + DEMO_LOADS_S)] if is_demo(cell) else []),
        *started(cell, folder, command_of(cell, folder, outside, core, prepared)),
    ]  # fmt: skip
    seen = TruthFile(folder / "witness.jsonl")
    witness = Witness(seen)
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            pid = await_start(folder, process)
            witness.start()
            if outside is not None:
                disturb(cell, outside, pid, core, prepared, folder)
            process.wait(timeout=cell.seconds + 60)
        except NotHere as error:
            (folder / "not-here.txt").write_text(str(error))
            process.terminate()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
            if witness.is_alive():
                witness.close()
            seen.close()
            if isinstance(prepared, MemoryGroup):
                prepared.remove()
                (folder / "weights.bin").unlink(missing_ok=True)
    return witness.mean_cores


def started(cell: Cell, folder: Path, command: list[str]) -> list[str]:
    """How ``mgtop run`` is told: the command alone, or a configuration that holds the hooks."""
    if cell.level != "hooks":
        return ["--", *command]
    config = folder / "hooked.yaml"
    frames = {"from": "hooks", "hooks": hooks()}
    # JSON is YAML, and needs no quoting rules of our own.
    config.write_text(json.dumps({"command": command, "cwd": str(ROOT), "frames": frames}))
    return [str(config)]


def is_demo(cell: Cell) -> bool:
    """Whether it is the bundled demo, which runs until it is stopped."""
    return cell.character in DEMO_CHARACTERS


def command_of(
    cell: Cell, folder: Path, outside: str | None, core: int, prepared: Prepared | None
) -> list[str]:
    """The generator's command line."""
    python = [sys.executable, "-m"]
    if is_demo(cell):
        return [
            *python, "benchmarks.truth.demo_clock", "--emits", str(folder / "emits.jsonl"),
            "--nice", str(NICE), "--", *demo_options(cell, folder),
        ]  # fmt: skip
    words = [
        *python, "benchmarks.truth.generators", cell.character,
        "--seconds", str(cell.seconds), "--seed", str(cell.seed), "--nice", str(NICE),
        "--truth", str(folder / "truth.jsonl"), "--log", str(folder / "frames.log"),
    ]  # fmt: skip
    if cell.level == "no_spans":
        words.append("--no-spans")
    if cell.level == "hooks":
        words.append("--hooked")
    if outside is None:
        words += [word for fault in cell.faults for word in ("--fault", fault)]
    elif outside == "slow_reader":
        words += ["--output", str(folder / "pipe")]
    elif isinstance(prepared, MemoryGroup):
        weights = str(folder / "weights.bin")
        words += ["--memory-group", str(prepared.path), "--weights", weights]
    elif outside in ("hog", "quota"):
        words += ["--core", str(core)]
    return words


def demo_options(cell: Cell, folder: Path) -> list[str]:
    """The demo takes one length for each fault and run: drawn from the seed."""
    block = int(cell.character.rpartition("-")[2])
    draw = random.Random(f"{cell.seed} {block}")
    words = [
        "--block", str(block), "--requests", "1", "--frames", "1000000",
        "--seed", str(cell.seed), "--truth", str(folder / "truth.jsonl"),
        "--out", str(folder / "videos"), "--device", "cpu",
    ]  # fmt: skip
    sizes = {fault: 1.3 * (10 / 1.3) ** draw.random() * DEMO_MS[block] for fault in cell.faults}
    # One strike after some ten quiet emits, and each fault as often as any other.
    period_s = sum(sizes.values()) / 1e3 + len(sizes) * 10 * DEMO_MS[block] / 1e3
    for fault, ms in sizes.items():
        words += ["--fault", f"{fault}:every={period_s:.1f}s,ms={ms:.0f}"]
    return words


def await_start(folder: Path, process: subprocess.Popen[Any]) -> int:
    """Wait until the generator emits; return its pid."""
    end = time.monotonic() + 90
    while time.monotonic() < end and process.poll() is None:
        for name in ("truth.jsonl", "emits.jsonl"):
            path = folder / name
            lines = path.read_text().splitlines() if path.exists() else []
            if lines and '"start"' in lines[0]:
                return int(json.loads(lines[0])["pid"])
        time.sleep(0.05)
    raise SystemExit(f"{folder.name}: it did not start; see {folder}/output.txt")


def disturb(
    cell: Cell, fault: str, pid: int, core: int, prepared: Prepared | None, folder: Path
) -> None:
    """Strike from outside until the run is over."""
    truth = TruthFile(folder / "strikes.jsonl")
    with context_of(fault, pid, core, NICE, prepared) as act:
        strike_at_random(
            fault,
            act,
            truth,
            seconds=cell.seconds,
            interval_ms=30.0,
            seed=cell.seed,
        )
    truth.close()


# ------------------------------------------------------------------------------ scoring


def score_all(work: Path, options: Any) -> list[Scored]:
    """Score every run in a folder, and the text logs of those that wrote one."""
    scored = []
    for folder in sorted(work.iterdir()):
        about = folder / "cell.json"
        if not about.exists() or (folder / "not-here.txt").exists():
            continue
        cell = json.loads(about.read_text())
        if cell["seed"] not in options.seeds or cell["character"] not in options.characters:
            continue
        truth = Truth.read(folder / name for name in TRUTH_FILES)
        if cell["level"] in options.levels:
            report = report_of(folder / "session")
            found = judge(truth, report, cell["character"], cell["level"])
            scored.append(Scored(cell, found, report["tails"]["level_shifts"]))
        log = folder / "frames.log"
        inside = cell["kind"] in ("single", "clean")
        if "log" in options.levels and cell["level"] == "spans" and inside and log.exists():
            shutil.rmtree(folder / "imported", ignore_errors=True)
            mgtop("import", str(log), "--out", str(folder / "imported"))
            report = report_of(folder / "imported")
            found = judge(truth, report, cell["character"], "log")
            scored.append(Scored({**cell, "level": "log"}, found, report["tails"]["level_shifts"]))
    return scored


def report_of(session: Path) -> dict[str, Any]:
    """What mgtop says about a session."""
    report: dict[str, Any] = json.loads(mgtop("report", str(session), "--json"))
    return report


def paths() -> str:
    """The repository, and whatever else the caller's Python needs to find its packages."""
    return os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def mgtop(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths()},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"mgtop {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
