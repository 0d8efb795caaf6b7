"""Many processes, many requests, many events, for long: what is lost, and what grows.

    python -m benchmarks.load [--processes 16] [--requests 4] [--rate 20000] [--seconds 600]

Each process serves so many requests at once, a thread each; all together send ``rate`` events a
second through the real probe, FIFO, recorder and log, while a view in a pseudo-terminal watches.
Prints frames lost, the CPU of recorder and view, and how their memory grows per hour, fitted over
the last two thirds of the run. Exit code 1 where a frame is missing. There is no GPU in it; 8 GPUs
with recorded costs are in tests/record/nvml.
"""

from __future__ import annotations

import argparse
import os
import pty
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

SENDER = """
import sys, threading, time
sys.path.insert(0, {package!r})
from mgtop import probe
rate, seconds, requests = {rate}, {seconds}, {requests}
probe.load_done()
began = time.monotonic()
total = int(rate * seconds / requests)

def serve(number):
    with probe.request(f"r{{number}}", width=1280, height=720, steps=4, fps=16) as request:
        sent = 0
        while sent < total:
            due = min(total, int((time.monotonic() - began) * rate / requests))
            for _ in range(due - sent):
                request.frame()
            sent = due
            time.sleep(0.01)

threads = [threading.Thread(target=serve, args=(n,)) for n in range(requests)]
for one in threads: one.start()
for one in threads: one.join()
"""
SPREAD = (
    "import subprocess, sys\n"
    "all = [subprocess.Popen([sys.executable, '-c', sys.argv[1]]) for _ in range({processes})]\n"
    "sys.exit(max(p.wait() for p in all))"
)


def per_hour(points: list[tuple[float, float]]) -> float:
    """Slope in MiB/h of a least-squares line over the last two thirds."""
    rest = points[len(points) // 3 :]
    n = len(rest)
    mean_t, mean_m = sum(t for t, _ in rest) / n, sum(m for _, m in rest) / n
    over = sum((t - mean_t) ** 2 for t, _ in rest)
    return 3600 * sum((t - mean_t) * (m - mean_m) for t, m in rest) / over if over else 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--requests", type=int, default=4, help="of each process, at once")
    parser.add_argument("--rate", type=float, default=20_000, help="frames a second, all together")
    parser.add_argument("--seconds", type=float, default=600)
    args = parser.parse_args()

    from mgtop.probe import __file__ as probe_file
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.record.status import read_status
    from mgtop.session.lock import read_owner
    from mgtop.session.reader import read_all
    from mgtop.wire.records import FrameEmit, Loss

    package = str(Path(probe_file).parents[2])
    sender = SENDER.format(
        package=package,
        rate=args.rate / args.processes,
        seconds=args.seconds,
        requests=args.requests,
    )
    command = [sys.executable, "-c", SPREAD.format(processes=args.processes), sender]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MGTOP_RUNTIME"] = f"{scratch}/runtime"
        folder = Path(scratch, "session")
        recording = start(Plan(name="load", command=command, cwd=scratch), out=folder)
        owner = read_owner(folder)
        assert owner is not None
        master, slave = pty.openpty()
        view = subprocess.Popen(
            [sys.executable, "-m", "mgtop", "view", str(folder)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
        )
        os.close(slave)
        threading.Thread(target=_drain, args=(master,), daemon=True).start()
        watched = {"recorder": psutil.Process(owner.pid), "view": psutil.Process(view.pid)}
        memory: dict[str, list[tuple[float, float]]] = {name: [] for name in watched}
        cpu: dict[str, float] = {}
        began = time.monotonic()
        while (status := read_status(folder)) is None or status.state == "recording":
            for name, process in watched.items():
                try:
                    memory[name].append((time.monotonic(), process.memory_info().rss / 2**20))
                    cpu[name] = sum(process.cpu_times()[:2])
                except psutil.Error:
                    continue
            time.sleep(1.0)
            if time.monotonic() - began > args.seconds * 1.5 + 60:
                break
        outcome = recording.wait()
        took = time.monotonic() - began
        view.kill()
        view.wait()
        frames = dropped = 0
        for record in read_all(folder):
            frames += isinstance(record, FrameEmit)
            if isinstance(record, Loss):
                dropped = max(dropped, record.dropped)
        size = (folder / "session.log").stat().st_size
    wanted = int(args.rate / args.processes * args.seconds / args.requests)
    wanted *= args.processes * args.requests
    print(f"{args.processes} processes, {args.requests} requests each, {args.rate:,.0f} frames/s")
    print(f"frames      {frames:,} of {wanted:,} in the log, {took:.0f} s; dropped {dropped}")
    print(f"log         {size / 2**20:,.0f} MiB, {size / max(1, frames):.1f} bytes a frame")
    for name, points in memory.items():
        print(
            f"{name:11} {100 * cpu.get(name, 0.0) / took:.1f} % of a core, "
            f"{points[len(points) // 3][1]:.0f} → {points[-1][1]:.0f} MiB, "
            f"{per_hour(points):+.1f} MiB/h"
        )
    return 0 if outcome.exit_code == 0 and frames == wanted else 1


def _drain(master: int) -> None:
    try:
        while os.read(master, 65_536):
            pass
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main())
