"""Small streaming generators of different character, for scoring causes against the truth.

    python -m benchmarks.truth.generators CHARACTER --seconds 20 [--fault NAME]… [--truth FILE]

Their work is real (torch on the CPU, sized by calibration), their faults are real, and they
emit through the probe. ``--no-spans`` leaves spans and queues out, for the evidence level of
a program that only reports its frames; ``--hooked`` leaves the probe out, for that of a program
which knows nothing of mgtop and whose functions are hooked.

``single``      one frame at a time, every 30 ms
``bursts``      12 frames every 80 ms
``concurrent``  two requests at once, each on a thread of its own
``worker``      a thread computes while another one encodes and emits
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from benchmarks.truth.faults import FAULTS, Compiler, Heap, LockHolder, Work, sleep
from benchmarks.truth.parts import Parts
from benchmarks.truth.plan import Plan
from benchmarks.truth.prefetch import Prefetch
from benchmarks.truth.truth import Emit, Strike, TruthFile
from mgtop import probe

CHARACTERS = ("single", "bursts", "concurrent", "worker")
DECODE, RESIZE, FORWARD, ENCODE = 0.05, 0.12, 0.70, 0.12
"""Shares of the interval that the parts of the work take; decoding is on another thread."""
STEPS = 2
FRAME_BYTES = 16 << 10
"""Written at each emit."""


class Tools:
    """What the faults of a process need; made before the first frame."""

    def __init__(self, faults: list[str]) -> None:
        names = {name for fault in faults for name in fault.split("+")}
        self.work = Work()
        self.compiler = Compiler() if "compile" in names else None
        self.locks: dict[str, LockHolder] = {}
        self.heap = Heap() if "gc" in names else None

    def lock(self, stream: str) -> LockHolder:
        """The stream's own holder of a lock."""
        return self.locks.setdefault(stream, LockHolder())


