"""Over SSH for real: an sshd on loopback, and a line that is slow, far, or cut in the middle.

The line is a relay of :mod:`benchmarks.ssh`, and so is the server; ``python -m benchmarks.ssh``
measures the same at 250 ms and 64 kbit/s, for long.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import FRAMES, PYTHON, Machine, until

from benchmarks.keys import HOLDING
from benchmarks.ptyrun import Line, Options, spawn
from benchmarks.ssh.__main__ import GOAL_BYTES_S, Case, look, made_session
from benchmarks.ssh.daemon import OwnSshd, find_sshd
from benchmarks.ssh.line import Relay
from mgtop.record.status import Status, read_status
from mgtop.record.tree import is_running
from mgtop.session.lock import is_live

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(find_sshd() is None, reason="no sshd is installed (openssh-server)"),
]

LONGEST_S = 40.0


class Remote:
    """A client that runs a command on a terminal over there, through a relay."""

    def __init__(self, sshd: OwnSshd, relay: Relay, command: str) -> None:
        options = Options(sshd.ssh(command, port=relay.port), cols=100, rows=30)
        self.pid, self.master = spawn(options)
        self._line = Line(self.master, options)

    @property
    def seen(self) -> bytes:
        return b"".join(data for _, data in self._line.chunks)

    def wait_for(self, text: bytes) -> None:
        deadline = time.monotonic() + LONGEST_S
        while text not in self.seen:
            assert self._line.open, self.seen[-2000:]
            assert time.monotonic() < deadline, self.seen[-2000:]
            self._line.read(0.02)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def ended(self) -> int:
        """Wait for the client's end; its exit status."""
        deadline = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline:
            self._line.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
        raise AssertionError("the client goes on")

    def close(self) -> None:
        os.close(self.master)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def sshd(tmp_path: Path, mgtop: Machine) -> Iterator[OwnSshd]:
    env = {name: mgtop.env[name] for name in ("XDG_STATE_HOME", "MGTOP_RUNTIME", "PYTHONPATH")}
    server = OwnSshd(tmp_path / "sshd", {**env, "LANG": "C.UTF-8"})
    yield server
    server.close()


@pytest.fixture
def remotes() -> Iterator[list[Remote]]:
    opened: list[Remote] = []
    yield opened
    for remote in opened:
        remote.close()


def test_the_screen_is_of_use_over_a_slow_line(sshd: OwnSshd, tmp_path: Path) -> None:
    """A tenth of the way and twice the rate of the benchmark, which says how quick it is."""
    relay = Relay(sshd.port, delay_ms=15, rate=16_000)
    try:
        with made_session(tmp_path / "made", 20, 120) as session:
            case = Case("short", keys=HOLDING)
            seen = look(case, sshd, relay.port, session, 1.0, presses=2, pause_s=1.0)
    finally:
        relay.cut()
    assert seen.bytes_per_s is not None
    assert 0 < seen.bytes_per_s <= GOAL_BYTES_S
    assert seen.presses
    assert seen.unanswered < len(seen.presses)


def test_a_cut_connection_loses_nothing_and_the_session_is_opened_again(
    sshd: OwnSshd, mgtop: Machine, remotes: list[Remote]
) -> None:
    relay = Relay(sshd.port, delay_ms=5, rate=0)
    run = [PYTHON, "-m", "mgtop", "run", "--", PYTHON, "-c", FRAMES, "3000"]
    first = Remote(sshd, relay, shlex.join(run))
    remotes.append(first)
    first.wait_for(b"STEADY")
    [session] = mgtop.sessions()

    relay.cut()
    assert first.ended() == 255  # what ssh says when its connection is gone
    status = status_of(session)
    assert status.target_pid is not None
    until(lambda: not views_of(session), LONGEST_S)  # the screen has ended with its terminal
    assert is_live(session)
    assert is_running(status.target_pid)

    again = Relay(sshd.port, delay_ms=5, rate=0)
    try:
        view = shlex.join([sys.executable, "-m", "mgtop", "view"])
        second = Remote(sshd, again, f"stty -g; {view}; echo status $?; stty -g")
        remotes.append(second)
        second.wait_for(b"STEADY")
        second.type(b"q")
        second.wait_for(b"Leave this view?")
        second.type(b"t")
        second.wait_for(b"status ")
        assert second.ended() == 0
    finally:
        again.cut()
    settings = re.findall(rb"^([0-9a-f:]{40,})\r?$", second.seen, re.MULTILINE)
    assert len(settings) == 2
    assert settings[0] == settings[1]
    assert b"status 0" in second.seen
    until(lambda: not is_live(session) or None, LONGEST_S)


def status_of(session: Path) -> Status:
    status = read_status(session)
    assert status is not None
    return status


def views_of(session: Path) -> list[int]:
    """Processes that look at a session or have started it, of this test's folder."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
                state = (folder / "environ").read_bytes()
            except OSError:
                continue
            mine = f"XDG_STATE_HOME={session.parents[2]}".encode() in state.split(b"\0")
            if mine and (b"view" in words or b"run" in words) and b"mgtop" in words:
                found.append(int(folder.name))
    return found
