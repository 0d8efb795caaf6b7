"""How well memory's shapes are told, on simulated runs: no GPU needed, under a minute.

    python -m benchmarks.memory [--runs 1000]

Prints how often flat runs with each kind of noise are called rising (the goal is 10 of 1,000 at
most), how often a window that filled up is, and how near 0.5, 5 and 50 MiB a frame come back
from 200 frames (the goal is 5 %), with the share of intervals that hold the true slope.
"""

from __future__ import annotations

import argparse
import time
from random import Random
from statistics import median

from benchmarks.noise import FLAT, LEAKS, RATES, Rows, walk, window
from mgtop.analysis.trend import lasting_rise, plateau, slope

LEAST_MIB = 8.0
LENGTHS = (60, 200, 512)


def points(values: list[float]) -> list[tuple[float, float]]:
    return [(float(i), value) for i, value in enumerate(values)]


def called_rising(rows: Rows, frames: int, runs: int, seed: str) -> int:
    """How many of so many runs are called rising."""
    source = Random(seed)
    return sum(
        lasting_rise(points(rows(source, frames)), LEAST_MIB) is not None for _ in range(runs)
    )


def false_alarms(runs: int) -> None:
    """The table of flat runs."""
    print(f"Called rising, of {runs:,} flat runs:\n")
    print("| noise | " + " | ".join(f"{n} frames" for n in LENGTHS) + " |")
    print("|---|" + "---|" * len(LENGTHS))
    totals = dict.fromkeys(LENGTHS, 0)
    kinds: dict[str, Rows] = {**FLAT, "window that filled": window, "random walk (not flat)": walk}
    for name, rows in kinds.items():
        found = [called_rising(rows, n, runs, f"{name} {n}") for n in LENGTHS]
        print(f"| {name} | " + " | ".join(str(n) for n in found) + " |")
        if name in FLAT:
            for n, count in zip(LENGTHS, found, strict=True):
                totals[n] += count
    shares = [1_000 * totals[n] / (runs * len(FLAT)) for n in LENGTHS]
    together = " | ".join(f"**{share:.1f}**" for share in shares)
    print(f"| **flat kinds together, of 1,000** | {together} |")


def at_any_look(runs: int) -> None:
    """A live screen looks again and again: how often any look of a run says rising."""
    print(f"\nCalled rising at any look, every 8 frames from 24 to 512, of {runs} runs:\n")
    print("| noise | at any look | looks that say so |")
    print("|---|---|---|")
    for name, rows in FLAT.items():
        source, ever, looks, said = Random(f"look {name}"), 0, 0, 0
        for _ in range(runs):
            row = points(rows(source, 512))
            found = [lasting_rise(row[:n], LEAST_MIB) is not None for n in range(24, 513, 8)]
            ever += any(found)
            looks += len(found)
            said += sum(found)
        print(f"| {name} | {ever} | {100 * said / looks:.2f} % |")


def leaks(runs: int) -> None:
    """The table of leaks."""
    print(f"\nLeaks over 200 frames, {runs} runs each:\n")
    print("| leak | MiB a frame | found | within 5 % | median error | worst | interval holds it |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in LEAKS.items():
        for rate in RATES:
            source = Random(f"{name} {rate}")
            errors, holds, found = [], 0, 0
            for _ in range(runs):
                rise = lasting_rise(points(rows(source, 200, rate)), LEAST_MIB)
                if rise is not None:
                    found += 1
                    errors.append(abs(rise.slope.value / rate - 1))
                    holds += rise.slope.low - 1e-9 <= rate <= rise.slope.high + 1e-9
            if not errors:
                print(f"| {name} | {rate:g} | 0 | | | | |")
                continue
            near = sum(error <= 0.05 for error in errors)
            print(
                f"| {name} | {rate:g} | {found} | {near} | {100 * median(errors):.2f} % | "
                f"{100 * max(errors):.1f} % | {holds} |"
            )


def windows(runs: int) -> None:
    """How often a filled window is said to be one."""
    source = Random("windows")
    said = sum(plateau(points(window(source, 200)), LEAST_MIB) is not None for _ in range(runs))
    print(f"\nWindows that filled, said to be full: {said} of {runs}.")


def cost() -> None:
    """What one judgement takes."""
    source = Random(1)
    for frames in (200, 512):
        for name, values in (
            ("flat", FLAT["white"](source, frames)),
            ("leak", LEAKS["noise 4 MiB"](source, frames, 5.0)),
        ):
            row, times = points(values), []
            for _ in range(20):
                began = time.perf_counter()
                lasting_rise(row, LEAST_MIB)
                slope(row)
                times.append(time.perf_counter() - began)
            print(f"One judgement of {frames} points, {name}: {1e3 * min(times):.2f} ms at least.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=1_000)
    options = parser.parse_args()
    false_alarms(options.runs)
    at_any_look(max(10, options.runs // 10))
    leaks(max(10, options.runs // 10))
    windows(options.runs)
    print()
    cost()


if __name__ == "__main__":
    main()