class Stream:
    """One request's emits, with the faults of the plan in the right places."""

    def __init__(
        self, options: argparse.Namespace, plan: Plan, truth: TruthFile, tools: Tools, name: str
    ) -> None:
        self.options, self.plan, self.truth, self.tools = options, plan, truth, tools
        self.name = name
        self._log = TextLog(options.log, name) if options.log else None
        self._output = Output(options.output)
        self._weights = Weights(options.weights) if options.weights else None
        self.holder = tools.lock(name)
        self.parts = Parts()

    @property
    def fps(self) -> float:
        """Frames a second that the stream makes when nothing strikes."""
        return float(1000 * self.options.count / self.options.interval)

    def request(self) -> AbstractContextManager[Any]:
        """Open the request."""
        if self._log is not None:
            self._log.begin(self.fps)
        if self.options.hooked:
            self.parts.begin(self.name)
            return contextlib.nullcontext()
        request: AbstractContextManager[Any] = probe.request(self.name, fps=self.fps)
        return request

    def prepared(self, request: Any) -> None:
        """The input is there."""
        if not self.options.hooked:
            request.preprocess_done()

    def prefetch(self, request: Any) -> Prefetch:
        """The thread that prepares inputs."""
        options = self.options
        return Prefetch(
            self.plan,
            lambda: self.tools.work.run(DECODE * options.interval),
            lambda emit, body: self._do(request, "decode", body, emit * options.count),
            f"prefetch-{self.name}",
            options.spans and not options.hooked,
        )

    def produce(self, request: Any, emit: int, prefetch: Prefetch) -> None:
        """The model's side of one emit."""
        work = self.tools.work
        waited = prefetch.take(emit)
        if waited is not None:
            fault, began_ns, ended_ns = waited
            self.truth.strike(Strike(fault, self.name, emit, began_ns, ended_ns))
        self._strike("stall", emit, sleep)
        self._strike("lock", emit, self.holder.acquire, self.holder.prepare)
        self._strike("untold", emit, work.until)
        if "other_span" in self.plan.at(emit):
            self._do(request, "shuffle", lambda: self._strike("other_span", emit, work.until))
        self._do(request, "resize", lambda: self._resize(emit))
        for step in range(STEPS):
            self._do(request, "forward", lambda first=step == 0: self._step(emit, first))  # type: ignore[misc]

    def _resize(self, emit: int) -> None:
        self.tools.work.run(RESIZE * self.options.interval)
        self._strike("supply", emit, self.tools.work.until)

    def _step(self, emit: int, first: bool) -> None:
        work = self.tools.work
        work.run(FORWARD * self.options.interval / STEPS)
        if not first:
            return
        if self._weights is not None:
            self._weights.read()
        self._strike("compute", emit, work.until)
        self._strike("stall_in_step", emit, sleep)
        if self.tools.heap is not None:
            self._strike("gc", emit, self.tools.heap.collect)
        if self.tools.compiler is not None:
            self._strike("compile", emit, self.tools.compiler.compile)

    def deliver(self, request: Any, emit: int) -> None:
        """Encode, write and emit."""
        self._do(request, "encode", lambda: self._encode(emit))
        self._do(request, "write", lambda: self._write(emit))
        count = self.options.count
        t_ns = time.monotonic_ns()
        if self.options.hooked:
            self.parts.deliver(self.name, count)
        else:
            request.frame(count=count)
        self.truth.emit(Emit(self.name, emit, emit * count, count, t_ns))
        if self._log is not None:
            self._log.emit(emit * count, count, t_ns)

    def _encode(self, emit: int) -> None:
        self.tools.work.run(ENCODE * self.options.interval)
        self._strike("output", emit, self.tools.work.until)

    def _write(self, emit: int) -> None:
        self._output.write()
        self._strike("output_wait", emit, sleep)

    def _do(
        self, request: Any, name: str, body: Callable[[], None], index: int | None = None
    ) -> None:
        """Do a part of the work so that its name is told in the way that was asked for."""
        if self.options.hooked:
            getattr(self.parts, name)(self.name, body)
        elif self.options.spans:
            with request.span(name, index):
                body()
        else:
            body()

    def _strike(
        self,
        fault: str,
        emit: int,
        act: Callable[[float], None],
        prepare: Callable[[float], None] | None = None,
    ) -> None:
        order = self.plan.at(emit).get(fault)
        if order is None:
            return
        if prepare is not None:
            prepare(order.ms)
        began_ns = time.monotonic_ns()
        act(order.ms)
        self.truth.strike(Strike(fault, self.name, emit, began_ns, time.monotonic_ns()))


class Output:
    """Where frames go: a file or pipe, else nowhere."""

    def __init__(self, path: Path | None) -> None:
        self._file = os.open(path or os.devnull, os.O_WRONLY)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._file, 1031, 4096)  # F_SETPIPE_SZ: so that its reader is felt
        self._data = bytes(FRAME_BYTES)

    def write(self) -> None:
        """Write one emit."""
        rest = memoryview(self._data)
        while rest:
            rest = rest[os.write(self._file, rest) :]


class Weights:
    """A file mapped into memory, as weights often are; a byte of every page is read."""

    BYTES, PAGE = 128 << 20, 4096

    def __init__(self, path: Path) -> None:
        with path.open("wb") as file:
            for _ in range(self.BYTES >> 20):
                file.write(b"x" * (1 << 20))
            file.flush()
            os.fsync(file.fileno())  # pages not yet on disk could not be dropped
        self._all = torch.from_file(str(path), size=self.BYTES, dtype=torch.uint8)
        self._pages = self._all[:: self.PAGE]

    def read(self) -> None:
        """Touch every page."""
        self._pages.sum()


class TextLog:
    """Lines of frame events in whole milliseconds, as many programs log them."""

    def __init__(self, path: Path, request: str) -> None:
        self._file = path.open("a", buffering=1)
        self._request = request

    def begin(self, fps: float) -> None:
        """The request arrived."""
        self._begin_ns = self._last_ns = time.monotonic_ns()
        self._line(self._begin_ns, f"request_received fps={fps:g}")

    def emit(self, index: int, count: int, t_ns: int) -> None:
        """Frames left."""
        size = f" count={count}" if count > 1 else ""
        if index == 0:
            self._line(t_ns, f"first_frame_emit{size}")
        else:
            dt = round((t_ns - self._last_ns) / 1e6)
            self._line(t_ns, f"frame_emit idx={index} dt={dt}{size}")
        self._last_ns = t_ns

    def _line(self, t_ns: int, text: str) -> None:
        at = round((t_ns - self._begin_ns) / 1e6)
        self._file.write(f"[req {self._request}] T+{at} {text}\n")


