"""A terminal that goes away, with real pseudo-terminals."""

from __future__ import annotations

import os
import pty
import signal
import sys
import time
from pathlib import Path

import pytest

from mgtop.session.lock import SessionLock
from mgtop.session.writer import LogWriter
from mgtop.wire.records import SessionStart

LONGEST_S = 12.0
HELD_UP = """
import asyncio, threading
from mgtop.view.hangup import leave_on_hangup
async def main():
    leave_on_hangup(lambda: None)
    print("here", flush=True)
    threading.Event().wait()
asyncio.run(main())
"""
"""A loop that waits for room in its output, which nobody makes once the terminal is gone."""


def start_view(folder: Path, ignore_hangup: bool) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        if ignore_hangup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.environ["TERM"] = "xterm-256color"
        os.execv(sys.executable, [sys.executable, "-m", "mgtop", "view", str(folder)])
    return pid, terminal


def read_until_painted(terminal: int) -> None:
    deadline = time.monotonic() + 15
    seen = b""
    while b"mgtop" not in seen and time.monotonic() < deadline:
        seen += os.read(terminal, 65536)
    assert b"mgtop" in seen


def ended_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


@pytest.mark.e2e
@pytest.mark.parametrize("ignore_hangup", [False, True], ids=["plain", "under nohup"])
def test_the_view_ends_with_its_terminal(tmp_path: Path, ignore_hangup: bool) -> None:
    writer = LogWriter(tmp_path)
    start = SessionStart(
        t_ns=time.monotonic_ns(), wall_ns=time.time_ns(), schema=1, mgtop="0", name="x"
    )
    writer.append([start])
    writer.close()
    with SessionLock(tmp_path):
        pid, terminal = start_view(tmp_path, ignore_hangup)
        try:
            read_until_painted(terminal)
        finally:
            os.close(terminal)
        assert ended_within(pid, LONGEST_S)


@pytest.mark.e2e
def test_a_loop_that_the_lost_terminal_holds_up_ends_too() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, "-c", HELD_UP])
    try:
        seen = b""
        while b"here" not in seen:
            seen += os.read(terminal, 1024)
    finally:
        os.close(terminal)
    assert ended_within(pid, LONGEST_S)
