"""What stands on the screen how soon after ``mgtop attach PID``? A real program, a real terminal.

    python benchmarks/attach_time.py [--before 30] [--size 80x24] [--times 3]

Starts a program with the probe in it, lets it run for ``--before`` seconds, and attaches in a
pseudo-terminal of that size. Prints after how many seconds the header, the first chart and the
first figures stood there, each time, and the screen as it was three seconds after the command.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

PROGRAM = """
import time
from mgtop import probe
with probe.request("live", width=1280, height=720, steps=8, fps=25) as request:
    number = 0
    while True:
        with request.span("forward"): time.sleep(0.11)
        with request.span("encode"): time.sleep(0.29 if number % 30 == 29 else 0.04)
        request.frame(count=4)
        number += 1
"""
SIGNS = {
    "header": lambda rows: "frames from probe" in rows[1],
    "chart": lambda rows: any("interval ms  0" in row for row in rows),
    "figures": lambda rows: any("P50" in row and "n/a" not in row.split("P95")[0] for row in rows),
}
LOOK_AT_S = 3.0


def attach(pid: int, columns: int, lines: int) -> tuple[dict[str, float], list[str]]:
    """Seconds until each sign stood on the screen, and the screen after three seconds."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.ByteStream(screen)
    began = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "mgtop", "attach", str(pid)])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    seen: dict[str, float] = {}
    then: list[str] = []
    while (since := time.monotonic() - began) < 15 and (len(seen) < len(SIGNS) or not then):
        if select.select([terminal], [], [], 0.02)[0]:
            try:
                stream.feed(os.read(terminal, 1 << 16))
            except OSError:
                break
        rows = list(screen.display)
        for name, shows in SIGNS.items():
            if name not in seen and shows(rows):
                seen[name] = since
        if since >= LOOK_AT_S and not then:
            then = rows
    os.write(terminal, b"q")
    time.sleep(1)
    os.write(terminal, b"s")
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and not os.waitpid(child, os.WNOHANG)[0]:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                os.read(terminal, 1 << 16)
            except OSError:
                time.sleep(0.1)
    os.close(terminal)
    return seen, then


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=float, default=30, help="seconds before the attach")
    parser.add_argument("--size", default="80x24", help="of the terminal")
    parser.add_argument("--times", type=int, default=3)
    args = parser.parse_args()
    columns, lines = map(int, args.size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_STATE_HOME=folder, MGTOP_RUNTIME=f"{folder}/runtime")
        Path(folder, "model.py").write_text(PROGRAM)
        program = subprocess.Popen([sys.executable, "model.py"], cwd=folder)
        try:
            time.sleep(args.before)
            screens = []
            for _ in range(args.times):
                seen, then = attach(program.pid, columns, lines)
                screens.append(then)
                print("  ".join(f"{name} {seconds:.1f} s" for name, seconds in seen.items()))
        finally:
            program.kill()
            program.wait()
    print(f"the first screen, {LOOK_AT_S:.0f} s after the command (load {os.getloadavg()[0]:.1f}):")
    print("\n".join(row.rstrip() for row in screens[0]))
    return 0 if len(seen) == len(SIGNS) else 1


if __name__ == "__main__":
    sys.exit(main())
