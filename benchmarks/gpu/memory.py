"""Memory over a session on a real GPU, against torch's own figures: some four minutes on an H200.

    python -m benchmarks.gpu.memory [--out memory.json] [--sessions FOLDER] [--only PART …]

Needs an NVIDIA GPU and torch. Each part is a program whose use of memory is known
(``benchmarks.gpu.memory_workloads``), recorded by ``mgtop run --headless``. Prints one table of
checks and one of figures and writes one JSON; a part that fails leaves the others' results.
``--sessions`` keeps the session logs, compressed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.gpu.memory_parts import PARTS, Checks

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "expandable": "expandable_segments:True",
    "segments_expandable": "expandable_segments:True",
    "async": "backend:cudaMallocAsync",
}


# ------------------------------------------------------------------------------ running


def workload(part: str, truth: Path, device: str) -> list[str]:
    """The command of a part's program."""
    module = "benchmarks.gpu.memory_workloads"
    if device == "pretend":
        module, device = "benchmarks.gpu.pretend", "cuda"
    return [sys.executable, "-m", module, part, "--truth", str(truth), "--device", device]


def environment(part: str) -> dict[str, str]:
    """Of the program: its allocator's settings under both names."""
    inherited = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), *([inherited] if inherited else [])])
    found = {**os.environ, "PYTHONPATH": path}
    for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
        found.pop(name, None)
        if part in SETTINGS:
            found[name] = SETTINGS[part]
    return found


def ask_for_segments(session: Path, truth: Path, found: dict[str, Any]) -> None:
    """Wait until frames come, then ask the program for its map."""
    from mgtop.analysis.segments import read_segments
    from mgtop.record.segment_request import CannotAsk, wait_for_segments
    from mgtop.report.text_segments import render

    into = session / "snapshots" / "bench"
    end = time.monotonic() + 40
    while time.monotonic() < end:
        time.sleep(0.5)
        try:
            into.mkdir(parents=True, exist_ok=True)
            taken = wait_for_segments(session, "bench", into, seconds=2)
        except (CannotAsk, OSError) as error:
            found["map_error"] = str(error)
            continue
        if taken:
            data = taken[0].read_bytes()
            found["map_bytes"] = len(data)
            found["map_text"] = render(read_segments(data))
            return


