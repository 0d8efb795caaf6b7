"""Parquet of a long session, and DuckDB's queries over many. Figures: docs/exports.md.

    python -m benchmarks.exports [--frames 1000000] [--spans 2] [--sessions 1000] [--causes]

The long session is that of benchmarks/even.py: at 16 frames/s with so many spans a frame, the
allocator's counters, GPU memory, utilisation, host CPU; as recorded, and after ``mgtop compact``.
With ``--causes`` also with the judgement of late frames, which takes minutes. The many sessions
are made up, 15 s each (benchmarks/synthetic.py), with late frames; the queries are those of
docs/exports.md.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import even
from benchmarks.synthetic import Options, write
from mgtop.session.compact import compact
from mgtop.session.writer import LogWriter
from mgtop.wire.records import Record, SessionEnd, SessionStart, Span

PAGE = Path(__file__).parents[1] / "docs" / "exports.md"
EXPORT = """
import resource, sys, time
from pathlib import Path
from mgtop.export import parquet
began = time.perf_counter()
parquet.write(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "causes")
took, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
cpu, mib = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print(f"{took:.1f} s ({cpu:.1f} s of CPU), {mib:.0f} MiB")
"""


def chunks(frames: int, spans: int) -> Iterator[list[Record]]:
    """The log's chunks, with fewer spans."""
    for chunk in even.chunks(frames):
        yield [one for one in chunk if not isinstance(one, Span) or one.name <= spans]


def long_session(folder: Path, frames: int, spans: int) -> None:
    writer = LogWriter(folder)
    writer.append([SessionStart(even.START_NS, 1, 1, "benchmark", "benchmark")])
    records = 0
    for chunk in chunks(frames, spans):
        writer.append(chunk)
        records += len(chunk)
    end_ns = even.START_NS + frames * even.FRAME_NS
    writer.append([SessionEnd(end_ns, "ended")])
    writer.close()
    size = (folder / "session.log").stat().st_size
    print(f"session           {frames:,} frames, {records:,} records, {size / 1e6:.0f} MB")


def to_parquet(folder: Path, causes: bool) -> None:
    for kind in ("no-causes", "causes") if causes else ("no-causes",):
        with tempfile.TemporaryDirectory() as out:
            words = [sys.executable, "-c", EXPORT, str(folder), out, kind]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            written = sum(file.stat().st_size for file in Path(out).iterdir())
            print(f"Parquet {kind:<10}{done.stdout.strip()}, {written / 1e6:.0f} MB", flush=True)


def many_sessions(folder: Path, sessions: int) -> None:
    import duckdb

    from mgtop.export import parquet

    began, rows = time.perf_counter(), 0
    for number in range(sessions):
        made = folder / "sessions" / f"{number:04}"
        with contextlib.redirect_stdout(io.StringIO()):
            write(made, 15, 0, Options(seed=number, late_every=20))
        out = folder / "exports" / made.name
        out.mkdir(parents=True)
        parquet.write(made, out)
    took = time.perf_counter() - began
    os.chdir(folder)
    [(rows,)] = duckdb.sql(
        "SELECT count(*) FROM read_parquet('exports/*/*.parquet', union_by_name = true)"
    ).fetchall()
    print(f"sessions          {sessions:,} made and exported in {took:.0f} s: {rows:,} rows")
    page = PAGE.read_text("utf-8")
    queries = re.findall(r"```sql\n(.*?)```", page[page.index("### Many sessions") :], re.S)
    for number, query in enumerate(queries, 1):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            found = duckdb.sql(query).fetchall()
            times.append(time.perf_counter() - began)
        print(
            f"query {number}           {len(found)} rows in {min(times):.2f} to {max(times):.2f} s"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--spans", type=int, default=2, help="per frame, up to 9")
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--causes", action="store_true")
    args = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"machine           {os.cpu_count()} cores, load {load:.1f} at the begin")
    with tempfile.TemporaryDirectory() as scratch:
        if args.frames:
            (Path(scratch) / "long").mkdir()
            long_session(Path(scratch) / "long", args.frames, args.spans)
            to_parquet(Path(scratch) / "long", args.causes)
            print(f"compacted         {compact(Path(scratch) / 'long').after / 1e6:.1f} MB")
            to_parquet(Path(scratch) / "long", args.causes)
        if args.sessions:
            many_sessions(Path(scratch), args.sessions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
