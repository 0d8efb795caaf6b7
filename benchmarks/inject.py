"""Does putting code into a running program harm it? Busy processes that check their own results.

    python benchmarks/inject.py [--times 300] [--load N] [--python PATH]... [--compiled]

A torch process multiplies matrices without a pause and compares every product, bit by bit, with
the right one, while ``--times`` texts are put into it the way ``mgtop attach --inject`` does. With
``--python``, other interpreters as well: through torch where they have it, else through loops of
allocations whose contents are checked. Prints how often it did what, how long one thread stood
still (median, P95, longest), and how long the text waited for the main thread. CPython 3.14 and
later are entered by ``sys.remote_exec``, which stops nothing. Exit code 1 where a result was
wrong, a process died, a text did not run, or the median stop is above 5 ms.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from mgtop.record.attach.process import find
from mgtop.record.inject.interpreter import Interpreter, find_interpreter
from mgtop.record.inject.pending_call import Done, schedule
from mgtop.record.inject.preflight import REMOTE_EXEC
from mgtop.record.inject.probe import _apart
from mgtop.record.inject.remote_exec import remote_exec

GOAL_MS = 5.0
PATIENCE_S = 60.0
WORK = """
import sys, time
try:
    import torch
except ImportError:
    torch = None
ran, wrong, done, times = [], 0, 0, int(sys.argv[-1])
if torch:
    torch.manual_seed(0)
    a, b = torch.randn(256, 256), torch.randn(256, 256)
    def work(x, y):
        return (x @ y).relu() + 1
    if "--compiled" in sys.argv:
        work = torch.compile(work)
    right = work(a, b).clone()
print("ready", "torch " + torch.__version__ if torch else "allocations", flush=True)
while len(ran) < times:
    if torch:
        wrong += not torch.equal(work(a, b), right)
    else:
        made = {number: bytes(number) for number in range(200)}
        wrong += sum(map(len, made.values())) != 19900
    done += 1
print(done, wrong, *("%.3f" % (seconds * 1000) for seconds in ran), flush=True)
sys.stdin.read()  # not before the last text's thread has been let go
"""
TELL = "import sys, time; __import__('__main__').ran.append(time.monotonic() - {now!r})"


class Died(Exception):
    """The process ended, or did not answer any more."""


def measure(command: list[str], times: int) -> bool:
    """Put a text into a process so many times; print and judge what came of it."""
    process = subprocess.Popen(
        [*command, str(times)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    try:
        ready, _, what = _read(process).partition(" ")
        assert ready == "ready", ready
        python = find_interpreter(process.pid)
        version = ".".join(map(str, python.version))
        print(f"CPython {version}, {what}, {times} times", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            done = [put(process, python, Path(folder)) for _ in range(times)]
            products, wrong, *waits = _read(process).split()
        process.stdin.close()
        ended = process.wait(30)
    except Died as error:
        print(f"  DIED: {error}")
        return False
    finally:
        process.kill()
        process.wait()
    stops = sorted(one.stopped_ns / 1e6 for one in done if one is not None)
    waited = sorted(map(float, waits))
    print(f"  {len(waited)} of {times} texts ran; {int(products):,} results, {wrong} wrong")
    if stops:
        slept = sum(one.was_sleeping for one in done if one is not None)
        print(
            f"  a sleeping thread was borrowed {slept} times, a running one {times - slept} times"
        )
        print(f"  it stood still for, ms:         {_figures(stops)}")
    print(f"  the text waited to run for, ms: {_figures(waited)}", flush=True)
    good = wrong == "0" and len(waited) == times and ended == 0
    return good and (not stops or median(stops) <= GOAL_MS)


def put(process: subprocess.Popen[str], python: Interpreter, folder: Path) -> Done | None:
    """Have one text run; leave the program some milliseconds of its own. None: nothing stopped."""
    if process.poll() is not None:
        raise Died(f"exit code {process.returncode}")
    done = None
    if python.version >= REMOTE_EXEC:
        script = remote_exec(find(process.pid), TELL.format(now=time.monotonic()), folder)
        deadline = time.monotonic() + PATIENCE_S
        while script.exists():  # there is room for one at a time
            if process.poll() is not None or time.monotonic() > deadline:
                raise Died(f"exit code {process.poll()}, or no answer")
            time.sleep(0.001)
    else:
        done = _apart(lambda: schedule(process.pid, python, TELL.format(now=time.monotonic())))
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
    parser.add_argument("--python", action="append", default=[], help="another interpreter too")
    parser.add_argument("--compiled", action="store_true", help="through torch.compile")
    args = parser.parse_args()
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.load)]
    try:
        flags = ["--compiled"] if args.compiled else []
        good = True
        for python in [sys.executable, *args.python]:
            good = measure([python, "-c", WORK, *flags], args.times) and good
    finally:
        for process in busy:
            process.kill()
            process.wait()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
