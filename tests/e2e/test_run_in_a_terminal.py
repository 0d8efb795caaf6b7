"""``mgtop run`` typed into a real terminal: keys go where they should, and a lost terminal
harms neither the program nor its recording."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.status import Status, read_status
from mgtop.session.reader import LogReader
from mgtop.wire.records import FrameEmit

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent
ANSWERS = {b"\x1b[?2026$p": b"\x1b[?2026;2$y", b"\x1b[c": b"\x1b[?62;22c"}
FRAMES = """
import time
from mgtop import probe
with probe.request("7f3a", fps=25) as request:
    for _ in range(100):
        time.sleep(0.04)
        request.frame()
"""


class Terminal:
    """A command in a pseudo-terminal of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.seen = b""
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(
                XDG_STATE_HOME=str(folder / "state"),
                MGTOP_RUNTIME=str(folder / "runtime"),
                PYTHONPATH=str(ROOT),
            )
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            os.execv(sys.executable, [sys.executable, "-m", "mgtop", *arguments])
        os.set_inheritable(self._master, False)  # a second terminal must not keep this one open

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, text: bytes, seconds: float = 8) -> None:
        deadline = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self._read()

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.05)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += data
        for query, answer in ANSWERS.items():
            if query in data:
                os.write(self._master, answer)
        return bool(data)

    def exit_code(self, seconds: float = 8) -> int:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                while self._read() and select.select([self._master], [], [], 0)[0]:
                    pass
                return os.waitstatus_to_exitcode(status)
        raise AssertionError(self.seen)

    def hang_up(self) -> None:
        """The terminal goes away, as when an SSH connection drops."""
        os.close(self._master)
        self._master = -1

    def close(self) -> None:
        if self._master >= 0:
            os.close(self._master)
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def test_what_is_typed_reaches_the_program(tmp_path: Path, terminals: list[Terminal]) -> None:
    code = "name = input('who? '); print('hello', name.upper())"
    terminal = Terminal(tmp_path, "run", "--headless", "--", sys.executable, "-c", code)
    terminals.append(terminal)
    terminal.wait_for(b"who? ")
    terminal.type(b"ada\n")
    terminal.wait_for(b"hello ADA")
    assert terminal.exit_code() == 0
    last = terminal.seen.decode().splitlines()[-1]
    assert Path(last).is_dir()


def test_control_c_interrupts_the_program(tmp_path: Path, terminals: list[Terminal]) -> None:
    code = "print('ready', flush=True)\nimport time\ntime.sleep(60)"
    terminal = Terminal(tmp_path, "run", "--headless", "--", sys.executable, "-c", code)
    terminals.append(terminal)
    terminal.wait_for(b"ready")
    terminal.type(b"\x03")
    assert terminal.exit_code() == 130
    assert b"KeyboardInterrupt" in terminal.seen  # the program's own, not ours
    assert terminal.seen.count(b"Traceback") == 1


def session_of(folder: Path) -> Path:
    return next((folder / "state" / "mgtop" / "sessions").iterdir())


def status_of(folder: Path) -> Status:
    status = read_status(session_of(folder))
    assert status is not None
    return status


def until_ended(folder: Path, seconds: float = 9) -> None:
    deadline = time.monotonic() + seconds
    while status_of(folder).state != "ended":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def frames_of(folder: Path) -> int:
    return len([r for r in LogReader(session_of(folder)).poll() if isinstance(r, FrameEmit)])


def test_a_lost_terminal_loses_nothing(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", FRAMES)
    terminals.append(terminal)
    terminal.wait_for(b"interval")
    terminal.hang_up()
    assert status_of(tmp_path).state == "recording"
    until_ended(tmp_path)
    assert status_of(tmp_path).target_code == 0
    assert frames_of(tmp_path) == 100


def test_what_a_program_said_before_it_failed_is_shown_after_the_screen(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    code = "raise SystemExit('no weights in models/')"
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", code)
    terminals.append(terminal)
    terminal.wait_for(b"exited with 1")
    terminal.type(b"q")
    assert terminal.exit_code() == 3
    said = terminal.seen.decode("utf-8", "replace").rpartition("\x1b[?1049l")[2]
    assert said.index("no weights in models/") < said.index("failed with exit code 1")


def test_a_program_that_outlives_its_recording_is_told_of(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    out = tmp_path / "session"
    code = "import time; time.sleep(60)"
    terminal = Terminal(tmp_path, "run", "--out", str(out), "--", sys.executable, "-c", code)
    terminals.append(terminal)
    terminal.wait_for(b"interval")
    terminal.type(b"q")
    terminal.wait_for(b"Leave this view?")
    terminal.type(b"s")
    assert terminal.exit_code() == 0
    status = read_status(out)
    assert status is not None
    assert status.target_pid is not None
    try:
        said = terminal.seen.decode("utf-8", "replace").rpartition("\x1b[?1049l")[2]
        assert f"The program goes on (pid {status.target_pid})." in said
        assert f"mgtop stop {out} --target" in said
        assert f"mgtop report {out}" in said
    finally:
        os.kill(status.target_pid, signal.SIGKILL)


def test_leaving_the_screen_twice_by_control_c_leaves_the_program(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", FRAMES)
    terminals.append(terminal)
    terminal.wait_for(b"interval")
    terminal.type(b"\x03")
    terminal.wait_for(b"again")
    terminal.type(b"\x03")
    assert terminal.exit_code() == 0
    assert b"Recording goes on" in terminal.seen
    until_ended(tmp_path)
    assert frames_of(tmp_path) == 100
