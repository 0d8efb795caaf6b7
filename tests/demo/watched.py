"""The generator as its own process, and what its probe said."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import av

from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import SPAN_NAMES, AnyEvent, FrameEmit, Span

ROOT = Path(__file__).parents[2]
SMALL = ["--device", "cpu", "--width", "64", "--height", "64", "--steps", "2", "--fps", "20"]

Kind = TypeVar("Kind")


@dataclass
class Watched:
    """A process that ended: exit code, what it printed, and its events in order of arrival."""

    code: int
    stdout: str
    stderr: str
    events: list[AnyEvent] = field(default_factory=list)

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]

    def spans(self, name: str) -> list[Span]:
        return [span for span in self.all(Span) if SPAN_NAMES[span.name] == name]

    def intervals_ms(self, request: int = 1) -> dict[int, float]:
        """By emit: the time since the emit before."""
        emits = [emit for emit in self.all(FrameEmit) if emit.request == request]
        pairs = pairwise(emits)
        return {late.emit: (late.t_ns - early.t_ns) / 1e6 for early, late in pairs}


class Pipe:
    """A FIFO with a reader, as the recorder has one."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self.path = path
        self.events: list[AnyEvent] = []
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        fcntl.fcntl(self._fd, fcntl.F_SETPIPE_SZ, 1 << 20)
        self._splitter = Splitter()

    def drain(self) -> None:
        try:
            while data := os.read(self._fd, 1 << 16):
                self.events += [decode_event(message) for message in self._splitter.feed(data)]
        except BlockingIOError:
            pass

    def close(self) -> None:
        os.close(self._fd)


@contextmanager
def _pipe(folder: Path) -> Iterator[Pipe]:
    pipe = Pipe(folder / "events.fifo")
    try:
        yield pipe
    finally:
        pipe.close()


def watch(
    folder: Path,
    *arguments: str,
    during: Callable[[subprocess.Popen[str], list[AnyEvent]], None] | None = None,
    patience_s: float = 60.0,
) -> Watched:
    """Run the generator to its end; ``during`` is called every 20 ms."""
    with _pipe(folder) as pipe:
        environment = {key: value for key, value in os.environ.items() if "MGTOP" not in key}
        process = subprocess.Popen(
            [sys.executable, "-m", "mgtop.demo", *arguments],
            env=environment | {"MGTOP_FIFO": str(pipe.path), "MGTOP_PROBE": "raise"},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + patience_s
        try:
            while process.poll() is None and time.monotonic() < end:
                pipe.drain()
                if during is not None:
                    during(process, pipe.events)
                time.sleep(0.02)
        finally:
            process.kill()
            stdout, stderr = process.communicate()
        pipe.drain()
    return Watched(process.returncode, stdout, stderr, pipe.events)


def frames_in(video: Path) -> int:
    """How many frames a video file decodes to."""
    with av.open(str(video)) as container:
        return sum(1 for _ in container.decode(video=0))
