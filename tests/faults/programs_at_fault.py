"""The program of these tests, as it is recorded and as it is without mgtop."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.record.recording import ROOT

STEADY = Path(__file__).parent / "steady.py"
SHELL = '"$@"; echo exit $?'
"""The exit code is told by a shell of the program's own: it outlives every recorder."""


class Program:
    """``steady.py`` with a counter of its own.

    Args:
        folder: where the counter is.
        frames: how many it emits.
        rate: frames a second; 0: as fast as can be.
        end: what it does after them.
        shell: it is started by a shell that prints its exit code.
    """

    def __init__(
        self, folder: Path, frames: int, rate: float, end: str = "", *, shell: bool = True
    ) -> None:
        self.frames = frames
        self.counter = folder / "returned"
        self._end = end
        self._shell = shell
        self.command = self._with(rate, self.counter)

    def _with(self, rate: float, counter: Path) -> list[str]:
        words = [sys.executable, str(STEADY), str(self.frames), str(rate), str(counter), self._end]
        return ["sh", "-c", SHELL, "sh", *words] if self._shell else words

    def returned(self) -> int:
        """Frames whose call has returned so far."""
        try:
            return int(self.counter.read_text() or 0)
        except FileNotFoundError:
            return 0

    def let_go(self) -> None:
        """Let a waiting one come to its end."""
        Path(f"{self.counter}.go").touch()

    def alone(self) -> str:
        """What it prints where there is no mgtop: its frame count and its exit code."""
        counter = self.counter.with_name("alone")
        Path(f"{counter}.go").touch()
        env = {name: value for name, value in os.environ.items() if not name.startswith("MGTOP_")}
        done = subprocess.run(
            self._with(0, counter),
            env={**env, "PYTHONPATH": str(ROOT), "MGTOP_RUNTIME": str(counter) + ".runtime"},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        return done.stdout
