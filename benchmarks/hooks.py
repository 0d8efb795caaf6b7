"""Hooks in programs that nobody changed: every way to start them, and what they cost.

    python -m benchmarks.hooks                   # all of it, some two minutes
    python -m benchmarks.hooks --only launches   # CPython versions × ways to start
    python -m benchmarks.hooks --only costs      # a call, the interpreter's start, import torch
    python -m benchmarks.hooks --check           # exit 1 where a goal is missed

A call: wrapped and unwrapped functions in turn, with a reader that empties the pipe every 20 ms;
the least and the median of many rounds. Starts and imports: pairs with and without the boot
folder on PYTHONPATH, CPU time (other programs' load is a part of wall time), medians.
Goals: 10 µs a call, 5 ms at the start.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.hook_launches import WAYS, interpreters, launch, verdict, write_program
from mgtop.config.structs import Frames
from mgtop.record.hooked import boot_environment

CALL_GOAL_US, START_GOAL_MS, IMPORT_GOAL_SHARE = 10.0, 5.0, 0.02
MODULE = """
class Thing:
    def plain(self, a, b=2):
        return a
    async def later(self, a):
        return a
    def each(self, n):
        for i in range(n):
            yield i
    def frames(self, a):
        return [0] * 4
    def work(self, a):
        return a
