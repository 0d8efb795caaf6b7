"""Whatever ends the view, the terminal is as it was: its settings, and its modes."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.ptyrun import Line, Options, spawn
from mgtop.session.lock import SessionLock
from mgtop.session.writer import LogWriter
from mgtop.wire.records import SessionStart

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
LONGEST_S = 30.0
RESTORED = {
    b"\x1b[?1049l": b"\x1b[?1049h",  # the other screen
    b"\x1b[?25h": b"\x1b[?25l",  # the cursor
    b"\x1b[?7h": b"\x1b[?7l",  # line wrap
    b"\x1b[?1000l": b"\x1b[?1000h",  # the mouse
    b"\x1b[?1003l": b"\x1b[?1003h",
    b"\x1b[?1006l": b"\x1b[?1006h",
    b"\x1b[?1004l": b"\x1b[?1004h",  # focus
    b"\x1b[?2004l": b"\x1b[?2004h",  # paste
    b"\x1b[<u": b"\x1b[>",  # the keyboard's protocol
}
"""What must come last, and what it takes back."""
BOOM = """
import sys
from mgtop.view.screens.live import LiveScreen
usual, times = LiveScreen.rows, []
def rows(screen, *rest):
    times.append(0)
    if len(times) > 3:
        raise ValueError("boom")
    return usual(screen, *rest)
LiveScreen.rows = rows
from mgtop.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


class Shell:
    """A shell that tells the terminal's settings, runs the view, and tells them again."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        script = 'stty -g; "$@"; echo "status $?"; stty -g; echo "the end"'
        whole = ["sh", "-c", script, "sh", *command]
        options = Options(whole, cols=90, rows=28, env={"PYTHONPATH": str(ROOT), **(env or {})})
        self.pid, self.master = spawn(options)
        self._line = Line(self.master, options)

    @property
    def seen(self) -> bytes:
        return b"".join(data for _, data in self._line.chunks)

    def wait_for(self, text: bytes, times: int = 1) -> None:
        deadline = time.monotonic() + LONGEST_S
        while self.seen.count(text) < times:
            assert time.monotonic() < deadline, self.seen[-2000:]
            assert self._line.open, self.seen[-2000:]
            self._line.read(0.02)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def view_pid(self) -> int:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(children[-1])

    def check(self) -> int:
        """Wait for the end; nothing may be left of the view. Return its exit status."""
        self.wait_for(b"the end")
        settings = re.findall(rb"^([0-9a-f:]{40,})\r?$", self.seen, re.MULTILINE)
        assert len(settings) == 2, self.seen[-500:]
        assert settings[0] == settings[1]
        for back, there in RESTORED.items():
            assert there in self.seen, there
            assert self.seen.rindex(back) > self.seen.rindex(there), back
        after = self.seen[self.seen.rindex(b"\x1b[?1049l") :]
        assert b"Traceback" not in after
        found = re.search(rb"status (\d+)", after)
        assert found, after
        return int(found[1])

    def close(self) -> None:
        os.close(self.master)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[SessionLock]:
    """A recorder that is alive."""
    writer = LogWriter(tmp_path)
    start = SessionStart(
        t_ns=time.monotonic_ns(), wall_ns=time.time_ns(), schema=1, mgtop="0", name="x"
    )
    writer.append([start])
    writer.close()
    with SessionLock(tmp_path) as held:
        yield held


@pytest.fixture
def shells() -> Iterator[list[Shell]]:
    opened: list[Shell] = []
    yield opened
    for shell in opened:
        shell.close()


def press_q(shell: Shell, _: SessionLock) -> None:
    shell.type(b"q")
    shell.wait_for(b"Leave this view?")
    shell.type(b"l")


def press_control_c(shell: Shell, _: SessionLock) -> None:
    shell.type(b"\x03")
    shell.wait_for(b"Ctrl-C again")
    shell.type(b"\x03")


def recorder_dies(shell: Shell, lock: SessionLock) -> None:
    lock.release()
    shell.wait_for(b"RECORDER GONE")
    shell.type(b"q")


def sent(number: signal.Signals) -> Callable[[Shell, SessionLock], None]:
    def send(shell: Shell, _: SessionLock) -> None:
        os.kill(shell.view_pid(), number)

    return send


@pytest.mark.parametrize(
    "leave",
    [press_q, press_control_c, recorder_dies, sent(signal.SIGTERM), sent(signal.SIGHUP)],
    ids=["q", "Ctrl-C", "recorder gone", "SIGTERM", "SIGHUP"],
)
def test_the_terminal_is_restored(
    leave: Callable[[Shell, SessionLock], None],
    tmp_path: Path,
    lock: SessionLock,
    shells: list[Shell],
) -> None:
    shell = Shell(sys.executable, "-m", "mgtop", "view", str(tmp_path))
    shells.append(shell)
    shell.wait_for(b"interval")
    leave(shell, lock)
    assert shell.check() == 0


def test_a_fault_of_the_screen_is_one_sentence_on_a_restored_terminal(
    tmp_path: Path, lock: SessionLock, shells: list[Shell]
) -> None:
    state = tmp_path / "state"
    shell = Shell(
        sys.executable, "-c", BOOM, "view", str(tmp_path), env={"XDG_STATE_HOME": str(state)}
    )
    shells.append(shell)
    assert shell.check() == 70
    said = shell.seen[shell.seen.rindex(b"\x1b[?1049l") :].decode()
    assert "mgtop: internal error (ValueError: boom); the traceback is in" in said
    kept = next((state / "mgtop").glob("crash-*.txt")).read_text()
    assert "in rows" in kept
    assert "ValueError: boom" in kept


def test_no_answer_of_a_far_terminal_is_left_for_the_shell(
    tmp_path: Path, lock: SessionLock, shells: list[Shell]
) -> None:
    """Its answers take a while; what came after the view had ended would be typed at a prompt."""
    shell = Shell(sys.executable, "-m", "mgtop", "view", str(tmp_path))
    shells.append(shell)
    shell.wait_for(b"interval")
    shell.wait_for(b"\x1b[6n", times=2)  # the first one was answered
    shell.type(b"q")
    shell.wait_for(b"Leave this view?")
    os.set_blocking(shell.master, False)
    shell.type(b"l")
    held = b""  # 0.3 s long nothing is answered
    until = time.monotonic() + 0.3
    while time.monotonic() < until:
        if select.select([shell.master], [], [], 0.01)[0]:
            held += os.read(shell.master, 65536)
    assert b"\x1b[6n" in held
    assert b"\x1b[?1049l" not in held  # it waits
    os.write(shell.master, b"\x1b[1;1R" * held.count(b"\x1b[6n"))
    os.set_blocking(shell.master, True)
    shell.wait_for(b"the end")
    assert b"status 0" in shell.seen
