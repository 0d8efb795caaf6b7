"""What an event of the probe costs the program, beside other ways to say the same.

    python benchmarks/probe.py            # the table
    python benchmarks/probe.py --check    # the same, and exit 1 where a target is missed
    python benchmarks/probe.py --sigkill 50   # kill a program that emits, 50 times; count losses

Each call is timed by itself. *Hot*: one after the other. *After idle*: after a sleep of 1 ms
and 4 MiB of memory traffic, which is how a call between two frames finds the caches. *Two busy
threads*: beside two threads of pure Python, which want the GIL. A process reads all pipes every
20 ms, as the recorder does.
"""

from __future__ import annotations

import argparse
import logging
import mmap
import os
import platform
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mgtop.wire.framing import Splitter, decode_event  # noqa: E402
from mgtop.wire.records import FrameEmit  # noqa: E402

HOT_TARGET_NS, IDLE_TARGET_NS = 5_000, 50_000
POLL_S = 0.02
CAPACITY = 1 << 20

Way = Callable[[], object]


# ------------------------------------------------------------------ the reader


def drain(paths: list[str]) -> None:
    """Read pipes every 20 ms and throw away what comes; until stdin closes."""
    import fcntl

    fds = [os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in paths]
    for fd in fds:
        fcntl.fcntl(fd, 1031, CAPACITY)
        fcntl.flock(fd, fcntl.LOCK_EX)
    print("ready", flush=True)
    os.set_blocking(0, False)
    while True:
        time.sleep(POLL_S)
        try:
            if os.read(0, 1) == b"":
                return
        except BlockingIOError:
            pass
        for fd in fds:
            try:
                while os.read(fd, CAPACITY):
                    pass
            except BlockingIOError:
                pass


@contextmanager
def reader(*paths: Path) -> Iterator[None]:
    for path in paths:
        os.mkfifo(path, 0o600)
    process = subprocess.Popen(
        [sys.executable, __file__, "--drain", *map(str, paths)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin
    assert process.stdout
    process.stdout.readline()
    try:
        yield
    finally:
        process.stdin.close()
        process.wait()


# -------------------------------------------------------------------- the ways


def probe_ways() -> dict[str, Way]:
    from mgtop import probe

    request = probe.request("benchmark")

    def span() -> None:
        with request.span("decode"):
            pass

    return {
        "probe: frame(), with its context": request.frame,
        "probe: queue(), without context": lambda: probe.queue("prefetch", 3, 8),
        "probe: a span, enter and exit": span,
    }


def bare_write(path: Path) -> Way:
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    message = bytes(128)
    write = os.write
    return lambda: write(fd, message)


def logging_way(path: Path) -> Way:
    logger = logging.getLogger("benchmark")
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    return lambda: logger.info("frame_emit idx=%d", 7)


def opentelemetry_way() -> Way | None:
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import (
            BatchSpanProcessor,
            SpanExporter,
            SpanExportResult,
        )
    except ImportError:
        return None

    class Nowhere(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    tracer = provider.get_tracer("benchmark")
    return lambda: tracer.start_span("frame").end()


# ---------------------------------------------------------------------- timing


class Times:
    """Times of single calls, ns, without the clock's own."""

    def __init__(self, raw: list[int]) -> None:
        self.sorted = sorted(max(0, ns - CLOCK_NS) for ns in raw)

    def at(self, share: float) -> int:
        """The order statistic at this share of the calls."""
        return self.sorted[int(share * (len(self.sorted) - 1))]

    def __str__(self) -> str:
        return f"{self.sorted[0]:>8,} {self.at(0.5):>9,} {self.at(0.99):>11,}"


def clock_cost() -> int:
    raw = []
    for _ in range(20_000):
        began = perf_counter_ns()
        raw.append(perf_counter_ns() - began)
    return int(statistics.median(raw))


CLOCK_NS = clock_cost()


def hot(way: Way, count: int) -> Times:
    raw = []
    for at in range(count):
        began = perf_counter_ns()
        way()
        raw.append(perf_counter_ns() - began)
        if at % 500 == 499:
            time.sleep(0.002)  # let the reader keep up
    return Times(raw)


def after_idle(way: Way, count: int) -> Times:
    here, there = bytearray(2 << 20), bytearray(2 << 20)
    raw = []
    for _ in range(count):
        time.sleep(0.001)
        here[:] = there
        began = perf_counter_ns()
        way()
        raw.append(perf_counter_ns() - began)
    return Times(raw)


def beside_busy_threads(way: Way, count: int) -> Times:
    stop = False

    def busy() -> None:
        n = 0
        while not stop:
            n += 1

    threads = [threading.Thread(target=busy) for _ in range(2)]
    for thread in threads:
        thread.start()
    raw = []
    try:
        for _ in range(count):
            time.sleep(0)
            began = perf_counter_ns()
            way()
            raw.append(perf_counter_ns() - began)
    finally:
        stop = True
        for thread in threads:
            thread.join()
    return Times(raw)


def start_up() -> tuple[float, float]:
    """Median ms of importing the probe, and of its first event, in fresh processes."""
    source = (
        "import time\na = time.perf_counter()\nfrom mgtop import probe\nb = time.perf_counter()\n"
        "probe.load_begin()\nprint((b - a) * 1e3, (time.perf_counter() - b) * 1e3)"
    )
    with tempfile.TemporaryDirectory() as folder:
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": folder,
            "PYTHONDONTWRITEBYTECODE": "",
            "MGTOP_RUNTIME": f"{folder}/runtime",
        }
        runs = [
            subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, check=True)
            for _ in range(8)
        ]
    pairs = [tuple(map(float, run.stdout.split())) for run in runs[1:]]
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)


