"""Runs a terminal program in a pseudo-terminal and tells what it costs.

    python benchmarks/ptyrun.py [--seconds 20] [--cols 120] [--rows 40] [--screen FILE] -- COMMAND

This plays the part of the terminal: it drains the output, answers the queries that a terminal
would answer, and reads the CPU time and memory of the whole process tree from ``/proc``. The
output is only kept while the program runs; the screen is made of it afterwards, so emulation
does not disturb the measurement. ``pyte`` is needed for screens and for the first paint.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SYNC_BEGIN = b"\x1b[?2026h"
PAINTED_CELLS = 40
"""A screen with this many signs on it counts as painted."""

QUERIES: dict[bytes, Callable[[Options], bytes]] = {
    b"\x1b[?2026$p": lambda o: b"\x1b[?2026;2$y" if o.sync else b"\x1b[?2026;0$y",
    b"\x1b[?2048$p": lambda o: b"\x1b[?2048;0$y",
    b"\x1b[c": lambda o: b"\x1b[?62;22c",
    b"\x1b[6n": lambda o: b"\x1b[1;1R",
}
"""What programs ask, and what a modern xterm answers."""

UNKNOWN_TO_PYTE = re.compile(
    rb"\x1b\[[<>=][0-9;:]*[a-zA-Z]"  # private prefixes (kitty's keyboard, DA2, …)
    rb"|\x1b\[\?[0-9;]*\$p"  # questions for modes
    rb"|\x1b\[[0-9;]* ?[tq]"  # window operations, shape of the cursor
    rb"|\x1b[P_^][^\x1b]*\x1b\\\\"  # DCS, APC and PM strings
)
"""They change no cell."""


@dataclass(frozen=True)
class Options:
    """How to run one program.

    Attributes:
        command: with its arguments.
        seconds: time measured, after ``warmup`` seconds that are not.
        sync: the terminal knows synchronised output (mode 2026).
        throttle: the line carries at most this many bytes a second (0: all of them).
        paint_text: text that must be there for the screen to count as painted.
        keys: what is typed, and when (seconds since the start).
        env: added to the environment; an empty value removes.
        screens_at: seconds since the start at which the screen is kept, too.
    """

    command: list[str]
    seconds: float = 20.0
    warmup: float = 3.0
    cols: int = 120
    rows: int = 40
    sync: bool = True
    throttle: int = 0
    paint_text: str = ""
    keys: list[tuple[float, bytes]] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    want_screen: bool = False
    screens_at: list[float] = field(default_factory=list)


@dataclass
class Result:
    """What one run cost. Rates are over the time after the warm-up."""

    first_byte_ms: float | None = None
    first_paint_ms: float | None = None
    cpu_percent: float | None = None
    startup_cpu_s: float | None = None
    rss_mib: list[float] = field(default_factory=list)
    """At the end of the warm-up and every five seconds from there."""
    bytes_per_s: float | None = None
    paints_per_s: float | None = None
    key_ms: list[float] = field(default_factory=list)
    """From a key to the next output."""
    exit_status: int | None = None
    screen: list[str] = field(default_factory=list)
    screens: list[list[str]] = field(default_factory=list)
    """As asked for by ``screens_at``."""


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, its descendants and its reaped children."""
    ticks = 0
    for member in _tree(pid):
        with contextlib.suppress(OSError, ValueError):
            stat = Path(f"/proc/{member}/stat").read_bytes()
            ticks += sum(int(text) for text in stat[stat.rindex(b")") + 2 :].split()[11:15])
    return ticks / CLOCK_TICKS


