"""``mgtop sweep`` in a real terminal: the rounds run apart from the screen that shows them."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pyte
import pytest
from round_programs import ROOT, Workplace, until

from mgtop.rounds.state import State, read_state, runner_pid

pytestmark = pytest.mark.e2e


class Terminal:
    """A terminal of 100×24 with a command in it."""

    def __init__(self, place: Workplace, *words: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "mgtop", *words],
            cwd=place.folder,
            env={**os.environ, **place.environment, "PYTHONPATH": str(ROOT), "TERM": "xterm"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            text=True,
        )
        os.close(slave)
        self._screen = pyte.Screen(100, 24)
        self._stream = pyte.ByteStream(self._screen)
        self.output = b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            self.output += data
            self._stream.feed(data)

    def shows(self, text: str) -> bool:
        return any(text in line for line in list(self._screen.display))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())


def left(place: Workplace) -> tuple[Path, State] | None:
    for folder in place.sweeps():
        state = read_state(folder)
        if state is not None:
            return folder, state
    return None


def test_leaving_lets_the_rounds_go_on_and_the_same_command_shows_them_again(
    workplace: Workplace,
) -> None:
    workplace.config(params={"frames": 350})  # seven tenths of a second a round
    words = ("sweep", "tiny.yaml", "--vary", "steps=4", "--repeats", "3")
    first = Terminal(workplace, *words)
    workplace.started.append(first.process)
    until(lambda: first.shows("of 3 rounds"))
    first.press("q")
    until(lambda: first.shows("Leave this screen"))
    first.press("l")
    assert first.process.wait(20) == 0
    until(lambda: b"The rounds go on" in first.output)
    found = until(lambda: left(workplace))
    assert runner_pid(found[0]) is not None

    second = Terminal(workplace, *words)
    workplace.started.append(second.process)

    def is_finished() -> bool:
        now = left(workplace)
        return now is not None and now[1].status == "finished" and runner_pid(now[0]) is None

    until(lambda: second.shows("of 3 rounds"))
    until(is_finished, 40)
    until(lambda: second.shows("FINISHED"))
    second.press("q")
    assert second.process.wait(20) == 0
    until(lambda: b"CHOICE" in second.output)
    assert len(workplace.sessions()) == 3

    for what in (str(found[0]), found[0].name):
        third = Terminal(workplace, "view", what)
        workplace.started.append(third.process)
        until(lambda shown=third: shown.shows("FINISHED"))
        third.press("q")
        assert third.process.wait(20) == 0