def set_priority(nice: int) -> None:
    """Priority in the session's group of processes, and of that group beside the others."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, nice)
    with contextlib.suppress(OSError):  # a kernel that does not group
        Path("/proc/self/autogroup").write_text(str(nice))


def until(end: float) -> Iterator[int]:
    """Count until a time."""
    number = 0
    while time.monotonic() < end:
        yield number
        number += 1


def run_simple(stream: Stream, end: float) -> None:
    """Compute and emit on one thread."""
    with stream.request() as request, stream.prefetch(request) as prefetch:
        stream.prepared(request)
        for emit in until(end):
            stream.produce(request, emit, prefetch)
            stream.deliver(request, emit)


def run_worker(stream: Stream, end: float) -> None:
    """Compute on a worker thread; the main thread takes the results, encodes and emits."""
    done: queue.Queue[int | None] = queue.Queue(maxsize=1)
    with stream.request() as request, stream.prefetch(request) as prefetch:
        stream.prepared(request)

        def compute() -> None:
            for emit in until(end):
                stream.produce(request, emit, prefetch)
                done.put(emit)
            done.put(None)

        worker = threading.Thread(target=compute, name="model")
        worker.start()
        while (emit := done.get()) is not None:
            stream.deliver(request, emit)
        worker.join()


def options_of(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("character", choices=CHARACTERS)
    add("--seconds", type=float, default=20)
    add("--interval", type=float, help="usual ms between emits")
    add(
        "--fault",
        action="append",
        default=[],
        metavar="NAME[+NAME]",
        help=f"of {', '.join(FAULTS)}; two joined by + strike at once",
    )
    add("--every", type=float, default=8, help="mean emits between strikes")
    add("--sizes", type=float, nargs=2, default=(1.2, 20), metavar="INTERVALS")
    add("--seed", type=int, default=0)
    add("--truth", type=Path)
    add("--log", type=Path, help="write a text log of the frames, too")
    add("--output", type=Path, help="file or pipe that frames are written to")
    add("--weights", type=Path, help="a file mapped into memory and read at each frame")
    add("--memory-group", type=Path, help="control group to live in from the start")
    add("--no-spans", dest="spans", action="store_false")
    add("--hooked", action="store_true")
    add("--core", type=int, help="run on this core alone")
    add("--nice", type=int, default=0, help="priority, so that other programs disturb less")
    options = parser.parse_args(arguments)
    unknown = {n for f in options.fault for n in f.split("+")} - set(FAULTS)
    if unknown:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    options.count = 12 if options.character == "bursts" else 1
    if options.interval is None:
        options.interval = 80.0 if options.character == "bursts" else 30.0
    return options


def main() -> None:
    """Run one generator."""
    options = options_of()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    if options.memory_group is not None:
        (options.memory_group / "cgroup.procs").write_text(str(os.getpid()))
    set_priority(options.nice)
    torch.set_num_threads(1)
    tools = Tools(options.fault)
    truth = TruthFile(options.truth)
    names = ["a", "b"] if options.character == "concurrent" else ["a"]
    streams = []
    for number, name in enumerate(names):
        plan = Plan(
            options.fault,
            options.interval,
            options.every,
            (options.sizes[0], options.sizes[1]),
            options.seed * 1000 + number,
        )
        streams.append(Stream(options, plan, truth, tools, name))
    if not options.hooked:
        probe.load_done()
    truth.start(os.getpid(), time.monotonic_ns())
    end = time.monotonic() + options.seconds
    run = run_worker if options.character == "worker" else run_simple
    threads = [threading.Thread(target=run, args=(s, end), name=s.name) for s in streams[1:]]
    for thread in threads:
        thread.start()
    run(streams[0], end)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
