"""What each NVML call cost in a recording, and what mgtop's plan would cost with such calls.

    python -m benchmarks.gpu.call_costs [FILE.jsonl.gz]

FILE was written by ``python -m benchmarks.gpu.record_traffic`` (default: the recording that the
tests replay). Needs no GPU. The first table holds each call as it was timed there, between
JSON lines and mostly milliseconds after the last one, so with cold caches. The second comes
from running today's sampler over the recording in virtual time: each call takes as long as the
recorded call of that moment. It is computed, not measured.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.gpu.traffic import Replay
from mgtop.record.nvml.sampler import NvmlSampler

RECORDING = Path(__file__).parents[2] / "tests" / "record" / "nvml" / "h200.jsonl.gz"
ONCE = 3
"""Calls made fewer times than this have no percentiles."""


def durations(path: Path) -> dict[str, list[int]]:
    """Call → ns of each of its calls, sorted; refused calls apart."""
    found: dict[str, list[int]] = defaultdict(list)
    with gzip.open(path, "rt") as file:
        for line in map(json.loads, file):
            if "n" in line:
                name = line["n"] if "e" not in line else f"{line['n']} (error {line['e']})"
                found[name].append(line["d"])
    return {name: sorted(times) for name, times in found.items()}


def print_calls(path: Path) -> None:
    print(f"{'µs a call':45} {'n':>6} {'min':>9} {'P50':>9} {'P99':>9} {'max':>10}")
    calls = durations(path)
    for name, times in sorted(calls.items(), key=lambda item: -median(item[1])):
        p99 = times[round(0.99 * (len(times) - 1))]
        cells = (times[0], median(times), p99, times[-1])
        if len(times) < ONCE:
            cells = (times[0], median(times), None, times[-1])
        shown = "".join(f" {'' if c is None else f'{c / 1e3:,.1f}':>9}" for c in cells[:3])
        print(f"{name:45} {len(times):6}{shown} {times[-1] / 1e3:>10,.1f}")


def print_plan(path: Path) -> None:
    """Run the sampler over the recording; each call moves the clock by what it took then."""
    now = 0

    def spend(duration_ns: int) -> None:
        nonlocal now
        now += duration_ns

    driver = Replay(path, lambda: now, spend)
    now = driver.begin_ns
    sampler = NvmlSampler(driver, clock=lambda: now, wall=lambda: now + driver.wall_offset_ns)
    sampler.open()
    opened = (sampler.calls.count, sampler.calls.spent_ns, now)
    phases = [*driver.phases, (driver.end_ns, "end")]
    print(f"\n{'phase':45} {'s':>6} {'calls/s':>9} {'ms/s':>9}")
    for (_, phase), (until, _) in pairwise(phases):
        before = (sampler.calls.count, sampler.calls.spent_ns, now)
        while now < until:
            now += max(sampler.step(), 1_000_000)
            sampler.drain()
        _print_rate(phase, before, sampler, now)
    _print_rate("all of it", opened, sampler, now)
    print(f"\n{'reading':45} {'µs':>6} {'every, ms':>9} {'ms/s':>9}")
    total = 0.0
    for reading in sampler.readings:
        if reading.wanted:
            rate = reading.cost_ns / reading.period_ns * 1e3
            total += rate
            cost, period = reading.cost_ns / 1e3, reading.period_ns / 1e6
            print(f"{reading.name:45} {cost:6,.0f} {period:9,.0f} {rate:9.2f}")
    print(f"{'sum (at the last medians)':45} {'':6} {'':9} {total:9.2f}")


def _print_rate(name: str, before: tuple[int, int, int], sampler: NvmlSampler, now: int) -> None:
    seconds = (now - before[2]) / 1e9
    calls = (sampler.calls.count - before[0]) / seconds
    spent = (sampler.calls.spent_ns - before[1]) / 1e6 / seconds
    print(f"{name:45} {seconds:6.1f} {calls:9.1f} {spent:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("file", nargs="?", type=Path, default=RECORDING)
    path = parser.parse_args().file
    print_calls(path)
    print_plan(path)


if __name__ == "__main__":
    main()
