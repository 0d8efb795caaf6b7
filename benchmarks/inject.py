"""Does putting code into a running program harm it? A busy torch process with checked products.

    python benchmarks/inject.py [--times 300] [--load N] [--python PATH]... [--compiled]

A process multiplies matrices without a pause and compares every product, bit by bit, with the
right one, while ``--times`` texts are put into it the way ``mgtop attach --inject`` does. Prints
how often it did what, how long one thread stood still (median, P95, longest), and how long the
text waited for the main thread. With ``--python``, plain interpreters run loops of allocations
whose contents are checked. Exit code 1 where a result was wrong, a process died, or the median
stop is above 5 ms.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median, quantiles

from mgtop.record.inject.interpreter import Interpreter, find_interpreter
from mgtop.record.inject.pending_call import Done, schedule
from mgtop.record.inject.probe import _apart

GOAL_MS = 5.0
TORCH = """
import sys, time, torch
torch.manual_seed(0)
a, b = torch.randn(256, 256), torch.randn(256, 256)
work = torch.compile(lambda x, y: (x @ y).relu() + 1) if "--compiled" in sys.argv else torch.mm
right = work(a, b).clone()
ran, wrong, done = [], 0, 0
print("ready", flush=True)
while len(ran) < int(sys.argv[1]) + 1:
    wrong += not torch.equal(work(a, b), right)
    done += 1
print(done, wrong, *(f"{seconds * 1000:.3f}" for seconds in ran[:-1]), flush=True)
"""
PLAIN = """
import sys, time
ran, wrong, done = [], 0, 0
print("ready", flush=True)
while len(ran) < int(sys.argv[1]) + 1:
    made = {number: bytes(number) for number in range(200)}
    wrong += sum(map(len, made.values())) != 19900
    done += 1
print(done, wrong, *("%.3f" % (seconds * 1000) for seconds in ran[:-1]), flush=True)
"""
TELL = "ran.append(time.monotonic() - {now!r})"


class Died(Exception):
    """The process ended, or did not answer any more."""


def measure(command: list[str], times: int) -> bool:
    """Put a text into a process so many times; print and judge what came of it."""
    process = subprocess.Popen([*command, str(times)], stdout=subprocess.PIPE, text=True)
    try:
        answer = _read(process)
        assert answer == "ready", answer
        python = find_interpreter(process.pid)
        done = [put(process, python) for _ in range(times)]
        put(process, python, last=True)
        products, wrong, *waits = _read(process).split()
        ended = process.wait(30)
    except Died as error:
        print(f"  DIED: {error}")
        return False
    finally:
        process.kill()
        process.wait()
    stops = sorted(one.stopped_ns / 1e6 for one in done)
    waited = sorted(map(float, waits))
    slept = sum(one.was_sleeping for one in done)
    print(f"  {len(waited)} of {times} texts ran; {int(products):,} results, {wrong} wrong")
    print(f"  a sleeping thread was borrowed {slept} times, a running one {times - slept} times")
    print(f"  it stood still for, ms:        {_figures(stops)}")
    print(f"  the text waited to run for, ms: {_figures(waited)}")
    good = wrong == "0" and len(waited) == times and ended == 0
    return good and median(stops) <= GOAL_MS


def put(process: subprocess.Popen[str], python: Interpreter, last: bool = False) -> Done:
    """Queue one text; leave the program some milliseconds of its own."""
    if process.poll() is not None:
        raise Died(f"exit code {process.returncode}")
    done = _apart(lambda: schedule(process.pid, python, TELL.format(now=time.monotonic())))
    if not last:
        time.sleep(0.01)
    return done


def _read(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Died(f"exit code {process.wait()}")
    return line.strip()


def _figures(values: list[float]) -> str:
    high = quantiles(values, n=20)[-1]
    return f"median {median(values):.2f}  P95 {high:.2f}  max {values[-1]:.2f}"


def main() -> int:
    """Measure and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--load", type=int, default=0, help="busy processes beside it")
    parser.add_argument("--python", action="append", default=[], help="a plain interpreter too")
    parser.add_argument("--compiled", action="store_true", help="through torch.compile")
    args = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load)]
    try:
        print(f"torch, {args.times} times" + (", compiled" if args.compiled else ""))
        flags = ["--compiled"] if args.compiled else []
        code = TORCH.replace("sys.argv[1]", "sys.argv[-1]")
        good = measure([sys.executable, "-c", code, *flags], args.times)
        for python in args.python:
            print(f"{python}, {args.times} times")
            good = measure([python, "-c", PLAIN], args.times) and good
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
