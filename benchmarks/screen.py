"""What does the screen cost? ``mgtop view`` on a growing session, beside other monitors.

    python benchmarks/screen.py [--seconds 20] [--json FILE]

Each line is one run on a pseudo-terminal of its own (:mod:`benchmarks.ptyrun`): the first paint,
CPU time as a share of one core, bytes to the terminal, and memory. The session is synthetic
(:mod:`benchmarks.synthetic`) and grows by 16 frames a second beside the view. Other monitors
are run where they are installed; what they draw is not the same; neither is what Textual's own
``Sparkline`` shows (:mod:`benchmarks.sparkline`). At last keys are pressed while some 2,000
events a second come in, and each is timed until its effect shows (:mod:`benchmarks.keys`).
Figures: docs/screen.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.keys import HOLDING, SCREENS, find_effects, press_keys, wait_for_text
from benchmarks.ptyrun import Line, Options, Result, measure, spawn, stop

HISTORY_S = 120
WARMUP_S = 10.0  # on a busy machine two minutes of log take that long to be read
SLOW_LINE = 8_000  # bytes/s: 64 kbit/s
BUSY_FPS = 330  # frames of seven events each, and what the machine's sources write
KEY_EVERY_S = 0.5


@dataclass(frozen=True)
class Case:
    """One run of the view."""

    name: str
    cols: int = 120
    rows: int = 40
    args: Sequence[str] = ()
    keys: Sequence[tuple[float, bytes]] = ()
    throttle: int = 0
    env: dict[str, str] = field(default_factory=dict)


CASES = (
    Case("4 updates/s"),
    Case("4 updates/s, 80×24", cols=80, rows=24),
    Case("4 updates/s, 200×60", cols=200, rows=60),
    Case("1 update/s", args=("--fps", "1")),
    Case("paused", keys=((2.5, b" "),)),
    Case("16 colours", env={"TERM": "xterm", "COLORTERM": ""}),
    Case("64 kbit/s line", throttle=SLOW_LINE),
)
PEERS = {
    "six Textual Sparklines": (sys.executable, str(Path(__file__).with_name("sparkline.py"))),
    "nvitop": ("nvitop",),
    "btop, every 1 s": ("btop", "--utf-force"),
    "glances, every 1 s": ("glances", "-t", "1"),
    "htop, every 1 s": ("htop", "-d", "10"),
}


def run_view(case: Case, seconds: float, history_s: float) -> Result:
    """The view of a session that grows meanwhile."""
    with tempfile.TemporaryDirectory(prefix="mgtop-screen-") as scratch:
        folder = Path(scratch, "session")
        live_s = WARMUP_S + seconds + 5
        synthetic = Path(__file__).with_name("synthetic.py")
        command = [sys.executable, str(synthetic), str(folder)]
        command += ["--history", str(history_s), "--live", str(live_s)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            try:
                assert writer.stdout is not None
                writer.stdout.readline()  # the history is there
                view = [sys.executable, "-m", "mgtop", "view", str(folder), *case.args]
                return measure(
                    Options(
                        command=view,
                        seconds=seconds,
                        warmup=WARMUP_S,
                        cols=case.cols,
                        rows=case.rows,
                        throttle=case.throttle,
                        keys=list(case.keys),
                        env=case.env,
                        paint_text="interval",
                    )
                )
            finally:
                writer.kill()


def answer_keys(number: int) -> tuple[float, list[float | None]]:
    """Press keys while a session with many events is read.

    Returns:
        Records a second, and the ms of each key from the press to its effect (None: it had
        none before the next key).
    """
    with tempfile.TemporaryDirectory(prefix="mgtop-keys-") as scratch:
        folder = Path(scratch, "session")
        live_s = 20 + number * KEY_EVERY_S
        command = [sys.executable, str(Path(__file__).with_name("synthetic.py")), str(folder)]
        command += ["--fps", str(BUSY_FPS), "--history", "10", "--live", str(live_s)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            rate = int(writer.stdout.readline().split()[0]) / 10
            options = Options([sys.executable, "-m", "mgtop", "view", str(folder)])
            pid, master = spawn(options)
            line = Line(master, options)
            try:
                wait_for_text(line, options, "STEADY", 30.0)
                presses = press_keys(line, master, HOLDING + SCREENS, number, KEY_EVERY_S)
            finally:
                stop(pid, line)
                os.close(master)
                writer.kill()
    find_effects(presses, line.chunks, options)
    return rate, [press.ms for press in presses]


def show_keys(number: int, out: dict[str, object]) -> None:
    """Measure and print how soon keys are answered."""
    rate, answers = answer_keys(number)
    took = sorted(ms for ms in answers if ms is not None)
    cuts = statistics.quantiles(took, n=20, method="inclusive") if len(took) > 1 else [0.0] * 19
    print(
        f"keys at {rate:,.0f} records/s: n {len(took)}, P50 {cuts[9]:.0f}, P95 {cuts[18]:.0f}, "
        f"max {max(took, default=0):.0f} ms; without an effect {len(answers) - len(took)}"
    )
    out["keys"] = {"records_per_s": rate, "ms": answers}


def show(name: str, result: Result, out: dict[str, object]) -> None:
    """Print a line of the table, and keep it."""

    def cell(value: float | None, form: str) -> str:
        return format(value, form) if value is not None else "n/a"

    rate = None if result.bytes_per_s is None else result.bytes_per_s / 1000
    key = statistics.median(result.key_ms) if result.key_ms else None
    print(
        f"{name:<22} {cell(result.first_paint_ms, '8.0f')} {cell(result.cpu_percent, '7.2f')}"
        f" {cell(rate, '7.2f')} {cell(result.paints_per_s, '8.2f')}"
        f" {cell(max(result.rss_mib, default=None), '7.1f')} {cell(key, '6.0f')}",
        flush=True,
    )
    out[name] = {k: v for k, v in asdict(result).items() if k not in ("screen", "screens")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="measured time of each run")
    parser.add_argument("--history", type=float, default=HISTORY_S, help="seconds already there")
    parser.add_argument("--only", default="", help="runs whose name holds this text")
    parser.add_argument("--keys", type=int, default=60, help="pressed while events come in")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    args = parser.parse_args()
    out: dict[str, object] = {}
    print(f"{'':<22} paint ms   CPU %    kB/s paints/s     MiB key ms")
    for case in CASES:
        if args.only in case.name:
            show(case.name, run_view(case, args.seconds, args.history), out)
    for name, command in PEERS.items():
        if args.only not in name:
            continue
        if shutil.which(command[0]) is None:
            print(f"{name:<22} not installed")
            continue
        show(name, measure(Options(list(command), args.seconds, WARMUP_S)), out)
    if args.only in "keys":
        show_keys(args.keys, out)
    if args.json:
        args.json.write_text(json.dumps(out, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
