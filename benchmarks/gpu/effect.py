"""What mgtop does to a workload: frame times of a 16 ms loop with and without it.

    python -m benchmarks.gpu.effect [--pairs 20] [--seconds 4] [--out FILE]

Needs an NVIDIA GPU and torch. Runs alternate, without and with `mgtop run --headless` (probe
with spans, recorder, NVML, host), so that a drifting machine favours neither. Prints P50
and P99 of both, the change with a bootstrap interval over pairs, and what the recorder cost.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from statistics import median

WORKLOAD = r"""
import json, sys, time, torch
from mgtop import probe
seconds, out = float(sys.argv[1]), sys.argv[2]
torch.manual_seed(0)
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
def work(n):
    y = x
    for _ in range(n): y = torch.tanh(y @ x)
    return y
def timed(n):
    torch.cuda.synchronize(); t = time.perf_counter()
    work(n); torch.cuda.synchronize()
    return time.perf_counter() - t
for _ in range(20): timed(20)
n = max(1, round(20 * 0.016 / sorted(timed(20) for _ in range(15))[7]))
times = []
with probe.request(fps=60) as request:
    request.preprocess_done()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        with request.span("forward"):
            y = work(n)
        with request.span("write"):
            y[0, :64].cpu()
        request.frame()
        times.append(time.perf_counter() - began)
json.dump(times[20:], open(out, "w"))
"""


def quantile(values: list[float], q: float) -> float:
    """Linear interpolation between order statistics."""
    ordered = sorted(values)
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def run(folder: Path, monitored: bool, seconds: float, number: int) -> tuple[list[float], dict]:
    """One run: frame times in ms, and the recorder's own account."""
    script = folder / "workload.py"
    script.write_text(WORKLOAD)
    out = folder / f"times-{number}-{int(monitored)}.json"
    command = [sys.executable, str(script), str(seconds), str(out)]
    session = folder / f"session-{number}"
    if monitored:
        mgtop = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(session), "--"]
        command = [*mgtop, *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    observer: dict = {}
    if monitored:
        report = [sys.executable, "-m", "mgtop", "report", str(session), "--json"]
        answer = json.loads(subprocess.run(report, check=True, capture_output=True).stdout)
        observer = answer["observer"] | {"lost": answer["losses"]["events_dropped"]}
        observer["log_bytes_per_frame"] = (session / "session.log").stat().st_size / max(
            1, answer["requests"][0]["frames"]
        )
    return [1e3 * t for t in json.loads(out.read_text())], observer


def change(without: list[list[float]], with_: list[list[float]], q: float) -> list[float]:
    """Median over pairs of the relative change of a quantile, percent, with its 95 % interval."""
    pairs = [
        100 * (quantile(b, q) / quantile(a, q) - 1) for a, b in zip(without, with_, strict=True)
    ]
    rng = random.Random(0)
    medians = sorted(median(rng.choices(pairs, k=len(pairs))) for _ in range(4000))
    return [medians[100], median(pairs), medians[3899]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    without, with_, observers = [], [], []
    with tempfile.TemporaryDirectory() as name:
        for number in range(options.pairs):
            order = (False, True) if number % 2 else (True, False)
            for monitored in order:
                times, observer = run(Path(name), monitored, options.seconds, number)
                (with_ if monitored else without).append(times)
                if monitored:
                    observers.append(observer)
            print(f"pair {number + 1} of {options.pairs}", file=sys.stderr, flush=True)
    result = {
        "pairs": options.pairs,
        "frames": [sum(map(len, without)), sum(map(len, with_))],
        "without_ms": [quantile(list(chain(*without)), q) for q in (0.5, 0.95, 0.99)],
        "with_ms": [quantile(list(chain(*with_)), q) for q in (0.5, 0.95, 0.99)],
        "change_p50_percent": change(without, with_, 0.5),
        "change_p99_percent": change(without, with_, 0.99),
        "observer": {
            key: median(o[key] for o in observers if o.get(key) is not None)
            for key in observers[0]
            if any(o.get(key) is not None for o in observers)
        },
    }
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
