"""The report of a long session: made for the first time, and from its digest.

    python -m benchmarks.report [--frames 1000000] [--append-ms 1000] [--folder DIR]

Writes a made-up session (benchmarks/synthetic.py: single frames at 16 frames/s with five spans
each, allocator counters, GPU memory where it changed, utilisation, host, heartbeats, and late
frames), then runs ``mgtop report`` as users do, each time in a process of its own: once without a
digest, then in every form with the one that the first left behind. The recorder has it made while
it records (docs/session-log.md); reading takes the same there as in the first run. Exit code 1
where a report with a digest takes more than 5 s or 300 MiB. Figures: docs/report.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.log import write
from benchmarks.synthetic import S
from mgtop.report.digest import NAME

FPS = 16
REPEATS = 3
MOST_S, MOST_MIB = 5.0, 300.0
FORMS = ("", "--json", "--markdown", "--html", "--memory-csv")


def run(folder: Path, form: str, out: Path) -> tuple[float, float, float]:
    """One report; its time and CPU time in seconds, and its most memory in MiB."""
    words = [sys.executable, "-m", "mgtop", "report", str(folder)]
    if form:
        words.append(form)
    if form == "--html":
        words.append(str(out / "report.html"))
    began = time.perf_counter()
    with open(out / "printed", "wb") as printed:
        process = subprocess.Popen(words, stdout=printed, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit((out / "printed").read_text(errors="replace"))
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--append-ms", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="keep the session there")
    args = parser.parse_args()
    print(f"machine           {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the begin")
    missed = False
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch) / "session"
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()) as told:
            write(folder, args.frames / FPS, args.append_ms * S // 1000)
        print("\n".join(told.getvalue().splitlines()[:2]), flush=True)
        took, cpu, mib = run(folder, "--json", Path(scratch))
        size = (folder / NAME).stat().st_size
        print(f"first report      {took:.0f} s, {cpu:.0f} s of CPU, {mib:.0f} MiB; it leaves a"
              f" digest of {size / 1e6:.1f} MB", flush=True)  # fmt: skip
        for form in FORMS:
            runs = [run(folder, form, Path(scratch)) for _ in range(REPEATS)]
            longest, most = max(took for took, _, _ in runs), max(mib for _, _, mib in runs)
            cpu = sorted(cpu for _, cpu, _ in runs)[REPEATS // 2]
            missed |= longest > MOST_S or most > MOST_MIB
            print(f"report {form:<11}at most {longest:.2f} s, {cpu:.2f} s of CPU, {most:.0f} MiB")
    load = os.getloadavg()[0]
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(f"machine           load {load:.1f} at the end ({own.ru_utime:.0f} s to make it)")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
