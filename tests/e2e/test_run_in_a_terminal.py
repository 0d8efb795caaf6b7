"""``mgtop run --headless`` typed into a real terminal: its keys go where they should."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parent.parent.parent


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
            os.execv(sys.executable, [sys.executable, "-m", "mgtop", *arguments])

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

    def close(self) -> None:
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
