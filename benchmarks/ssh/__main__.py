"""Is the screen of use over a slow, far SSH line? ``mgtop view`` through an sshd on loopback.

    python -m benchmarks.ssh [--seconds 20] [--keys 12] [--delay-ms 125] [--rate 8000] [--only TEXT]

For each case an SSH client on a pseudo-terminal runs ``mgtop view`` of a growing session behind
a line that delays each direction and limits its rate: the kernel's ``netem`` in a network
namespace where there is one, else a relay (:mod:`benchmarks.ssh.line`). Told: how long
after the login the screen stood; what came to the terminal a second once the pace has settled,
and how often the screen said that it draws; and how long keys took from the press to their
effect on the screen: a word that comes and goes, and another screen, whose text has to come over
the line first. Exit code 1 where a goal is missed. Figures: docs/remote.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.keys import HOLDING, SCREENS, Key, Press, find_effects, press_keys, wait_for_text
from benchmarks.ptyrun import Line, Options, replay, spawn, stop
from benchmarks.ssh.daemon import OwnSshd
from benchmarks.ssh.line import Relay
from benchmarks.ssh.namespace import Namespace, kernel_has, netem, tbf

ROOT = Path(__file__).parents[2]
LINES = ("netem", "relay", "tbf")
"""The kernel's, a relay of ours, or the kernel's with a limit and no delay."""
GOAL_BYTES_S = 4000
OPENING_S = 60.0
PAUSE_S = 3.0
"""Between two keys, on average."""


@dataclass(frozen=True)
class Case:
    """One way of looking at the session."""

    name: str
    cols: int = 120
    rows: int = 40
    args: tuple[str, ...] = ()
    typed: bytes = b""
    """Once the screen stands: plays a recorded session, which changes all of it all the time."""
    keys: tuple[Key, ...] = HOLDING + SCREENS
    compressed: bool = False


CASES = (
    Case("120×40"),
    Case("80×24", 80, 24),
    Case("120×40, ssh -C", compressed=True),
    Case("200×60", 200, 60),
    Case("200×60, --fps 30", 200, 60, ("--fps", "30")),
    Case("a recording played at ×16", typed=b" ]]]]", keys=SCREENS),
)


@dataclass
class Seen:
    """What one case showed."""

    first_paint_ms: float | None = None
    bytes_per_s: float | None = None
    interval_s: float = 0.0
    """Between two drawings, as the header said last; 0: as asked for."""
    presses: list[Press] = field(default_factory=list)

    def took_ms(self, keys: Sequence[Key]) -> list[float]:
        """How long those took that were answered, the quickest first."""
        return sorted(p.ms for p in self.presses if p.key in keys and p.ms is not None)

    @property
    def unanswered(self) -> int:
        """Keys that had shown nothing when the next one was pressed."""
        return sum(press.ms is None for press in self.presses)


@contextmanager
def made_session(folder: Path, history_s: float, live_s: float) -> Iterator[Path]:
    """A synthetic session at 16 frames a second, which grows if ``live_s`` is not 0."""
    command = [sys.executable, str(ROOT / "benchmarks" / "synthetic.py"), str(folder)]
    command += ["--history", str(history_s), "--live", str(live_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        if not live_s:
            writer.wait()
        try:
            yield folder
        finally:
            writer.kill()


@contextmanager
def server_behind(
    line: str, folder: Path, delay_ms: float, rate: float
) -> Iterator[tuple[OwnSshd, int | None]]:
    """A server behind a line of one of :data:`LINES`, and the relay's port (None: no relay)."""
    env = {"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    if line == "relay":
        sshd = OwnSshd(folder, env)
        relay = Relay(sshd.port, delay_ms, rate)
        try:
            yield sshd, relay.port
        finally:
            relay.cut()
            sshd.close()
        return
    space = Namespace(netem(delay_ms, rate) if line == "netem" else tbf(rate))
    try:
        sshd = OwnSshd(folder, env, space.address, space.prefix)
        try:
            yield sshd, None
        finally:
            sshd.close()
    finally:
        space.close()


def log_in(sshd: OwnSshd, port: int | None) -> float:
    """How long it takes to log in and do nothing, in seconds."""
    began = time.monotonic()
    subprocess.run(sshd.ssh("true", port=port), stdin=subprocess.DEVNULL, check=True, timeout=60)
    return time.monotonic() - began


def look(
    case: Case,
    sshd: OwnSshd,
    port: int | None,
    session: Path,
    settle_s: float,
    presses: int,
    pause_s: float = PAUSE_S,
) -> Seen:
    """Look at a session: until the pace has settled, then for half as long, then press keys."""
    view = [sys.executable, "-m", "mgtop", "view", str(session), *case.args]
    client = sshd.ssh(shlex.join(view), port=port)
    client[1:1] = ["-C"] if case.compressed else []
    options = Options(client, cols=case.cols, rows=case.rows)
    seen = Seen()
    pid, master = spawn(options)
    line = Line(master, options)
    try:
        painted = wait_for_text(line, options, "interval", OPENING_S)
        if painted is None:
            return seen
        seen.first_paint_ms = painted * 1e3
        os.write(master, case.typed)
        begin = line.passed_s() + settle_s
        end = begin + settle_s / 2
        while line.open and line.passed_s() < end:
            line.read(0.01)
        came = sum(len(data) for when, data in line.chunks if begin <= when < end)
        seen.bytes_per_s = came / (end - begin)
        seen.presses = press_keys(line, master, case.keys, presses, pause_s)
    finally:
        stop(pid, line)
        os.close(master)
    find_effects(seen.presses, line.chunks, options)
    whole = Options(options.command, cols=case.cols, rows=case.rows, want_screen=True)
    found = re.search(r"drawn every ([0-9.]+) s", "\n".join(replay(line.chunks, whole, end)[0][:2]))
    seen.interval_s = float(found[1]) if found else 0.0
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="for the pace to settle")
    parser.add_argument("--keys", type=int, default=12, help="pressed in each case")
    parser.add_argument("--delay-ms", type=float, default=125, help="each way")
    parser.add_argument("--rate", type=float, default=8000, help="bytes a second, each way")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--line", choices=LINES, help="netem where the kernel has it, else relay")
    args = parser.parse_args()
    line = args.line or ("netem" if kernel_has(netem(1, 1000)) else "relay")
    missed = []
    delay_ms = 0 if line == "tbf" else args.delay_ms
    print(f"{line}: two ways of {delay_ms:.0f} ms, {args.rate * 8 / 1e3:.0f} kbit/s each")
    print(f"{'':<28}  login  screen  {'':<24}  a word, ms         another screen, ms")
    print(f"{'':<28}     ms     +ms   kB/s  drawn every    n   P50   P95     n   P50   P95  none")
    for case in CASES:
        if args.only not in case.name:
            continue
        with tempfile.TemporaryDirectory(prefix="mgtop-ssh-") as scratch:
            folder = Path(scratch)
            live_s = OPENING_S + 2 * args.seconds + 2 * PAUSE_S * args.keys
            lengths = (900, 0) if case.typed else (120, live_s)
            with (
                server_behind(line, folder / "sshd", args.delay_ms, args.rate) as (sshd, port),
                made_session(folder / "session", *lengths) as session,
            ):
                login_ms = log_in(sshd, port) * 1e3
                seen = look(case, sshd, port, session, args.seconds, args.keys)
        tell(case, seen, login_ms)
        if seen.bytes_per_s is None or seen.bytes_per_s > GOAL_BYTES_S or seen.unanswered:
            missed.append(case.name)
    if missed:
        print(f"missed: {', '.join(missed)} (at most {GOAL_BYTES_S} bytes/s, each key answered)")
    return 1 if missed else 0


def tell(case: Case, seen: Seen, login_ms: float) -> None:
    """One row of the table."""
    if seen.first_paint_ms is None or seen.bytes_per_s is None:
        print(f"{case.name:<28} it never stood", flush=True)
        return
    drawn = f"{seen.interval_s:.1f} s" if seen.interval_s else "as asked"
    row = f"{case.name:<28} {login_ms:6.0f} {seen.first_paint_ms - login_ms:7.0f}"
    row += f" {seen.bytes_per_s / 1e3:6.2f} {drawn:>12}"
    for keys in (HOLDING, SCREENS):
        took = seen.took_ms(keys)
        cuts = statistics.quantiles(took, n=20, method="inclusive") if len(took) > 1 else []
        row += f" {len(took):4}" + (
            f" {cuts[9]:5.0f} {cuts[18]:5.0f} " if cuts else "   n/a   n/a "
        )
    print(f"{row} {seen.unanswered:4}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
