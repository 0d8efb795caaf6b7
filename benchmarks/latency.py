"""How soon does a frame show? From the emit to a readable record, and to the screen.

    python benchmarks/latency.py [--seconds 20] [--rate 16] [--only log|screen]

``log``: from the time that the probe stamps a frame to the moment another process has read
it from the session log. ``screen``: to the moment a terminal has been sent a changed picture
that counts it (a real pty of 120×40, ``mgtop run`` as a person starts it). Prints P50, P95
and the maximum; exit code 1 where the screen's P95 is above 350 ms.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOAL_MS = 350.0
COLUMNS, ROWS = 120, 40
ANSWERS = {
    b"\x1b[?2026$p": b"\x1b[?2026;2$y",
    b"\x1b[?2048$p": b"\x1b[?2048;0$y",
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[6n": b"\x1b[1;1R",
}
"""What programs ask, and what a modern terminal answers."""
UNKNOWN_TO_PYTE = re.compile(
    rb"\x1b\[[<>=][0-9;:]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\[[0-9;]* ?[tq]"
    rb"|\x1b[P_^][^\x1b]*\x1b\\"
)
"""Sequences that pyte does not know; they change no cell."""

SENDER = """
import random, sys, time
sys.path.insert(0, {root!r})
from mgtop import probe
rate, seconds = {rate}, {seconds}
with probe.request("bench", width=1280, height=720, steps=4, fps=rate) as request:
    request.preprocess_done()
    began = time.monotonic()
    number = 0
    while time.monotonic() - began < seconds:
        number += 1
        # Never in step with the reader's 20 ms.
        due = began + (number + random.uniform(-0.3, 0.3)) / rate
        time.sleep(max(0.0, due - time.monotonic()))
        with request.span("forward"):
            pass
        request.frame()
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=16, help="frames a second")
    parser.add_argument("--only", choices=("log", "screen"))
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    code = 0
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["MGTOP_RUNTIME"] = f"{scratch}/runtime"
        os.environ["XDG_STATE_HOME"] = f"{scratch}/state"
        if args.only != "screen":
            report("emit to log", measure_log(args.rate, args.seconds, Path(scratch)))
        if args.only != "log":
            latencies = measure_screen(args.rate, args.seconds, Path(scratch))
            code = 0 if report("emit to screen", latencies) <= GOAL_MS else 1
    return code


def report(what: str, latencies_ms: list[float]) -> float:
    """Print one line; return the P95 (infinite where nothing was measured)."""
    if not latencies_ms:
        print(f"{what:<16} nothing was measured", file=sys.stderr)
        return float("inf")
    ranked = sorted(latencies_ms)

    def rank(share: float) -> float:
        at = share * (len(ranked) - 1)
        low = int(at)
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (ranked[high] - ranked[low]) * (at - low)

    p95 = rank(0.95)
    print(
        f"{what:<16} n {len(ranked):<5} P50 {rank(0.5):6.1f} ms   P95 {p95:6.1f} ms   "
        f"max {ranked[-1]:6.1f} ms"
    )
    return p95


def measure_log(rate: float, seconds: float, scratch: Path) -> list[float]:
    """Milliseconds from each emit to its record being read by this process."""
    from mgtop.record.launch import start
    from mgtop.record.plan import Plan
    from mgtop.session.reader import LogReader
    from mgtop.wire.records import FrameEmit

    sender = SENDER.format(root=str(ROOT), rate=rate, seconds=seconds)
    plan = Plan(name="latency", command=[sys.executable, "-c", sender], cwd=str(scratch))
    recording = start(plan)
    reader = LogReader(recording.folder)
    latencies: list[float] = []
    while recording.poll() is None:
        records = reader.poll()
        now = time.monotonic_ns()
        latencies += [(now - r.t_ns) / 1e6 for r in records if isinstance(r, FrameEmit)]
        time.sleep(0.001)
    return latencies


def measure_screen(rate: float, seconds: float, scratch: Path) -> list[float]:
    """Milliseconds from each emit to the terminal having got a picture that counts it.

    The picture's "n" counts intervals: the emit with index i has been counted once n ≥ i − 1,
    since the first two emits are warm-up. Emits of the first three seconds are left out: the
    screen is still starting.
    """
    from mgtop.session.folder import sessions_root
    from mgtop.session.reader import read_all
    from mgtop.wire.records import FrameEmit

    before = set(sessions_root().glob("*")) if sessions_root().is_dir() else set()
    sender = SENDER.format(root=str(ROOT), rate=rate, seconds=seconds)
    command = [sys.executable, "-m", "mgtop", "run", "--", sys.executable, "-c", sender]
    chunks = watch_terminal(command, seconds + 4.0)
    folder = next(iter(set(sessions_root().glob("*")) - before))
    emits = {r.index: r.t_ns for r in read_all(folder) if isinstance(r, FrameEmit)}
    if not emits:
        return []
    shown = [(t_ns, count) for t_ns, count in counts_on_screen(chunks) if count is not None]
    begin = min(emits.values()) + 3_000_000_000
    latencies: list[float] = []
    at = 0
    for index in sorted(emits):
        while at < len(shown) and shown[at][1] < index - 1:
            at += 1
        if at == len(shown):
            break
        if emits[index] >= begin:
            latencies.append((shown[at][0] - emits[index]) / 1e6)
    return latencies


def watch_terminal(command: list[str], seconds: float) -> list[tuple[int, bytes]]:
    """Run a command in a pty, answer as a terminal would; output with times of its arrival."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(
            TERM="xterm-256color", COLORTERM="truecolor", LC_ALL="C.UTF-8", PYTHONPATH=str(ROOT)
        )
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execv(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    chunks: list[tuple[int, bytes]] = []
    until = time.monotonic() + seconds
    tail = b""
    keys = [(0.0, b"q"), (1.0, b"l")]  # quit; leave the target alone
    while True:
        now = time.monotonic()
        if keys and now > until + keys[0][0]:
            os.write(master, keys.pop(0)[1])
        if now > until + 10:
            os.kill(pid, signal.SIGKILL)
        if not select.select([master], [], [], 0.01)[0]:
            if os.waitpid(pid, os.WNOHANG)[0]:
                break
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            os.waitpid(pid, 0)
            break
        chunks.append((time.monotonic_ns(), data))
        window = tail + data
        for query, answer in ANSWERS.items():
            if window.count(query) > tail.count(query):
                os.write(master, answer)
        tail = window[-16:]
    os.close(master)
    return chunks


def counts_on_screen(chunks: list[tuple[int, bytes]]) -> list[tuple[int, int | None]]:
    """The number of intervals that the screen shows after each chunk (None: it shows none)."""
    import pyte

    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    counts: list[tuple[int, int | None]] = []
    for t_ns, data in chunks:
        stream.feed(UNKNOWN_TO_PYTE.sub(b"", data))
        line = next((text for text in screen.display if "interval" in text and " P50 " in text), "")
        found = re.search(r" n ([0-9,]+)", line)
        counts.append((t_ns, int(found[1].replace(",", "")) if found else None))
    return counts


if __name__ == "__main__":
    sys.exit(main())
