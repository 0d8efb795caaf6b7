"""A day's session in minutes: what grows in the recorder, the process that reads along, the view.

    python -m benchmarks.accelerated [--hours 24] [--faster 100] [--view] [--every 60]

All of it is the real thing: probe, FIFO, recorder, log, a replay of the NVML traffic of an H200
on one GPU, a view in a pseudo-terminal (``--view``). Only their clocks run faster
(benchmarks/clock/faster.c, preloaded: clocks of CPU time stay true, waits are as much shorter).
The program emits 16 frames a second of its time, with four spans each, requests of ten minutes,
and now and then a late frame. Prints what is in the log, and for each process how its memory
grew with the session's hours: a least-squares line over all but the first quarter, and the
memory at its ends. Where the machine cannot keep the pace the session still has all its frames;
its samples are as much rarer, since they are thinned by what they cost.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil

from benchmarks.load import GPUS_VARIABLE, REPLAYED_DRIVER, watch

CLOCK = Path(__file__).parent / "clock" / "faster.c"
PROGRAM = """
import sys, time
sys.path.insert(0, {package!r})
from mgtop import probe
hours, late_every = {hours}, {late_every}
probe.load_done()
began = time.monotonic()
number = 0
while time.monotonic() - began < 3600 * hours:
    with probe.request(width=1280, height=720, steps=4, fps=16) as request:
        request.preprocess_done()
        for _ in range(9600):
            for name in ("decode", "forward", "vae_decode", "encode"):
                with request.span(name):
                    pass
            number += 1
            late = 0.2 if late_every and number % late_every == 0 else 0.0
            due = began + number / 16 + late
            time.sleep(max(0.0, due - time.monotonic()))
            request.frame()
"""


def slope(points: list[tuple[float, float]]) -> float:
    """Of a least-squares line through (hours, MiB), in MiB/h."""
    n = len(points)
    mean_h, mean_m = sum(h for h, _ in points) / n, sum(m for _, m in points) / n
    over = sum((h - mean_h) ** 2 for h, _ in points)
    return sum((h - mean_h) * (m - mean_m) for h, m in points) / over if over else 0.0


def build(folder: Path) -> Path:
    """The library that makes clocks faster."""
    compiler = next((name for name in ("cc", "gcc") if shutil.which(name)), None)
    if compiler is None:
        raise SystemExit("There is no C compiler here (cc); install one, e.g. apt install gcc.")
    library = folder / "faster.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(CLOCK), "-ldl"]
    subprocess.run(command, check=True)
    return library


def reading_along(recorder: psutil.Process) -> psutil.Process | None:
    """The recorder's child that makes the report ready meanwhile."""
    for child in recorder.children():
        if "mgtop.report" in child.cmdline():
            return child
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24, help="of the session")
    parser.add_argument("--faster", type=int, default=100, help="how many times as fast")
    parser.add_argument("--late-every", type=int, default=500, help="frames; 0: none is late")
    parser.add_argument("--view", action="store_true", help="and a view that watches")
    parser.add_argument("--every", type=float, default=0, help="hours between printed lines")
    args = parser.parse_args()

    from mgtop.probe import __file__ as probe_file
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.record.status import read_status
    from mgtop.session.lock import read_owner
    from mgtop.session.reader import read_all

    program = PROGRAM.format(
        package=str(Path(probe_file).parents[2]), hours=args.hours, late_every=args.late_every
    )
    with tempfile.TemporaryDirectory() as scratch:
        began_ns = time.monotonic_ns()
        os.environ.update(
            {
                "MGTOP_RUNTIME": f"{scratch}/runtime",
                "LD_PRELOAD": str(build(Path(scratch))),
                "MGTOP_FASTER": str(args.faster),
                "MGTOP_FASTER_FROM": str(began_ns),
                "PYTHONPATH": str(REPLAYED_DRIVER),
                GPUS_VARIABLE: "1",
            }
        )
        folder = Path(scratch, "session")
        plan = Plan(name="day", command=[sys.executable, "-c", program], cwd=scratch)
        recording = start(plan, out=folder)
        owner = read_owner(folder)
        assert owner is not None
        recorder = psutil.Process(owner.pid)
        watched: dict[str, psutil.Process | None] = {"recorder": recorder, "reading along": None}
        if args.view:
            view, _terminal = watch(folder)
            watched["view"] = psutil.Process(view.pid)
        memory: dict[str, list[tuple[float, float]]] = {name: [] for name in watched}
        cpu: dict[str, float] = {}
        loads: list[float] = []
        told_h = 0.0
        while (status := read_status(folder)) is None or status.state == "recording":
            if watched["reading along"] is None:
                watched["reading along"] = reading_along(recorder)
            hours = (time.monotonic_ns() - began_ns) * args.faster / 3.6e12
            for name, process in watched.items():
                if process is None:
                    continue
                try:
                    memory[name].append((hours, process.memory_info().rss / 2**20))
                    cpu[name] = sum(process.cpu_times()[:2])
                except psutil.Error:
                    continue
            loads.append(os.getloadavg()[0])
            if args.every and hours - told_h >= args.every:
                told_h = hours
                now = ", ".join(f"{n} {p[-1][1]:.1f}" for n, p in memory.items() if p)
                print(f"{hours:5.1f} h  MiB: {now}", flush=True)
            time.sleep(0.5)
        took = (time.monotonic_ns() - began_ns) / 1e9
        outcome = recording.wait()
        if args.view:
            view.kill()
            view.wait()
        kinds: Counter[str] = Counter()
        dropped: dict[int, int] = {}
        for record in read_all(folder):
            kinds[type(record).__name__] += 1
            if type(record).__name__ == "Loss":
                dropped[record.proc] = record.dropped  # type: ignore[union-attr]
        size = (folder / "session.log").stat().st_size
    frames = kinds["FrameEmit"]
    hours = took * args.faster / 3600
    print(f"{hours:.1f} h in {took / 60:.1f} minutes, {args.faster} times as fast")
    print(f"machine       {os.cpu_count()} cores, load {min(loads):.1f} to {max(loads):.1f}")
    print(f"log           {size / 2**20:.0f} MiB, {frames:,} frames, lost {sum(dropped.values())}")
    samples = sum(n for name, n in kinds.items() if name.startswith(("Gpu", "Host", "Process")))
    print(f"samples       {samples:,}, {samples / (took * args.faster):.1f} for each second of it")
    for name, points in memory.items():
        rest = points[len(points) // 4 :]
        if len(rest) < 2:
            continue
        print(
            f"{name:13} {rest[0][1]:.1f} MiB at {rest[0][0]:.1f} h, {rest[-1][1]:.1f} at "
            f"{rest[-1][0]:.1f} h: {slope(rest):+.2f} MiB for each hour of the session; "
            f"{cpu[name]:.0f} s of CPU"
        )
    return 0 if outcome.exit_code == 0 and not sum(dropped.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
