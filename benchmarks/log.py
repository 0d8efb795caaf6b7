"""What the session log costs: appending, bytes a frame, reading it all back.

    python benchmarks/log.py [--frames 1000000] [--folder DIR]

Writes the log of a stream at 16 frames/s as the recorder does (a chunk every 20 ms that has
records): each frame with its nine spans and the allocator's counters, GPU memory at 50 Hz where
it changes, utilisation, host CPU and heartbeats. Then reads it as a screen does that opens a
long session, and as one does that follows a live one. The log is made by the clock of the
stream, not in real time, and removed at the end. Figures: docs/session-log.md.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from mgtop.session.compact import compact
from mgtop.session.reader import LogReader
from mgtop.session.writer import LogWriter
from mgtop.wire.records import (
    FrameEmit,
    GpuMemory,
    GpuUtilisation,
    HostCpu,
    Observer,
    Record,
    SessionStart,
    SourceState,
    Span,
    TorchMemory,
)

FPS = 16
PROC = 123_456_789 << 22 | 4242
TICK_NS = 20_000_000
FRAME_NS = 1_000_000_000 // FPS
START_NS = 5_000_000_000_000


def frame(n: int, at_ns: int, seq: int) -> list[Record]:
    """What the probe sends for one frame."""
    events: list[Record] = [
        Span(
            t_ns=at_ns - (9 - name) * 5_000_000, seq=seq + name, proc=PROC, tid=4242, request=1,
            index=n, name=name, duration_ns=4_000_000 + n % 1000, cpu_ns=3_900_000,
            run_delay_ns=20_000 if name == 4 else None,
        )
        for name in range(1, 10)
    ]  # fmt: skip
    events.append(
        TorchMemory(
            t_ns=at_ns, seq=seq + 10, proc=PROC, tid=4242, request=1, emit=n, device=0,
            allocated_bytes=21 << 30, reserved_bytes=23 << 30, peak_bytes=22 << 30, retries=0,
            ooms=0, driver_allocs=210, driver_frees=0, segments=180, inactive_bytes=300 << 20,
        )
    )  # fmt: skip
    events.append(
        FrameEmit(
            t_ns=at_ns, seq=seq + 11, proc=PROC, tid=4242, request=1, index=n, emit=n, count=1,
            cpu_ns=n * 40_000_000, run_delay_ns=n * 90_000, major_faults=12, voluntary=n * 3,
            involuntary=n // 7, gc_ns=n * 1000, compiles=4,
        )
    )  # fmt: skip
    return events


def samples(tick: int, at_ns: int) -> list[Record]:
    """What the samplers give in one tick: each at its own rate."""
    records: list[Record] = []
    if tick % 5 == 0:  # device memory changes some ten times a second
        records.append(GpuMemory(t_ns=at_ns, gpu=0, used_bytes=(24 << 30) + tick % 64 * 2097152))
    if tick % 10 == 0:
        records.append(
            GpuUtilisation(
                t_ns=at_ns, gpu=0, percent=90.0, memory_percent=40.0, period_ns=200_000_000,
                source="poll",
            )
        )  # fmt: skip
        records.append(
            HostCpu(
                t_ns=at_ns, cores=64, busy_ns=tick * 9_000_000, idle_ns=tick * 99_000_000,
                tree_cpu_ns=tick * 8_000_000, processes=3, threads=140,
            )
        )  # fmt: skip
    if tick % 50 == 0:
        records += [
            SourceState(t_ns=at_ns, source=source, state="ok", period_ns=TICK_NS, covered_ns=at_ns)
            for source in ("probe", "nvml.memory", "nvml.utilisation", "nvml.processes", "host")
        ]
        records.append(Observer(t_ns=at_ns, cpu_ns=tick * 300_000, rss_bytes=40 << 20))
    return records


def chunks(frames: int) -> Iterator[list[Record]]:
    """The records of every tick that has some."""
    done = tick = 0
    while done < frames:
        at_ns = START_NS + tick * TICK_NS
        records = samples(tick, at_ns)
        while done < frames and START_NS + done * FRAME_NS < at_ns:
            records += frame(done, START_NS + done * FRAME_NS, done * 11)
            done += 1
        tick += 1
        if records:
            yield records


def peak_mib() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write(folder: Path, frames: int) -> None:
    writer = LogWriter(folder)
    writer.append(
        [SessionStart(t_ns=START_NS, wall_ns=1, schema=1, mgtop="benchmark", name="benchmark")]
    )
    appends, records, size, spent_ns = 0, 0, 0, 0
    costs_us: list[float] = []
    for chunk in chunks(frames):
        begin = time.perf_counter_ns()
        size += writer.append(chunk)
        cost = time.perf_counter_ns() - begin
        spent_ns += cost
        if appends % 50 == 0:
            costs_us.append(cost / 1000)
        appends += 1
        records += len(chunk)
    writer.close()
    seconds = frames / FPS
    quantiles = statistics.quantiles(costs_us, n=100)
    print(f"session           {frames:,} frames, {seconds / 3600:.1f} h at {FPS} frames/s")
    print(f"records           {records:,} in {appends:,} appends ({records / frames:.1f} a frame)")
    print(f"log               {size / 1e6:.0f} MB, {size / frames:.0f} bytes a frame,"
          f" {size / seconds / 1000:.1f} kB/s, {size / records:.1f} bytes a record")  # fmt: skip
    print(f"append            {spent_ns / records / 1000:.2f} µs a record; one append P50"
          f" {quantiles[49]:.1f} µs, P99 {quantiles[98]:.1f} µs")  # fmt: skip
    print(f"writer's share    {100 * spent_ns / 1e9 / seconds:.3f} % of one core, live")


def read(folder: Path, frames: int) -> bool:
    before = peak_mib()
    reader = LogReader(folder)
    count = emits = 0
    longest = 0.0
    begin = time.perf_counter()
    while not reader.at_end:
        poll = time.perf_counter()
        records = reader.poll()
        longest = max(longest, time.perf_counter() - poll)
        count += len(records)
        emits += sum(type(record) is FrameEmit for record in records)
        del records
    took = time.perf_counter() - begin
    size = reader.path.stat().st_size
    print(f"read              {took:.1f} s: {count / took:,.0f} records/s, {size / took / 1e6:.0f}"
          f" MB/s, {emits / took:,.0f} frames/s; longest poll {longest * 1000:.0f} ms")  # fmt: skip
    print(f"memory            {before:.0f} MiB before reading, {peak_mib():.0f} MiB at the most")
    idle = []
    for _ in range(2000):
        poll_ns = time.perf_counter_ns()
        reader.poll()
        idle.append((time.perf_counter_ns() - poll_ns) / 1000)
    print(f"poll of no news   {statistics.median(idle):.1f} µs")
    good = emits == frames and reader.malformed_chunks == 0 and reader.unknown_records == 0
    if not good:
        print(f"wrong: {emits} frames came back of {frames}", file=sys.stderr)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write it (default: a temporary one)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
        write(Path(scratch), args.frames)
        good = read(Path(scratch), args.frames)
        begin = time.perf_counter()
        done = compact(Path(scratch))
        took = time.perf_counter() - begin
        print(f"compacted         {took:.1f} s: {done.after / 1e6:.0f} MB, "
              f"{done.after / args.frames:.0f} bytes a frame")  # fmt: skip
        return 0 if read(Path(scratch), args.frames) and good else 1


if __name__ == "__main__":
    sys.exit(main())