def run_part(part: str, folder: Path, device: str) -> tuple[Checks, Path]:
    """Run one part under mgtop, and check its report."""
    from mgtop.report.json import plain_report
    from mgtop.report.load import summarise
    from mgtop.session.reader import read_all

    checks = Checks(part)
    session, truth_path = folder / part, folder / f"{part}.json"
    command = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(session), "--"]
    other: subprocess.Popen[str] | None = None
    found: dict[str, Any] = {}
    asking: threading.Thread | None = None
    try:
        if part == "two":
            other = subprocess.Popen(
                workload("neighbour", folder / "neighbour.json", device),
                cwd=ROOT, env={**environment(part), "MGTOP_PROBE": "off"},
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert other.stdout is not None
            other.stdout.readline()
        if part.startswith("segments"):
            asking = threading.Thread(
                target=ask_for_segments, args=(session, truth_path, found), daemon=True
            )
            asking.start()
        began = time.monotonic()
        done = subprocess.run(
            [*command, *workload(part, truth_path, device)],
            cwd=ROOT, env=environment(part), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        checks.figures["seconds"] = round(time.monotonic() - began, 1)
        if asking is not None:
            asking.join(timeout=5)
        if not truth_path.exists():
            raise RuntimeError(f"no truth (rc {done.returncode}): {done.stderr[-1500:]}")
        truth = json.loads(truth_path.read_text()) | {"path": str(truth_path)} | found
        report = plain_report(summarise(session))
        checks.figures["report"] = report["memory"]
        checks.figures["probe_us_per_frame"] = report["observer"]["probe_us_per_frame"]
        kinds = Counter(type(record).__name__ for record in read_all(session))
        checks.figures["emits"] = kinds["FrameEmit"]
        checks.figures["allocator_readings"] = kinds["TorchMemory"]
        checks.figures["process_readings"] = kinds["GpuProcess"]
        PARTS[part](checks, report, truth)
    except Exception as error:
        checks.that("ran", False, f"{type(error).__name__}: {error}"[-1_500:])
        checks.figures["traceback"] = traceback.format_exc()[-3_000:]
    finally:
        if other is not None:
            other.kill()
            other.wait()
    return checks, session


def look_ns() -> float:
    """What looking for a question costs, ns: the least of several thousand calls."""
    from mgtop.probe.libc import system_calls

    access = system_calls().access
    path = b"/tmp/mgtop-benchmark-no-such-file.fifo.ask"
    rounds = []
    for _ in range(7):
        began = time.perf_counter_ns()
        for _ in range(5_000):
            access(path, 0)
        rounds.append((time.perf_counter_ns() - began) / 5_000)
    return min(rounds)


def table(all_checks: list[Checks]) -> str:
    """The checks as a table."""
    lines = ["| part | what | | got | wanted |", "|---|---|---|---|---|"]
    for checks in all_checks:
        for row in checks.rows:
            sign = {True: "yes", False: "**NO**", None: "n/a"}[row["ok"]]
            got = str(row["got"])[:110].replace("\n", " ")
            lines.append(f"| {checks.part} | {row['what']} | {sign} | {got} | {row['wanted']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("memory.json"))
    parser.add_argument("--sessions", type=Path, help="keep the session logs here, compressed")
    parser.add_argument("--only", nargs="*", default=[], help="these parts")
    parser.add_argument(
        "--device", default="cuda", choices=("cuda", "cpu", "pretend"),
        help="pretend: a torch that only counts, to try this without a GPU",
    )  # fmt: skip
    parser.add_argument("--limit", type=float, default=330, help="start no part after so many s")
    options = parser.parse_args()
    began = time.monotonic()
    results: list[Checks] = []
    with tempfile.TemporaryDirectory(prefix="mgtop-memory-") as name:
        for part in options.only or PARTS:
            if time.monotonic() - began > options.limit:
                print(f"{part}: no time left", file=sys.stderr)
                continue
            checks, session = run_part(part, Path(name), options.device)
            results.append(checks)
            bad = sum(row["ok"] is False for row in checks.rows)
            print(
                f"{part}: {len(checks.rows)} checks, {bad} failed, "
                f"{checks.figures.get('seconds')} s",
                file=sys.stderr, flush=True,
            )  # fmt: skip
            if options.sessions and (session / "session.log").exists():
                options.sessions.mkdir(parents=True, exist_ok=True)
                with gzip.open(options.sessions / f"{part}.log.gz", "wb") as file:
                    file.write((session / "session.log").read_bytes())
                for path in session.glob("snapshots/*/*.json"):
                    target = options.sessions / f"{part}-{path.name}.gz"
                    with gzip.open(target, "wb") as file:
                        file.write(path.read_bytes())
            shutil.rmtree(session, ignore_errors=True)
            _write(options.out, results, began)  # after each part: what there is stays
    print(table(results))
    for checks in results:
        kept = {k: v for k, v in checks.figures.items() if k not in ("report", "map_text")}
        print(f"\n{checks.part}: {json.dumps(kept, default=str)[:1_500]}")
        if checks.figures.get("map_text"):
            print(checks.figures["map_text"])
    rows = [row for checks in results for row in checks.rows]
    print(f"\n{sum(row['ok'] is True for row in rows)} of {len(rows)} checks hold")


def _write(path: Path, results: list[Checks], began: float) -> None:
    written = {
        "seconds": round(time.monotonic() - began, 1),
        "look_ns": round(look_ns(), 1),
        "parts": {
            checks.part: {"checks": checks.rows, "figures": checks.figures} for checks in results
        },
    }
    path.write_text(json.dumps(written, indent=1, default=str) + "\n")


if __name__ == "__main__":
    main()
