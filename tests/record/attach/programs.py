"""Programs to attach to, in tests: started for real, ended after the test."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[3]
Found = TypeVar("Found")

FRAMES = """
import sys, time
from mgtop import probe
period = float(sys.argv[1])
number = 0
while True:
    number += 1
    with probe.request(f"r{number}", width=64, fps=20) as request:
        request.preprocess_done()
        for _ in range(500):
            time.sleep(period)
            request.frame()
"""
"""Emits a frame every ``argv[1]`` seconds, for ever."""

IDLE = "import time\nwhile True: time.sleep(0.01)"


@contextmanager
def program(
    *command: str, runtime: Path | None = None, **options: object
) -> Iterator[subprocess.Popen[bytes]]:
    """A running program; killed at the end."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    env.pop("MGTOP_SESSION", None)
    if runtime is not None:
        env["MGTOP_RUNTIME"] = str(runtime)
    env.update(options.pop("env", {}))  # type: ignore[call-overload]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    process = subprocess.Popen(list(command), env=env, **{**streams, **options})  # type: ignore[call-overload]
    try:
        until(Path(f"/proc/{process.pid}/cmdline").read_bytes)  # empty while it is being made
        yield process
    finally:
        process.kill()
        process.wait()


def python(code: str, *arguments: object) -> list[str]:
    """The command that runs a piece of Python."""
    return [sys.executable, "-c", code, *map(str, arguments)]


def bytes_in(fifo: Path) -> int:
    """How much a FIFO holds; 0 where there is none."""
    try:
        fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    except FileNotFoundError:
        return 0
    try:
        size = fcntl.ioctl(fd, termios.FIONREAD, bytes(4))
        return int.from_bytes(size, sys.byteorder)
    finally:
        os.close(fd)


def until(condition: Callable[[], Found], seconds: float = 30) -> Found:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
    return found
