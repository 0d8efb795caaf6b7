"""What does somebody see who opens mgtop for the first time? The screens of each demo fault.

    python -m benchmarks.newcomer [--seconds 60] [--only NAME] [--out FOLDER]

Starts `mgtop demo --fault NAME` at 80×24 on a pseudo-terminal, touches nothing, and keeps the
screen after so many seconds; then presses Enter, for all about one late frame, and keeps that,
too. Of each screen it says whether the fault's cause is named on it, and the next step: the
first words of what that cause's remedy says. Read the screens as well: FOLDER holds them as text.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.ptyrun import Options, measure
from mgtop.analysis.causes import find_cause

FAULTS = {
    "cpu": "supply",
    "gc": "gc",
    "compile": "compile",
    "queue": "queue",
    "output": "output",
    "compute": "compute",
    "stall": "blocked",
    "vram": "alloc_retry",
    "leak": "rises",
}
"""The demo's faults, and as what each must be named; leak is one of RAM where there is no GPU.

Which key leads on is the next step of a leak on the live screen. On a machine with too few free
cores, waiting for a core is what makes frames late, and cpu and compute are rightly called that.
"""
GPU_ONLY = ("vram",)
STEP_WORDS = 3
"""So many words of a remedy are the next step: the screen may cut the rest."""
LEAK_STEP = "rises (3)"
KEY_S = 2.0
"""So long the screen has for a key."""


def step_of(cause: str) -> str:
    """The beginning of what to do about a cause."""
    found = find_cause(cause)
    return " ".join(found.remedy.split()[:STEP_WORDS]) if found is not None else LEAK_STEP


def capture(fault: str, seconds: float, key: str) -> tuple[list[str], list[str]]:
    """The 24 lines of the screen ``seconds`` after the start, and those a key brings."""
    with tempfile.TemporaryDirectory(prefix="mgtop-newcomer-") as scratch:
        folder = Path(scratch) / "session"
        mgtop = [sys.executable, "-m", "mgtop"]
        options = Options(
            command=[*mgtop, "demo", "--fault", fault, "--out", str(folder)],
            seconds=1.0,
            warmup=seconds + KEY_S - 1.0,
            cols=80,
            rows=24,
            keys=[(seconds, key.encode())],
            env={"COLORTERM": "truecolor"},
            screens_at=[seconds, seconds + KEY_S],
        )
        try:
            before, after = measure(options).screens
        finally:  # the view was ended, and nothing else
            subprocess.run([*mgtop, "stop", str(folder), "--target"], check=False, timeout=60)
        return before, after


def says(screen: list[str], text: str) -> bool:
    """Whether the words are on the screen, wherever its lines break."""
    flat = re.sub(r"\s+", " ", " ".join(screen))
    return text.lower() in flat.lower()


def main() -> int:
    """Print a line for each fault, and the screens."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", action="append", help="a fault; may be given several times")
    parser.add_argument("--out", type=Path, help="folder for the screens")
    args = parser.parse_args()
    has_gpu = os.path.exists("/dev/nvidiactl")
    good = tried = 0
    for fault, cause in FAULTS.items():
        if args.only and fault not in args.only:
            continue
        if fault in GPU_ONLY and not has_gpu:
            print(f"{fault:<8} needs a GPU")
            continue
        tried += 1
        name, key = ("memory", "3") if fault == "leak" else ("late", "\r")
        for screen, its in zip(capture(fault, args.seconds, key), ("live", name), strict=True):
            named, step = says(screen, cause), says(screen, step_of(cause))
            good += named and step and its == "live"
            print(f"{fault:<8} {its:<6} cause {cause}: {_yes(named)}, step: {_yes(step)}")
            if args.out is not None:
                args.out.mkdir(parents=True, exist_ok=True)
                target = args.out / f"{fault}-{its}.txt"
                target.write_text("\n".join(screen) + "\n", encoding="utf-8")
            else:
                print("\n".join(screen), flush=True)
    print(f"{good} of {tried} faults: cause and next step on the live screen, nothing touched")
    return 0


def _yes(value: bool) -> str:
    return "named" if value else "NOT NAMED"


if __name__ == "__main__":
    sys.exit(main())
