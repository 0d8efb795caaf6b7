"""What the session log costs: bytes a frame by kind of record, appending, reading, seeking.

    python -m benchmarks.log [--hours 24] [--append-ms 40] [--folder DIR]
    python -m benchmarks.log --recorded tests/sessions/h200-alloc-retry/session.log.gz

Writes a made-up session of that length (benchmarks/synthetic.py: single frames at 16 frames/s
with five spans each, allocator counters, GPU memory where it changed, utilisation, host,
heartbeats), an append every 40 ms that has records, as the recorder does (less often it takes
fewer bytes, and is quicker to make where only seeking matters); not in real time. It rolls over as
the recorder's does, and finished files are compacted as they come. Then reads it whole, seeks to
times all over it, compacts it, and reads and seeks again. Exit code 1 where a record is missing or
a seek takes more than 100 ms (P95). With ``--recorded``: the size of what
was recorded, appended again by the times of its records. Figures: docs/session-log.md.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from benchmarks.synthetic import Options, S, Session
from mgtop.record.recorder import PERIOD_NS
from mgtop.record.schedule import Unchanged
from mgtop.session.compact import alone, compact, compact_finished
from mgtop.session.log_files import log_bytes
from mgtop.session.reader import LogReader, read_all
from mgtop.session.rolling import RollingLog
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import AnyRecord, FrameEmit, GpuMemory

START_NS = 1_000 * S
SEEKS = 200
SEEK_MS = 100.0


def peak_mib() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def write(folder: Path, seconds: float, period_ns: int) -> tuple[int, int]:
    """Write the session and say what it costs; how many records and frames it has."""
    session = Session(Options(), START_NS, 1_796_000_000 * S)
    unchanged = Unchanged()
    compacting_ns = beside_ns = rolled = 0

    def keep_small() -> None:
        nonlocal compacting_ns, beside_ns, rolled
        cpu, begin = time.process_time_ns(), time.perf_counter_ns()
        with alone(folder):
            compact_finished(folder)
        compacting_ns += time.process_time_ns() - cpu
        beside_ns += time.perf_counter_ns() - begin
        rolled += 1

    writer = RollingLog(folder, rolled=keep_small)
    encode = msgspec.msgpack.Encoder().encode
    plain: Counter[str] = Counter()
    number: Counter[str] = Counter()
    appends = size = spent_ns = 0
    costs_us: list[float] = []
    told: list[tuple[float, float]] = []
    told_now = 0.0, 0.0
    end_ns = START_NS + round(seconds * S)
    for t_ns in range(START_NS + period_ns, end_ns + 1, period_ns):
        records = [
            record
            for record in session.until(t_ns)
            if not isinstance(record, GpuMemory)
            or unchanged.is_news(record.gpu, record.used_bytes, record.t_ns)
        ]
        if t_ns + period_ns > end_ns:
            records += session.end(t_ns)
        before, files = beside_ns, rolled
        if appends % 250 == 0 and number["FrameEmit"]:
            told_now = (t_ns - START_NS) / S, log_bytes(folder) / number["FrameEmit"]
        begin = time.perf_counter_ns()
        size += writer.append(records)
        cost_ns = time.perf_counter_ns() - begin
        if rolled > files:  # the log was at its largest right before
            told.append(told_now)
            cost_ns -= beside_ns - before
        spent_ns += cost_ns
        appends += bool(records)
        for record in records:
            number[type(record).__name__] += 1
        if appends % 47 == 0:  # some tell the shares; 47 is no multiple of a sampler's period
            costs_us.append(cost_ns / 1000)
            for record in records:
                plain[type(record).__name__] += len(encode(record))
    writer.close()
    frames, count = number["FrameEmit"], sum(number.values())
    quantiles = statistics.quantiles(costs_us, n=100)
    print(f"session           {frames:,} frames, {seconds / 3600:.1f} h; {count:,} records in"
          f" {appends:,} appends")  # fmt: skip
    print(f"live log          {size / 1e6:.0f} MB, {size / frames:.0f} bytes a frame,"
          f" {size / seconds:.0f} B/s, {size / count:.1f} bytes a record, as appended")  # fmt: skip
    if rolled:
        most = ", ".join(f"{each:.0f} at {at / 60:.0f} min" for at, each in told[:4])
        print(f"all told          {log_bytes(folder) / frames:.0f} bytes a frame at the end, in"
              f" {rolled + 1} files; before each roll-over {most}, …; compacting"
              f" {100 * compacting_ns / 1e9 / seconds:.2f} % of one core")  # fmt: skip
    whole = plain.total()
    for name, share in plain.most_common(8):
        print(f"  {name:15} {number[name] / seconds:6.1f}/s, {100 * share / whole:4.1f} % of the"
              " bytes before deflate")  # fmt: skip
    print(f"append            {spent_ns / count / 1000:.2f} µs a record; one append P50"
          f" {quantiles[49]:.0f} µs, P99 {quantiles[98]:.0f} µs;"
          f" {100 * spent_ns / 1e9 / seconds:.2f} % of one core, live")  # fmt: skip
    return count, frames


def read(folder: Path) -> int:
    """Read all, and say what it costs; how many records there were."""
    reader = LogReader(folder)
    count = emits = 0
    longest = 0.0
    begin = time.perf_counter()
    cpu = time.process_time()
    while not reader.at_end:
        poll = time.perf_counter()
        records = reader.poll()
        longest = max(longest, time.perf_counter() - poll)
        count += len(records)
        emits += sum(type(record) is FrameEmit for record in records)
        del records
    took, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"read              {took:.1f} s ({cpu:.1f} s of CPU): {count / took:,.0f} records/s,"
          f" {emits / took:,.0f} frames/s; longest poll {longest * 1000:.0f} ms; at most"
          f" {peak_mib():.0f} MiB")  # fmt: skip
    return count if reader.malformed_chunks == 0 else -1


def seek(folder: Path, seconds: float) -> float:
    """Go to times all over the session, and read there; P95 of seek and first records, in ms."""
    chance = random.Random(0)
    costs_ms: list[float] = []
    for _ in range(SEEKS):
        t_ns = START_NS + round(chance.random() * (seconds - 10) * S)
        begin = time.perf_counter()
        reader = LogReader(folder)
        reader.seek(t_ns)
        records = reader.poll()
        costs_ms.append((time.perf_counter() - begin) * 1000)
        while records[-1].t_ns < t_ns:
            records = reader.poll()
    quantiles = statistics.quantiles(costs_ms, n=20)
    print(f"seek, first poll  P50 {quantiles[9]:.1f}, P95 {quantiles[18]:.1f}, at most"
          f" {max(costs_ms):.1f} ms, n = {SEEKS}")  # fmt: skip
    return quantiles[18]


def again(recorded: Path, folder: Path, period_ns: int) -> None:
    """The size that a recorded log has when it is written now."""
    (folder / LOG_NAME).write_bytes(gzip.decompress(recorded.read_bytes()))
    records = list(read_all(folder))
    before = (folder / LOG_NAME).stat().st_size
    (folder / LOG_NAME).unlink()
    writer = LogWriter(folder)
    due_ns, waiting = records[0].t_ns + period_ns, list[AnyRecord]()
    size = 0
    for record in records:
        if record.t_ns >= due_ns:
            size += writer.append(waiting)
            waiting, due_ns = [], record.t_ns + period_ns
        waiting.append(record)
    size += writer.append(waiting)
    writer.close()
    emits = [record for record in records if isinstance(record, FrameEmit)]
    frames, seconds = sum(emit.count for emit in emits), (due_ns - records[0].t_ns) / S
    print(f"recorded          {frames:,} frames in {len(emits):,} emits, {len(records):,} records,"
          f" {seconds:.0f} s; {before / frames:.0f} bytes a frame")  # fmt: skip
    print(f"live log          {size / frames:.0f} bytes a frame, {size / seconds:.0f} B/s")
    print(f"compacted         {compact(folder).after / frames:.0f} bytes a frame")


def main() -> int:
    """Measure; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--append-ms", type=int, default=PERIOD_NS // 1_000_000)
    parser.add_argument("--folder", type=Path, help="where to write it (default: a temporary one)")
    parser.add_argument("--recorded", type=Path, help="a session's log, gzipped")
    args = parser.parse_args()
    if args.recorded is not None:
        with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
            again(args.recorded, Path(scratch), args.append_ms * 1_000_000)
        return 0
    seconds = args.hours * 3600
    with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
        folder = Path(scratch)
        count, frames = write(folder, seconds, args.append_ms * 1_000_000)
        good = read(folder) == count
        slowest = seek(folder, seconds)
        begin = time.perf_counter()
        done = compact(folder)
        took = time.perf_counter() - begin
        print(f"compacted         in {took:.0f} s: {done.after / 1e6:.0f} MB,"
              f" {done.after / frames:.0f} bytes a frame")  # fmt: skip
        good = read(folder) == count and good
        slowest = max(slowest, seek(folder, seconds))
    print(f"load              {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if not good:
        print("wrong: not all records came back", file=sys.stderr)
    return 0 if good and slowest <= SEEK_MS else 1


if __name__ == "__main__":
    sys.exit(main())
