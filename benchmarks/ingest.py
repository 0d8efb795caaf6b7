"""Does the recorder keep up? Events at a steady rate through the real probe, FIFO and log.

    python benchmarks/ingest.py [--rate 2000] [--seconds 60] [--spans 0] [--processes 1]
                                [--recorder-core N]

Prints what was sent, what is in the log, what was lost, and what the recorder cost. Exit code
1 where an event is missing. The recorder samples the host (and NVML, where there is one) as in
any recording. Figures: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

SENDER = """
import sys, time
sys.path.insert(0, {package!r})
from mgtop import probe
rate, seconds = {rate}, {seconds}
probe.load_done()
began = time.monotonic()
total = int(rate * seconds)  # frames
with probe.request(width=1280, height=720, steps=4, fps=16) as request:
    sent = 0
    while sent < total:
        due = min(total, int((time.monotonic() - began) * rate))
        for _ in range(due - sent):
            for _ in range({spans}):
                with request.span("forward"):
                    pass
            request.frame()
        sent = due
        time.sleep(0.002)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=2000, help="frames a second, all together")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--spans", type=int, default=0, help="spans in each frame, on top")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--recorder-core", type=int, help="all of the recorder on this one core")
    args = parser.parse_args()

    from mgtop.probe import __file__ as probe_file
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.session.lock import read_owner
    from mgtop.session.reader import read_all
    from mgtop.wire.records import Event, FrameEmit, Loss, Observer, TargetExit

    package = str(Path(probe_file).parent.parent.parent)
    sender = SENDER.format(
        package=package, rate=args.rate / args.processes, seconds=args.seconds, spans=args.spans
    )
    command = [sys.executable, "-c", sender]
    if args.processes > 1:
        spread = (
            "import subprocess, sys\n"
            "all = [subprocess.Popen([sys.executable, '-c', sys.argv[1]]) for _ in range("
            f"{args.processes})]\nsys.exit(max(p.wait() for p in all))"
        )
        command = [sys.executable, "-c", spread, sender]
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MGTOP_RUNTIME"] = f"{scratch}/runtime"
        plan = Plan(name="ingest", command=command, cwd=scratch)
        began = time.monotonic()
        recording = start(plan, out=Path(scratch, "session"))
        if args.recorder_core is not None:
            owner = read_owner(recording.folder)
            assert owner is not None
            for thread in os.listdir(f"/proc/{owner.pid}/task"):
                os.sched_setaffinity(int(thread), {args.recorder_core})
        outcome = recording.wait()
        took = time.monotonic() - began
        numbers: dict[int, set[int]] = {}
        losses: dict[int, Loss] = {}
        observed: list[Observer] = []
        exits: list[TargetExit] = []
        frames = 0
        for record in read_all(recording.folder):
            if isinstance(record, Event):
                frames += isinstance(record, FrameEmit)
                numbers.setdefault(record.proc, set()).add(record.seq)
            elif isinstance(record, Loss):
                losses[record.proc] = record
            elif isinstance(record, Observer):
                observed.append(record)
            elif isinstance(record, TargetExit):
                exits.append(record)
        log_bytes = (recording.folder / "session.log").stat().st_size
    if outcome.exit_code != 0 or not exits or exits[-1].code != 0 or not numbers:
        print(f"the run failed: {outcome}", file=sys.stderr)
        return 1
    # The probe numbers its attempts, and its last word (the account at exit) has the last one.
    sent = sum(max(seen) + 1 for seen in numbers.values())
    received = sum(len(seen) for seen in numbers.values())
    counted = sum(loss.dropped for loss in losses.values())
    malformed = sum(loss.malformed for loss in losses.values())
    wanted = int(args.rate / args.processes * args.seconds) * args.processes
    span_ns = observed[-1].t_ns - observed[0].t_ns
    cpu = 100 * (observed[-1].cpu_ns - observed[0].cpu_ns) / span_ns if span_ns else 0.0
    print(
        f"rate asked      {args.rate:.0f}/s for {args.seconds:.0f} s, {args.processes} process(es)"
    )
    print(f"frames asked    {wanted}")
    print(f"events sent     {sent}   ({sent / took:.0f}/s over {took:.1f} s)")
    print(f"events in log   {received}")
    # An open request is told once a second for readers that come late, and kept once.
    print(f"frames in log   {frames}   (other events not kept, as told again: {sent - received})")
    print(f"lost            {wanted - frames} frames; the recorder's own count, of all: {counted}")
    print(f"malformed       {malformed}")
    print(f"recorder CPU    {cpu:.2f} % of a core, {(observed[-1].rss_bytes or 0) >> 20} MiB")
    print(f"log             {log_bytes / took / 1024:.1f} KiB/s")
    good = frames == wanted and counted == 0 and malformed == 0
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
