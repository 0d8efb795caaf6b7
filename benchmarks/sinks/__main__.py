"""Every sink with its real library, under ``mgtop run``: frames counted against frames written.

    python -m benchmarks.sinks [--python PATH]…

Each ``--python`` is an environment that has some of the libraries; by default this one. A case
whose library is not there, or does not load, is left out and named.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CASES = Path(__file__).with_name("cases")
NOT_THERE = ("ModuleNotFoundError", "ImportError", "Could not load this library")
ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sinks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--python", action="append", metavar="PATH", default=[])
    wrong = 0
    for python in parser.parse_args().python or [sys.executable]:
        print(f"{python}, {version_of(python)}\n")
        print(f"{'case':22} {'release':12} {'counted':>8} {'written':>8} {'µs a call':>10}")
        absent = []
        for path in sorted(CASES.glob("case_*.py")):
            name = path.stem.removeprefix("case_")
            found = measure(python, path)
            if found is None:
                absent.append(name)
                continue
            equal = found["counted"] == found["expected"]
            wrong += not equal
            cost = found.get("cost_us")
            print(
                f"{name:22} {found['version'] or '':12} {found['counted']:8} "
                f"{found['expected']:8} {'' if cost is None else f'{cost:.1f}':>10}"
                f"{'' if equal else '  WRONG'}"
            )
        print(f"\nnot installed: {', '.join(absent) or 'none'}\n")
    return 1 if wrong else 0


def version_of(python: str) -> str:
    """The interpreter's own name and version."""
    told = subprocess.run([python, "-V"], capture_output=True, text=True, check=True)
    return told.stdout.strip()


def measure(python: str, case: Path) -> dict[str, Any] | None:
    """Run one case under mgtop; None where its library is missing.

    Raises:
        SystemExit: it failed.
    """
    with tempfile.TemporaryDirectory(prefix="mgtop-sinks-") as temporary:
        session = Path(temporary) / "session"
        ran = subprocess.run(
            [
                sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(session), "--",
                python, str(case),
            ],
            cwd=ROOT, env={**os.environ, "SINK_CASE_MEASURES": "1"}, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        output = (session / "stdout.log").read_text() if session.exists() else ran.stderr
        if ran.returncode:
            if any(sign in output for sign in NOT_THERE):
                return None
            raise SystemExit(f"{case.name} failed:\n{output[-2000:]}")
        told = subprocess.run(
            [sys.executable, "-m", "mgtop", "report", str(session), "--json"],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        report = json.loads(told.stdout)
        said = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
        return {**said, "counted": sum(request["frames"] for request in report["requests"])}


if __name__ == "__main__":
    sys.exit(main())
