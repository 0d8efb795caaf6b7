"""What does a day cost the view? A session of 24 hours, opened in a terminal of 120×40.

    python -m benchmarks.long_view [--hours 24] [--light] [--feed] [--folder DIR] [--compacted]

Writes a made-up session (:mod:`benchmarks.synthetic`: 16 frames/s with five spans each, a late
frame in 120, requests of ten minutes), not in real time, and opens it with ``mgtop view``:
when its last minutes are there, how soon keys are answered while the rest is read, memory
as that goes on, and what is held at last. 17 million records take a quarter of an hour of CPU
time to write and to read; ``--light`` leaves out spans and GPU, a sixth of it; ``--feed`` reads
it as the view does, without a screen. ``--folder``: a
session written there before is opened again. Figures: docs/screen.md.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pyte

from benchmarks.keys import SCREENS, find_effects, press_keys
from benchmarks.ptyrun import UNKNOWN_TO_PYTE, Line, Options, cpu_seconds, rss_mib, spawn, stop
from benchmarks.synthetic import Options as Made
from benchmarks.synthetic import S, Session
from mgtop.session.compact import compact
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.view.feed import Feed
from mgtop.wire.records import Span

START_NS = 1_000 * S
APPEND_NS = S
SHARE = re.compile(r"last minute, (\d+) % read")
KEYS, KEY_EVERY_S = 40, 0.5
AT_MOST_MIB = 120.0


def write(folder: Path, hours: float, light: bool) -> None:
    """Write the session; nothing in it was measured."""
    session = Session(Made(gpu=not light), START_NS, 1_796_000_000 * S)
    writer = LogWriter(folder)
    end_ns = START_NS + round(hours * 3600 * S)
    for t_ns in range(START_NS + APPEND_NS, end_ns, APPEND_NS):
        records = session.until(t_ns)
        writer.append([r for r in records if not (light and isinstance(r, Span))])
    writer.append(session.end(end_ns))
    writer.close()


class Terminal:
    """What the view shows, as it comes."""

    def __init__(self, line: Line, options: Options) -> None:
        self.line = line
        self._screen = pyte.Screen(options.cols, options.rows)
        self._stream = pyte.ByteStream(self._screen)
        self._fed = 0

    def text(self) -> str:
        """Of the whole screen, now."""
        for _, data in self.line.chunks[self._fed :]:
            with contextlib.suppress(Exception):  # rare sequences that pyte fails on
                self._stream.feed(UNKNOWN_TO_PYTE.sub(b"", data))
        self._fed = len(self.line.chunks)
        return "\n".join(self._screen.display)

    def wait(self, pattern: str, seconds: float) -> float:
        """Drain it until it shows that; when that was, in s since the start."""
        deadline = time.monotonic() + seconds
        while self.line.open and time.monotonic() < deadline:
            self.line.read(0.01)
            if re.search(pattern, self.text()):
                return self.line.passed_s()
        raise TimeoutError(pattern)


def read_whole(terminal: Terminal, pid: int, hours: float) -> None:
    """Wait until all is read; print the memory held at every twentieth."""
    line, told = terminal.line, 0
    while line.open:
        due = time.monotonic() + 0.5
        while line.open and time.monotonic() < due:
            line.read(0.05)
        found = SHARE.search(terminal.text())
        if found is None:
            break
        share = int(found.group(1))
        if share // 5 > told:
            told = share // 5
            print(f"  {share * hours / 100:5.1f} h read    {rss_mib(pid):6.1f} MiB,"
                  f" {cpu_seconds(pid):.0f} s of CPU", flush=True)  # fmt: skip


def look(folder: Path, hours: float) -> float:
    """Open the session and print what that costs; MiB held at last."""
    options = Options([sys.executable, "-m", "mgtop", "view", str(folder)])
    pid, master = spawn(options)
    terminal = Terminal(Line(master, options), options)
    try:
        painted = terminal.wait("interval", 30)
        there = terminal.wait("ENDED", 60)
        print(f"opened            first paint {painted:.2f} s, last minute there {there:.2f} s")
        presses = press_keys(terminal.line, master, SCREENS, KEYS, KEY_EVERY_S)
        find_effects(presses, terminal.line.chunks, options)
        took = sorted(press.ms for press in presses if press.ms is not None)
        cuts = statistics.quantiles(took, n=20, method="inclusive")
        print(f"keys meanwhile    P50 {cuts[9]:.0f}, P95 {cuts[18]:.0f}, max {took[-1]:.0f} ms"
              f" (n {len(took)}, without an effect {KEYS - len(took)})", flush=True)  # fmt: skip
        read_whole(terminal, pid, hours)
        print(f"all read          after {terminal.line.passed_s():.0f} s,"
              f" {cpu_seconds(pid):.0f} s of CPU")  # fmt: skip
        terminal.wait("late", 30)
        at_last = rss_mib(pid)
        status = Path(f"/proc/{pid}/status").read_text()
        peak = int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) / 1024
        print(f"memory            {at_last:.1f} MiB at last, {peak:.1f} at most")
        for row in terminal.text().splitlines()[:3]:
            print(f"  | {row.rstrip()}")
        return at_last
    finally:
        stop(pid, terminal.line)
        os.close(master)


def read_alone(folder: Path, hours: float) -> float:
    """Read all without a screen, as the view does; MiB held at last by this process."""
    feed, told = Feed(folder), 0
    begin_s = time.process_time()
    while feed.share_read is not None or not feed.caught_up:
        feed.poll()
        share = 1.0 if feed.share_read is None else feed.share_read
        if int(share * 24) > told:
            told = int(share * 24)
            feed.model.summary()
            print(f"  {share * hours:5.1f} h read    {rss_mib(os.getpid()):6.1f} MiB,"
                  f" {time.process_time() - begin_s:.0f} s of CPU", flush=True)  # fmt: skip
    begin_s = time.process_time()
    summary = feed.model.summary()
    print(f"first summary     {1000 * (time.process_time() - begin_s):.0f} ms;"
          f" {summary.interval_ms.count:,} intervals, P50 {summary.interval_ms.p50} ms,"
          f" {summary.tails.count:,} late frames")  # fmt: skip
    return rss_mib(os.getpid())


def main() -> int:
    """Measure; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--folder", type=Path, help="where to write it, and to leave it")
    parser.add_argument("--light", action="store_true", help="without spans and without a GPU")
    parser.add_argument("--feed", action="store_true", help="read it without a screen")
    parser.add_argument("--compacted", action="store_true", help="as mgtop compact leaves it")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / LOG_NAME).exists():
            write(folder, args.hours, args.light)
        if args.compacted:
            compact(folder)
        size = (folder / LOG_NAME).stat().st_size
        print(f"session           {args.hours:g} h, {args.hours * 3600 * 16:,.0f} frames wanted,"
              f" {size / 1e6:.0f} MB", flush=True)  # fmt: skip
        mib = read_alone(folder, args.hours) if args.feed else look(folder, args.hours)
        print(f"held at last      {mib:.1f} MiB")
    print(f"load              {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0 if mib <= AT_MOST_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
