"""How steadily the bundled generator emits where no fault strikes.

    python -m benchmarks.demo [--blocks 1,4,12] [--requests 2] [--frames 480]

Runs ``mgtop demo --headless`` once for each block size, and prints what its report says of
the intervals between emits, and what the first frame took. On a machine that has other work
the figures are that work's too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MGTOP = (sys.executable, "-m", "mgtop")


def run(*arguments: str) -> str:
    """Standard output of an mgtop command; where it fails, its own words are the last."""
    done = subprocess.run([*MGTOP, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"mgtop {arguments[0]} failed with {done.returncode}:\n{done.stderr}")
    return done.stdout


def report(block: int, requests: int, frames: int) -> dict[str, Any]:
    """The JSON report of one run without faults."""
    with tempfile.TemporaryDirectory() as folder:
        session = str(Path(folder) / "session")
        run(
            *("demo", "--headless", "--out", session, "--block", str(block)),
            *("--requests", str(requests), "--frames", str(frames)),
        )
        found: dict[str, Any] = json.loads(run("report", session, "--json"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", default="1,4,12", metavar="N,…")
    parser.add_argument("--requests", type=int, default=2, help="the first is warm-up")
    parser.add_argument("--frames", type=int, default=480, help="of a request")
    given = parser.parse_args()
    print("block   frames/s     P50     P95     P99     max ms      n   tails   first frame ms")
    for block in map(int, given.blocks.split(",")):
        found = report(block, given.requests, given.frames)
        interval = found["interval_ms"]
        times = "  ".join(f"{interval[key]:6.1f}" for key in ("p50", "p95", "p99", "max"))
        print(
            f"{block:5}   {found['fps']:8.1f}  {times}     {interval['count']:4}"
            f"   {found['tails']['count']:5}   {found['first_frame_ms']['p50']:14.0f}"
        )


if __name__ == "__main__":
    main()
