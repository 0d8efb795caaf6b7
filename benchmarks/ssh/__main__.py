"""Is the screen of use over a slow, far SSH line? ``mgtop view`` through an sshd on loopback.

    python -m benchmarks.ssh [--seconds 60] [--delay-ms 125] [--rate 8000] [--only TEXT]

For each case an SSH client on a pseudo-terminal runs ``mgtop view`` of a growing session behind
a line that delays each direction and limits its rate (:mod:`benchmarks.ssh.line`). Told: when
the screen first stood; what came to the terminal and what the line carried, in the last half of
the time; how often the screen said that it draws more slowly; and how long a key took from the
press to its effect on the screen, with the line's own round trip taken off in the last column.
Exit code 1 where a goal is missed. Figures: docs/remote.md.
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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.keys import HOLDING, SCREENS, Key, find_effects, press_keys, wait_for_text
from benchmarks.ptyrun import Line, Options, _stop, replay, spawn
from benchmarks.ssh.daemon import OwnSshd
from benchmarks.ssh.line import Relay

ROOT = Path(__file__).parents[2]
GOAL_BYTES_S = 4000
OPENING_S = 60.0


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


CASES = (
    Case("120×40"),
    Case("80×24", 80, 24),
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
    key_ms: list[float] = field(default_factory=list)
    unanswered: int = 0


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


def look(case: Case, sshd: OwnSshd, port: int, session: Path, seconds: float) -> Seen:
    """Look at a session for that long, pressing a key every two seconds in the second half."""
    view = [sys.executable, "-m", "mgtop", "view", str(session), *case.args]
    options = Options(sshd.ssh(shlex.join(view), port=port), cols=case.cols, rows=case.rows)
    seen = Seen()
    pid, master = spawn(options)
    line = Line(master, options)
    try:
        painted = wait_for_text(line, options, "interval", OPENING_S)
        if painted is None:
            return seen
        seen.first_paint_ms = painted * 1e3
        os.write(master, case.typed)
        begin = line.passed_s() + seconds / 2
        while line.open and line.passed_s() < begin:
            line.read(0.01)
        quiet_until = begin + seconds / 4
        while line.open and line.passed_s() < quiet_until:
            line.read(0.01)
        carried = sum(len(data) for when, data in line.chunks if begin <= when < quiet_until)
        seen.bytes_per_s = carried / (quiet_until - begin)
        number = max(6, round(seconds / 4 / 2.0))
        presses = press_keys(line, master, case.keys, number, pause_s=2.0)
    finally:
        _stop(pid, line)
        os.close(master)
    find_effects(presses, line.chunks, options)
    seen.key_ms = [press.ms for press in presses if press.ms is not None]
    seen.unanswered = len(presses) - len(seen.key_ms)
    whole = Options(options.command, cols=case.cols, rows=case.rows, want_screen=True)
    head = "\n".join(replay(line.chunks, whole, quiet_until)[0][:2])
    found = re.search(r"drawn every ([0-9.]+) s", head)
    seen.interval_s = float(found[1]) if found else 0.0
    return seen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="looked at, per case")
    parser.add_argument("--delay-ms", type=float, default=125, help="each way")
    parser.add_argument("--rate", type=float, default=8000, help="bytes a second, each way")
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    args = parser.parse_args()
    missed = []
    print(f"two ways of {args.delay_ms:.0f} ms, {args.rate * 8 / 1e3:.0f} kbit/s each")
    print(f"{'':<28} paint ms   kB/s  drawn   keys: n  P50  P95  max ms  no answer")
    for case in CASES:
        if args.only not in case.name:
            continue
        with tempfile.TemporaryDirectory(prefix="mgtop-ssh-") as scratch:
            folder = Path(scratch)
            sshd = OwnSshd(folder / "sshd", {"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"})
            relay = Relay(sshd.port, args.delay_ms, args.rate)
            try:
                lengths = (900, 0) if case.typed else (120, args.seconds + OPENING_S)
                with made_session(folder / "session", *lengths) as session:
                    seen = look(case, sshd, relay.port, session, args.seconds)
            finally:
                relay.cut()
                sshd.close()
        tell(case, seen)
        if seen.bytes_per_s is None or seen.bytes_per_s > GOAL_BYTES_S or seen.unanswered:
            missed.append(case.name)
    if missed:
        print(f"missed: {', '.join(missed)} (at most {GOAL_BYTES_S} bytes/s, each key answered)")
    return 1 if missed else 0


def tell(case: Case, seen: Seen) -> None:
    """One row of the table."""
    if seen.first_paint_ms is None or seen.bytes_per_s is None:
        print(f"{case.name:<28} it never stood", flush=True)
        return
    drawn = f"{seen.interval_s:.1f} s" if seen.interval_s else "as asked"
    keys = sorted(seen.key_ms)
    cuts = statistics.quantiles(keys, n=20, method="inclusive") if len(keys) > 1 else [0.0] * 19
    print(
        f"{case.name:<28} {seen.first_paint_ms:8.0f} {seen.bytes_per_s / 1e3:6.2f} {drawn:>8}"
        f"   {len(keys):5} {cuts[9]:5.0f} {cuts[18]:5.0f} {max(keys, default=0):5.0f}"
        f"  {seen.unanswered}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
