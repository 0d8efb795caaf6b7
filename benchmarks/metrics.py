"""What ``mgtop metrics`` costs beside live sessions, and a scrape of it (docs/metrics.md).

    python -m benchmarks.metrics [--sessions 2] [--seconds 20]

The sessions are made up (benchmarks/synthetic.py): 16 frames/s, readings of GPU memory at 62 Hz.
CPU time is the endpoint's alone, once it has read what was there.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SYNTHETIC = Path(__file__).parent / "synthetic.py"
SETTLED_S = 10


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / (1 << 20)


def measure(url: str, pid: int, seconds: float) -> None:
    time.sleep(SETTLED_S)
    before = cpu_s(pid)
    times, size = [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        with urllib.request.urlopen(url, timeout=20) as answer:
            size = len(answer.read())
        times.append((time.perf_counter() - began) * 1e3)
        time.sleep(1)
    used = cpu_s(pid) - before
    print(f"endpoint    {100 * used / seconds:.1f} % of a core, {resident_mib(pid):.0f} MiB")
    middle, longest = statistics.median(times), max(times)
    print(
        f"scrape      {size:,} bytes, P50 {middle:.1f} ms, max {longest:.1f} ms, n = {len(times)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20)
    args = parser.parse_args()
    print(f"machine     {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the begin")
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "XDG_STATE_HOME": home}
        live = str(args.seconds + 3 * SETTLED_S)
        started = []
        for number in range(args.sessions):
            folder = Path(home) / "mgtop" / "sessions" / f"20260101-00000{number}-made-up"
            words = [sys.executable, SYNTHETIC, str(folder), "--history", "60", "--live", live]
            started.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        words = [sys.executable, "-m", "mgtop", "metrics", "--listen", "127.0.0.1:0"]
        endpoint = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
        started.append(endpoint)
        try:
            assert endpoint.stdout is not None
            url = endpoint.stdout.readline().split()[3]
            measure(url, endpoint.pid, args.seconds)
        finally:
            for process in started:
                process.terminate()
            for process in started:
                process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