def rss_mib(pid: int) -> float:
    """Resident memory of a process and its descendants."""
    pages = 0
    for member in _tree(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages += int(Path(f"/proc/{member}/statm").read_bytes().split()[1])
    return pages * PAGE_BYTES / 2**20


def _tree(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{found[-1]}/task"):
                children = Path(f"/proc/{found[-1]}/task/{task}/children").read_text()
                waiting += [int(child) for child in children.split()]
    return found


def spawn(options: Options) -> tuple[int, int]:
    """Start the program on a terminal of its own: its pid, and the terminal's other end."""
    pid, master = pty.fork()
    if pid == 0:
        env = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        env |= {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} | options.env
        env = {k: v for k, v in env.items() if v and k not in ("COLUMNS", "LINES")}
        try:
            _resize(0, options)
            os.execvpe(options.command[0], options.command, env)
        finally:
            os._exit(127)
    _resize(master, options)
    return pid, master


def _resize(fd: int, options: Options) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", options.rows, options.cols, 0, 0))


class Line:
    """The line between program and terminal: what came over it, and how fast it may come."""

    def __init__(self, master: int, options: Options) -> None:
        self.chunks: list[tuple[float, bytes]] = []
        """Seconds since the start, and what was read then."""
        self.open = True
        self._master, self._options = master, options
        self._started = time.monotonic()
        self._allowed, self._allowed_at = 0.0, self._started
        self._last = b""

    def passed_s(self) -> float:
        """Since the start."""
        return time.monotonic() - self._started

    def read(self, wait_s: float) -> bool:
        """Take what comes within ``wait_s``; True if something did."""
        if not select.select([self._master], [], [], wait_s)[0]:
            return False
        most = self._most()
        if most < 512:
            time.sleep(wait_s)
            return False
        try:
            data = os.read(self._master, most)
        except OSError as error:
            if error.errno != errno.EIO:  # what Linux says when the program has gone
                raise
            data = b""
        if not data:
            self.open = False
            return False
        self._allowed -= len(data)
        self.chunks.append((self.passed_s(), data))
        self._answer(data)
        return True

    def _most(self) -> int:
        rate = self._options.throttle
        if not rate:
            return 65536
        now = time.monotonic()
        self._allowed = min(self._allowed + (now - self._allowed_at) * rate, rate / 4)
        self._allowed_at = now
        return int(self._allowed)

    def _answer(self, data: bytes) -> None:
        window = self._last + data
        for query, answer in QUERIES.items():
            if window.count(query) > self._last.count(query):
                os.write(self._master, answer(self._options))
        self._last = window[-16:]


def measure(options: Options) -> Result:
    """Run a program for its warm-up and ``options.seconds``, then end it."""
    result = Result()
    pid, master = spawn(options)
    line = Line(master, options)
    started = time.monotonic()
    keys = sorted(options.keys)
    typed: float | None = None
    cpu_before: float | None = None
    next_rss, now = options.warmup, 0.0
    end = options.warmup + options.seconds
    try:
        while line.open and (now := time.monotonic() - started) < end:
            if cpu_before is None and now >= options.warmup:
                cpu_before = cpu_seconds(pid)
            if now >= next_rss:
                result.rss_mib.append(round(rss_mib(pid), 1))
                next_rss += 5.0
            if keys and now >= keys[0][0]:
                os.write(master, keys.pop(0)[1])
                typed = time.monotonic()
            if line.read(0.005) and typed is not None:
                result.key_ms.append(round((time.monotonic() - typed) * 1e3, 1))
                typed = None
        span = now - options.warmup
        if cpu_before is not None and span > 0:
            result.startup_cpu_s = round(cpu_before, 3)
            result.cpu_percent = round(100 * (cpu_seconds(pid) - cpu_before) / span, 2)
            steady = b"".join(data for when, data in line.chunks if when >= options.warmup)
            result.bytes_per_s = round(len(steady) / span, 1)
            result.paints_per_s = round(steady.count(SYNC_BEGIN) / span, 2)
    finally:
        result.exit_status = stop(pid, line)
        os.close(master)
    if line.chunks:
        result.first_byte_ms = round(line.chunks[0][0] * 1e3, 1)
    result.screen, result.first_paint_ms = replay(line.chunks, options, end)
    whole = replace(options, want_screen=True)
    result.screens = [replay(line.chunks, whole, at)[0] for at in options.screens_at]
    return result


def replay(
    chunks: list[tuple[float, bytes]], options: Options, until: float
) -> tuple[list[str], float | None]:
    """The screen at a time, and after how many ms it first showed something.

    Emulation takes about a second a megabyte, so it ends at the first paint unless the screen
    is wanted.
    """
    try:
        import pyte
    except ImportError:
        return [], None
    screen = pyte.Screen(options.cols, options.rows)
    stream = pyte.ByteStream(screen)
    painted: float | None = None
    for when, data in chunks:
        if when > until:
            break
        with contextlib.suppress(Exception):  # rare sequences that pyte fails on
            stream.feed(UNKNOWN_TO_PYTE.sub(b"", data))
        if painted is None and _painted(screen.display, options.paint_text):
            painted = round(when * 1e3, 1)
            if not options.want_screen:
                return [], painted
    return [row.rstrip() for row in screen.display], painted


def _painted(rows: list[str], text: str) -> bool:
    if text:
        return any(text in row for row in rows)
    return sum(len(row) - row.count(" ") for row in rows) >= PAINTED_CELLS


def stop(pid: int, line: Line) -> int | None:
    """Ask it to end, draining meanwhile; then insist."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            if not line.open or not line.read(0.02):
                time.sleep(0.02)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warmup", type=float, default=3)
    parser.add_argument("--cols", type=int, default=120)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--no-sync", action="store_true", help="deny synchronised output")
    parser.add_argument("--throttle", type=int, default=0, help="carry at most N bytes/s")
    parser.add_argument("--paint-text", default="", help="text that marks the first paint")
    parser.add_argument("--key", action="append", default=[], metavar="SECOND:KEYS")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--screen", metavar="FILE", help="write the last screen (-: print it)")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        parser.error("which command?")
    keys = [item.partition(":") for item in args.key]
    options = Options(
        command=command,
        seconds=args.seconds,
        warmup=args.warmup,
        cols=args.cols,
        rows=args.rows,
        sync=not args.no_sync,
        throttle=args.throttle,
        paint_text=args.paint_text,
        keys=[(float(at), text.encode().decode("unicode_escape").encode()) for at, _, text in keys],
        env=dict(item.split("=", 1) for item in args.env),
        want_screen=bool(args.screen),
    )
    result = asdict(measure(options))
    screen = "\n".join(result.pop("screen")) + "\n"
    if args.screen == "-":
        print(screen)
    elif args.screen:
        Path(args.screen).write_text(screen, encoding="utf-8")
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
