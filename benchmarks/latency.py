"""How soon does a frame show? From the emit to a readable record, and to the screen.

    python benchmarks/latency.py [--seconds 20] [--rate 16] [--only log|screen]

``log``: from the time that the probe stamps a frame to the moment another process has read
it from the session log. ``screen``: to the moment a terminal has been sent a changed picture
that counts it (a real pty of 120×40, ``mgtop run`` as a person starts it). Prints P50, P95
and the maximum; exit code 1 where the screen's P95 is above 350 ms. Figures:
docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOAL_MS = 350.0

SENDER = """
import random, sys, time
sys.path.insert(0, {root!r})
from mgtop import probe
rate, seconds = {rate}, {seconds}
with probe.request("bench", width=1280, height=720, steps=4, fps=rate) as request:
    request.preprocess_done()
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < seconds:
        number += 1
        # Never in step with the reader's 20 ms.
        due = began + (number + random.uniform(-0.3, 0.3)) / rate
        time.sleep(max(0.0, due - time.monotonic()))
        with request.span("forward"):
            pass
        request.frame()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=16, help="frames a second")
    parser.add_argument("--only", choices=("log", "screen"))
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    code = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MGTOP_RUNTIME"] = f"{scratch}/runtime"
        os.environ["XDG_STATE_HOME"] = f"{scratch}/state"
        if args.only != "screen":
            report("emit to log", measure_log(args.rate, args.seconds, Path(scratch)))
        if args.only != "log":
            latencies = measure_screen(args.rate, args.seconds, Path(scratch))
            code = 0 if report("emit to screen", latencies) <= GOAL_MS else 1
    return code


def report(what: str, latencies_ms: list[float]) -> float:
    """Print one line; return the P95 (infinite where nothing was measured)."""
    if not latencies_ms:
        print(f"{what:<16} nothing was measured", file=sys.stderr)
        return float("inf")
    ranked = sorted(latencies_ms)

    def rank(share: float) -> float:
        at = share * (len(ranked) - 1)
        low = int(at)
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (ranked[high] - ranked[low]) * (at - low)

    p95 = rank(0.95)
    print(
        f"{what:<16} n {len(ranked):<5} P50 {rank(0.5):6.1f} ms   P95 {p95:6.1f} ms   "
        f"max {ranked[-1]:6.1f} ms"
    )
    return p95


def measure_log(rate: float, seconds: float, scratch: Path) -> list[float]:
    """Milliseconds from each emit to its record being read by this process."""
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.session.reader import LogReader
    from mgtop.wire.records import FrameEmit

    sender = SENDER.format(root=str(ROOT), rate=rate, seconds=seconds)
    plan = Plan(name="latency", command=[sys.executable, "-c", sender], cwd=str(scratch))
    recording = start(plan)
    reader = LogReader(recording.folder)
    latencies: list[float] = []
    while recording.poll() is None:
        records = reader.poll()
        now = time.monotonic_ns()
        latencies += [(now - r.t_ns) / 1e6 for r in records if isinstance(r, FrameEmit)]
        time.sleep(0.001)
    return latencies


def measure_screen(rate: float, seconds: float, scratch: Path) -> list[float]:
    """Milliseconds from each emit to the terminal having got a picture that counts it."""
    raise NotImplementedError


if __name__ == "__main__":
    sys.exit(main())
