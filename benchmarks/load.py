"""Many processes, many requests, many events, for long: what is lost, and what grows.

    python -m benchmarks.load [--processes 16] [--requests 4] [--rate 20000] [--seconds 600]
                              [--gpus 8] [--no-view]

Each process serves so many requests at once, a thread each; all together send ``rate`` frames a
second through the real probe, FIFO, recorder and log. NVML is a replay of traffic recorded on an
H200, once for each of ``--gpus`` (0: what this machine has), with the recorded time of each call.
A view in a pseudo-terminal watches, at the lowest priority. Prints frames lost, what was counted
as lost, the CPU of recorder and view, and how their memory grows per hour, fitted over the last
two thirds of the run. Exit code 1 where a frame is missing.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
REPLAYED_DRIVER = Path(__file__).parent / "gpu" / "replayed"
GPUS_VARIABLE = "MGTOP_REPLAYED_GPUS"


def per_hour(points: list[tuple[float, float]]) -> float:
    """Slope in MiB/h of a least-squares line over the last two thirds."""
    rest = points[len(points) // 3 :]
    n = len(rest)
    mean_t, mean_m = sum(t for t, _ in rest) / n, sum(m for _, m in rest) / n
    over = sum((t - mean_t) ** 2 for t, _ in rest)
    return 3600 * sum((t - mean_t) * (m - mean_m) for t, m in rest) / over if over else 0.0


@dataclass
class Watched:
    """CPU and memory of a process over the run; ``memory`` is (monotonic s, MiB)."""

    process: psutil.Process
    memory: list[tuple[float, float]] = field(default_factory=list)
    cpu_s: float = 0.0

    def look(self) -> None:
        """Read both, while it lives."""
        try:
            self.memory.append((time.monotonic(), self.process.memory_info().rss / 2**20))
            self.cpu_s = sum(self.process.cpu_times()[:2])
        except psutil.Error:
            return

    def told(self, name: str, took_s: float) -> str:
        """One line for a person."""
        points = self.memory
        return (
            f"{name:11} {100 * self.cpu_s / took_s:.1f} % of a core, "
            f"{points[len(points) // 3][1]:.0f} → {points[-1][1]:.0f} MiB, "
            f"{per_hour(points):+.1f} MiB/h"
        )


def watch(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """A view of ``folder`` in a pseudo-terminal, at the lowest priority; and its terminal."""
    master, slave = pty.openpty()
    view = subprocess.Popen(
        ["nice", "-n", "19", sys.executable, "-m", "mgtop", "view", str(folder)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"},
    )
    os.close(slave)
    threading.Thread(target=_drain, args=(master,), daemon=True).start()
    return view, master


def counted(folder: Path) -> dict[str, Any]:
    """What the log of a recording holds."""
    from mgtop.session.reader import read_all
    from mgtop.wire.records import FrameEmit, GpuMemory, Loss, Observer

    frames, memory_readings = 0, 0
    losses: dict[int, Loss] = {}
    gpus: set[int] = set()
    observed: list[Observer] = []
    for record in read_all(folder):
        if isinstance(record, FrameEmit):
            frames += 1
        elif isinstance(record, Loss):
            losses[record.proc] = record
        elif isinstance(record, GpuMemory):
            memory_readings += 1
            gpus.add(record.gpu)
        elif isinstance(record, Observer):
            observed.append(record)
    return {
        "frames": frames,
        "dropped": sum(loss.dropped for loss in losses.values()),
        "malformed": sum(loss.malformed for loss in losses.values()),
        "gpus": len(gpus),
        "memory_readings": memory_readings,
        "observer": observed[-1] if observed else None,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--requests", type=int, default=4, help="of each process, at once")
    parser.add_argument("--rate", type=float, default=20_000, help="frames a second, all together")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--gpus", type=int, default=8, help="replayed ones; 0: this machine's")
    parser.add_argument("--no-view", action="store_true", help="the recorder alone")
    args = parser.parse_args()

    from mgtop.probe import __file__ as probe_file
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.record.status import read_status
    from mgtop.session.lock import read_owner

    package = str(Path(probe_file).parents[2])
    sender = SENDER.format(
        package=package,
        rate=args.rate / args.processes,
        seconds=args.seconds,
        requests=args.requests,
    )
    command = [sys.executable, "-c", SPREAD.format(processes=args.processes), sender]
    if args.gpus:
        paths = [str(REPLAYED_DRIVER), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        os.environ[GPUS_VARIABLE] = str(args.gpus)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MGTOP_RUNTIME"] = f"{scratch}/runtime"
        folder = Path(scratch, "session")
        recording = start(Plan(name="load", command=command, cwd=scratch), out=folder)
        owner = read_owner(folder)
        assert owner is not None
        watched = {"recorder": Watched(psutil.Process(owner.pid))}
        view = None
        if not args.no_view:
            view, _terminal = watch(folder)
            watched["view"] = Watched(psutil.Process(view.pid))
        began = time.monotonic()
        loads: list[float] = []
        while (status := read_status(folder)) is None or status.state == "recording":
            for one in watched.values():
                one.look()
            loads.append(os.getloadavg()[0])
            time.sleep(1.0)
            if time.monotonic() - began > args.seconds * 1.5 + 60:
                break
        took = time.monotonic() - began
        outcome = recording.wait()
        if view is not None:
            view.kill()
            view.wait()
        found = counted(folder)
        size = (folder / "session.log").stat().st_size
    frames = found["frames"]
    wanted = int(args.rate / args.processes * args.seconds / args.requests)
    wanted *= args.processes * args.requests
    print(f"{args.processes} processes, {args.requests} requests each, {args.rate:,.0f} frames/s")
    print(f"machine     {os.cpu_count()} cores, load {min(loads):.1f} to {max(loads):.1f}")
    print(
        f"frames      {frames:,} of {wanted:,} in the log, {took:.0f} s; "
        f"missing {wanted - frames:,}, counted as lost (any event) {found['dropped']:,}, "
        f"malformed {found['malformed']}"
    )
    print(f"log         {size / 2**20:,.0f} MiB, {size / max(1, frames):.1f} bytes a frame")
    print(f"GPUs        {found['gpus']}, {found['memory_readings'] / took:.0f} memory readings/s")
    if (last := found["observer"]) is not None and last.nvml_ns is not None:
        print(f"NVML        {last.nvml_ns / 1e6 / took:.1f} ms/s in {last.nvml_calls} calls")
    for name, one in watched.items():
        print(one.told(name, took))
    return 0 if outcome.exit_code == 0 and frames == wanted else 1


def _drain(master: int) -> None:
    try:
        while os.read(master, 65_536):
            pass
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main())
