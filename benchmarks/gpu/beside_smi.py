"""mgtop's GPU figures beside nvidia-smi's, of the same seconds.

    python -m benchmarks.gpu.beside_smi [--seconds 12]

Runs a workload that alternates (1 s busy, 1 s idle, memory up and down) under
`mgtop run --headless`, and `nvidia-smi --query-gpu -lms 100` beside it, and prints how far
memory and utilisation differ, each within the other's resolution.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from mgtop.session.reader import read_all
from mgtop.wire.records import GpuMemory, GpuUtilisation, SessionStart

WORKLOAD = r"""
import sys, time, torch
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    held = [torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(4)]
    t = time.monotonic() + 1
    while time.monotonic() < t:
        for _ in range(20): x @ x
        torch.cuda.synchronize()
    del held; torch.cuda.empty_cache()
    time.sleep(1)
"""
SMI = ("nvidia-smi", "--query-gpu=timestamp,memory.used,utilization.gpu", "-lms", "100")
NEAR_NS = 300_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=12)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "w.py").write_text(WORKLOAD)
        smi = subprocess.Popen(
            [*SMI, "--format=csv,noheader,nounits"], stdout=subprocess.PIPE, text=True
        )
        mgtop = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", f"{name}/s", "--"]
        subprocess.run(
            [*mgtop, sys.executable, str(folder / "w.py"), str(seconds)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        smi.terminate()
        assert smi.stdout is not None
        rows = list(csv.reader(smi.stdout))
        records = list(read_all(folder / "s"))
    start = next(r for r in records if isinstance(r, SessionStart))
    memory = [(r.t_ns, r.used_bytes / 2**20) for r in records if isinstance(r, GpuMemory)]
    used = [(r.t_ns, r.percent) for r in records if isinstance(r, GpuUtilisation)]
    end_ns = memory[-1][0]
    compared = {"memory": 0, "utilisation": 0}
    apart = {"memory": [], "utilisation": []}
    for row in rows:
        if len(row) != 3:
            continue
        wall = datetime.strptime(row[0].strip(), "%Y/%m/%d %H:%M:%S.%f").timestamp()
        t_ns = round(wall * 1e9) - start.wall_ns + start.t_ns
        if not start.t_ns + 3_000_000_000 < t_ns < end_ns:
            continue
        for what, series, value in (
            ("memory", memory, float(row[1])),
            ("utilisation", used, float(row[2])),
        ):
            near = [v for t, v in series if t_ns - NEAR_NS <= t <= t_ns + NEAR_NS]
            before = [v for t, v in series if t <= t_ns]
            near += before[-1:]
            if near:
                compared[what] += 1
                inside = min(near) - 1 <= value <= max(near) + 1
                apart[what].append(0.0 if inside else min(abs(value - v) for v in near))
    print(
        json.dumps(
            {
                "compared": compared,
                "outside_of_resolution": {k: sum(v > 0 for v in a) for k, a in apart.items()},
                "largest_difference": {k: max(a, default=None) for k, a in apart.items()},
                "at": time.strftime("%Y-%m-%d"),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
