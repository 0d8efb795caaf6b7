"""How long ``mgtop --help`` takes, and how much it imports.

    python benchmarks/startup.py [--runs N]

Prints the median, smallest and largest wall time of N fresh processes (after one that warms
the file cache), the modules that the help page imported, and an empty Python for comparison.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

HELP = ("-c", "from mgtop.cli.main import main; main()", "--help")
COUNT = """
import sys
from mgtop.cli.main import run
run(["--help"])
print(len(sys.modules), file=sys.stderr)
"""


def seconds(arguments: tuple[str, ...], runs: int) -> list[float]:
    """Wall time of each of ``runs`` fresh interpreters."""
    times = []
    for _ in range(runs + 1):
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - begin)
    return times[1:]


def line(name: str, times: list[float]) -> str:
    low, middle, high = (1000 * f(times) for f in (min, statistics.median, max))
    return f"{name:<14} median {middle:6.1f} ms   min {low:6.1f}   max {high:6.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Start-up time of the mgtop command.")
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    print(f"{runs} runs each, Python {sys.version.split()[0]}")
    print(line("empty Python", seconds(("-c", "pass"), runs)))
    print(line("mgtop --help", seconds(HELP, runs)))
    counted = subprocess.run(
        [sys.executable, "-c", COUNT], check=True, capture_output=True, text=True
    )
    print(f"modules imported by mgtop --help: {counted.stderr.strip()}")


if __name__ == "__main__":
    main()
