"""What the recorder costs beside a GPU program at 16 frames/s.

    python -m benchmarks.gpu.own_cost [--seconds 30]

Needs an NVIDIA GPU and torch. Prints the recorder's CPU, its calls and time inside NVML and
the log's size per frame, as the session itself accounts for them; the first seconds, in which
the program loads torch and makes its CUDA context, are not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from mgtop.session.reader import read_all
from mgtop.wire.records import FrameEmit, Observer

WORKLOAD = r"""
import sys, time, torch
from mgtop import probe
x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
due = time.perf_counter()
end = due + float(sys.argv[1])
with probe.request(fps=16) as request:
    request.preprocess_done()
    while time.perf_counter() < end:
        for name in ("decode", "resize", "h2d"):
            with request.span(name):
                time.sleep(0.001)
        for step in range(4):
            with request.span("forward"):
                for _ in range(20): x @ x
        with request.span("vae_decode"):
            torch.cuda.synchronize()
        with request.span("encode"):
            time.sleep(0.001)
        with request.span("write"):
            time.sleep(0.001)
        request.frame()
        due += 1 / 16
        time.sleep(max(0, due - time.perf_counter()))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=30)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as name:
        script, session = Path(name) / "w.py", Path(name) / "s"
        script.write_text(WORKLOAD)
        mgtop = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(session), "--"]
        subprocess.run(
            [*mgtop, sys.executable, str(script), str(seconds)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        records = list(read_all(session))
    frames = [r for r in records if isinstance(r, FrameEmit)]
    from_ns = frames[16].t_ns
    accounts = [r for r in records if isinstance(r, Observer) and r.t_ns >= from_ns]
    first, last = accounts[0], accounts[-1]
    time_s = (last.t_ns - first.t_ns) / 1e9
    counted = sum(first.t_ns < f.t_ns <= last.t_ns for f in frames)
    print(
        json.dumps(
            {
                "seconds": round(time_s, 1),
                "frames": counted,
                "cpu_percent_of_a_core": (last.cpu_ns - first.cpu_ns) / 1e7 / time_s,
                "nvml_ms_per_s": ((last.nvml_ns or 0) - (first.nvml_ns or 0)) / 1e6 / time_s,
                "nvml_calls_per_s": ((last.nvml_calls or 0) - (first.nvml_calls or 0)) / time_s,
                "log_bytes_per_frame": ((last.log_bytes or 0) - (first.log_bytes or 0)) / counted,
                "samples_missed": last.samples_missed,
                "rss_mib": (last.rss_bytes or 0) / 2**20,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