def machine() -> str:
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, "
        f"Linux {platform.release()}, Python {platform.python_version()}"
    )


def table(hot_n: int, idle_n: int, busy_n: int) -> bool:
    """Print the table; whether the targets are met."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        events, bare = folder / "events.fifo", folder / "bare.fifo"
        with reader(events, bare):
            os.environ["MGTOP_FIFO"] = str(events)
            ways: dict[str, Way | None] = {
                **probe_ways(),
                "os.write on a pipe, 128 bytes": bare_write(bare),
                "logging to a file": logging_way(folder / "log.txt"),
                "OpenTelemetry span, batched": opentelemetry_way(),
            }
            print(machine())
            print(f"n = {hot_n:,} hot, {idle_n:,} after idle, {busy_n:,} beside busy threads;")
            print(f"ns per event, the clock's own {CLOCK_NS} ns taken off\n")
            heads = ("hot", "after idle", "two busy threads")
            print(" " * 34 + "".join(f"{head:>30}" for head in heads))
            print(f"{'':34}" + f"{'min':>8} {'p50':>9} {'p99':>11}" * 3)
            found: dict[str, list[Times]] = {}
            for label, way in ways.items():
                if way is None:
                    print(f"{label:34}  not installed (pip install opentelemetry-sdk)")
                    continue
                hot(way, 1000)
                found[label] = [
                    hot(way, hot_n),
                    after_idle(way, idle_n),
                    beside_busy_threads(way, busy_n),
                ]
                print(f"{label:34}" + "".join(map(str, found[label])), flush=True)
        imported_ms, first_ms = start_up()
        print(f"\nimport {imported_ms:.1f} ms, first event {first_ms:.1f} ms (bytecode cached)")
    met = True
    for label, times in found.items():
        if label.startswith("probe"):
            for what, time_ns, target_ns in (
                ("hot", times[0].at(0.5), HOT_TARGET_NS),
                ("after idle", times[1].at(0.5), IDLE_TARGET_NS),
            ):
                is_met = time_ns <= target_ns
                met &= is_met
                print(
                    f"{label}, {what}: {time_ns / 1000:.1f} µs (P50), target "
                    f"≤ {target_ns / 1000:.0f}: {'met' if is_met else 'MISSED'}"
                )
    return met


# --------------------------------------------------------------------- SIGKILL

VICTIM = """
import mmap, os, struct, sys
from mgtop import probe
from mgtop.probe import outlet
page = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 16)
r = probe.request("victim")
n = 0
while True:
    r.frame()
    n += 1
    struct.pack_into("=QQ", page, 0, n, outlet.current.dropped)
"""


def sigkill(kills: int) -> bool:
    """Kill a program at full rate, over and over; whether no returned call was lost."""
    import fcntl

    lost = dropped = returned_in_all = 0
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        fifo, counter = Path(name) / "events.fifo", Path(name) / "counter"
        os.mkfifo(fifo, 0o600)
        fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(fd, 1031, CAPACITY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        env = {**os.environ, "PYTHONPATH": str(ROOT), "MGTOP_FIFO": str(fifo)}
        for _ in range(kills):
            counter.write_bytes(bytes(16))
            with counter.open("r+b") as file, mmap.mmap(file.fileno(), 16) as page:
                data = bytearray()
                command = [sys.executable, "-c", VICTIM, str(counter)]
                victim = subprocess.Popen(command, env=env)
                while not page[0]:
                    time.sleep(0.001)
                until = time.monotonic() + random.uniform(0.02, 0.15)
                while time.monotonic() < until:
                    read_into(data, fd)
                    time.sleep(random.uniform(0, POLL_S))
                victim.kill()
                victim.wait()
                read_into(data, fd)
                returned, refused = struct.unpack("=QQ", page[:16])
            splitter = Splitter()
            received = {
                event.index
                for event in map(decode_event, splitter.feed(bytes(data)))
                if isinstance(event, FrameEmit)
            }
            missing = returned - sum(index < returned for index in received)
            returned_in_all += returned
            dropped += refused
            lost += max(0, missing - refused) + splitter.malformed
    print(
        f"{kills} kills, {returned_in_all:,} calls had returned, {dropped:,} dropped and counted "
        f"(pipe full), {lost:,} lost"
    )
    return lost == 0


def read_into(data: bytearray, fd: int) -> None:
    try:
        while True:
            data += os.read(fd, CAPACITY)
    except BlockingIOError:
        pass


def main() -> int:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="exit 1 where a target is missed")
    parser.add_argument("--sigkill", type=int, metavar="N", help="count losses over N kills")
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--drain", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drain:
        drain(options.drain)
        return 0
    if options.sigkill:
        return 0 if sigkill(options.sigkill) else 1
    share = 10 if options.quick else 1
    met = table(50_000 // share, 2_000 // share, 3_000 // share)
    return 1 if options.check and not met else 0


if __name__ == "__main__":
    sys.exit(main())