"""
HOOKS = (
    {"target": "hooked_bench:Thing.frames", "event": "frame_emit", "count": "len(result)"},
    {"target": "hooked_bench:Thing.work", "span": "decode"},
)


def main() -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=["launches", "costs"])
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    asked = parser.parse_args()
    missed: list[str] = []
    if asked.only != "costs":
        missed += launches()
    if asked.only != "launches":
        missed += costs()
    for line in missed:
        print(f"missed: {line}")
    return 1 if asked.check and missed else 0


# ----------------------------------------------------------------------------- launches


def launches() -> list[str]:
    """The table of versions × ways; what went wrong, as text."""
    pythons, missed = interpreters(), []
    print(f"{'':38}" + "".join(f"{version:>8}" for version in pythons))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "program"
        write_program(folder)
        for way in WAYS:
            cells = []
            for version, python in pythons.items():
                if tuple(map(int, version.split("."))) < way.since:
                    cells.append("–")
                    continue
                if way.torch and not _can_import(python, way):
                    cells.append("n/a")
                    continue
                said = verdict(way, launch(way.words(python), folder))
                cells.append(("silent" if way.processes == 0 else "ok") if said == "ok" else "NO")
                if said != "ok":
                    missed.append(f"{way.name} on {version}: {said}")
            print(f"{way.name:38}" + "".join(f"{cell:>8}" for cell in cells), flush=True)
    print("ok: all frames, each once, from the right processes, and no other process spoke")
    print("silent: hooks cannot load there; nothing breaks, and mgtop run says why")
    print("n/a: torch (or accelerate) is not installed for that version; –: no such option there\n")
    return missed


def _can_import(python: str, way: object) -> bool:
    module = "accelerate" if "accelerate" in str(getattr(way, "name", "")) else "torch"
    asked = [
        python,
        "-c",
        f"import importlib.util as u, sys; sys.exit(not u.find_spec('{module}'))",
    ]
    return subprocess.run(asked, check=False).returncode == 0


# -------------------------------------------------------------------------------- costs


def costs() -> list[str]:
    """The table of costs; what missed its goal, as text."""
    missed = []
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}")  # fmt: skip
    print(f"{'a call, µs more than unhooked':38}{'least':>8}{'median':>8}")
    for name, values in calls().items():
        least, median = min(values), statistics.median(values)
        print(f"{name:38}{least:8.2f}{median:8.2f}")
        if least > CALL_GOAL_US:
            missed.append(f"{name}: {least:.1f} µs a call (goal {CALL_GOAL_US:.0f})")
    print(f"\n{'at the start, CPU ms':38}{'without':>8}{'with':>8}{'more':>8}")
    for version, python in interpreters().items():
        without, hooked, more = _starts(python, "pass", 40)
        print(f"{'python ' + version:38}{without:8.2f}{hooked:8.2f}{more:8.2f}")
        if more > START_GOAL_MS:
            missed.append(f"start of {version}: {more:.1f} ms (goal {START_GOAL_MS})")
    if _can_import(sys.executable, None):
        without, hooked, more = _starts(sys.executable, "import torch", 14)
        print(f"{'import torch':38}{without:8.0f}{hooked:8.0f}{more:8.1f}")
        if more > IMPORT_GOAL_SHARE * without + START_GOAL_MS:
            missed.append(f"import torch: {more:.0f} ms more")
    return missed


def calls(rounds: int = 40, each: int = 500) -> dict[str, list[float]]:
    """What hooks add to a call, µs, by kind: the mean of ``each`` calls, ``rounds`` times."""
    with tempfile.TemporaryDirectory() as place:
        fifo = Path(place) / "events.fifo"
        os.mkfifo(fifo, 0o600)
        fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        os.environ["MGTOP_FIFO"] = str(fifo)
        (Path(place) / "hooked_bench.py").write_text(MODULE)
        sys.path.insert(0, place)
        done = threading.Event()
        reader = threading.Thread(target=_drain, args=(fd, done), daemon=True)
        reader.start()
        try:
            return _timed(rounds, each)
        finally:
            done.set()
            reader.join()
            sys.path.remove(place)
            os.close(fd)


def _timed(rounds: int, each: int) -> dict[str, list[float]]:
    from mgtop.hooks.target import hooking, wrapping
    from mgtop.hooks.target.configured import Configured

    module = importlib.import_module("hooked_bench")
    plain = type("Plain", (), dict(vars(module.Thing)))()
    for name in ("plain", "later", "each"):
        wrapping.wrap(module.Thing, name, lambda args, kwargs: None, lambda *told: None)
    hooking.install([Configured(hook) for hook in HOOKS])
    hooked = module.Thing()
    loop = asyncio.new_event_loop()

    async def later(thing: object) -> None:
        call = thing.later  # type: ignore[attr-defined]
        for _ in range(each):
            await call(1)

    def steps(thing: object) -> None:
        for _ in thing.each(each):  # type: ignore[attr-defined]
            pass

    def repeated(name: str) -> Callable[[object], None]:
        def run(thing: object) -> None:
            call = getattr(thing, name)
            for _ in range(each):
                call(1)

        return run

    kinds: dict[str, Callable[[object], object]] = {
        "wrapped, nothing told": repeated("plain"),
        "coroutine, nothing told": lambda thing: loop.run_until_complete(later(thing)),
        "item of a generator, nothing told": steps,
        "event: frame_emit with a count": repeated("frames"),
        "span": repeated("work"),
    }
    found: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(rounds):
        for name, run in kinds.items():
            took = []
            for thing in (hooked, plain):
                began = time.perf_counter()
                run(thing)
                took.append(time.perf_counter() - began)
            found[name].append((took[0] - took[1]) / each * 1e6)
            time.sleep(0.03)  # the reader catches up
    loop.close()
    return found


def _drain(fd: int, done: threading.Event) -> None:
    while not done.wait(0.02):
        try:
            while os.read(fd, 1 << 20):
                pass
        except BlockingIOError:
            pass


def _cpu_ms() -> float:
    """CPU time of the children that have ended; other programs' load is not in it."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def _starts(python: str, source: str, rounds: int) -> tuple[float, float, float]:
    """CPU time of a start, ms: medians without and with the boot folder, median difference.

    In pairs, each of them first in turn: so what the machine does else is in both alike.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MGTOP"))}
    ways = (kept, kept | boot_environment(Frames(), kept))
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for kind in (0, 1) if turn % 2 else (1, 0):
            began = _cpu_ms()
            subprocess.run([python, "-c", source], env=ways[kind], check=True)
            times[kind].append(_cpu_ms() - began)
    without, hooked = times[0][1:], times[1][1:]
    differences = [b - a for a, b in zip(without, hooked, strict=True)]
    return statistics.median(without), statistics.median(hooked), statistics.median(differences)


if __name__ == "__main__":
    sys.exit(main())
