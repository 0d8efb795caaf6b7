"""Small real programs whose frames depend on their parameters, and runs of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mgtop.config.dump import to_yaml
from mgtop.rounds.carrying_out import carry_out
from mgtop.rounds.preparing import Prepared, prepare
from mgtop.rounds.starting import open_folder
from mgtop.rounds.state import Order, State, read_state

ROOT = Path(__file__).parent.parent.parent
Found = TypeVar("Found")

PROGRAM = '''
import sys, time
from mgtop import probe
steps, width, frames = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
class OutOfMemoryError(RuntimeError):
    """As torch names it."""
def run_out():
    raise OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
probe.load_begin()
if width >= 4000:
    run_out()
probe.load_done()
if steps == 13:
    sys.exit("13 steps are not supported")
with probe.request("r", steps=steps, fps=50) as request:
    request.preprocess_done()
    for n in range(frames):
        time.sleep(0.0005 * steps)
        if width >= 1280 and n % 8 == 7:
            with request.span("encode"):
                time.sleep(0.045)
        request.frame()
        if width == 2000 and n == 12:
            run_out()
'''
"""Late frames from a width of 1280 on; memory runs out at frame 12 at 2000, at load from 4000."""


class Workplace:
    """A folder with a program and its configuration."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.environment = {
            "XDG_STATE_HOME": str(self.state),
            "MGTOP_RUNTIME": str(folder / "runtime"),
        }
        self.started: list[subprocess.Popen[str]] = []
        self.lines: list[str] = []
        (folder / "program.py").write_text(PROGRAM)

    def config(self, **more: Any) -> Path:
        """A configuration of the program; ``params`` are put over the usual ones."""
        params = {"steps": 4, "width": 640, "height": 360, "frames": 24, "fps": 50}
        data = {
            "name": "tiny",
            "command": [sys.executable, "program.py", "{steps}", "{width}", "{frames}"],
            **more,
            "params": params | more.get("params", {}),
        }
        path = self.folder / "tiny.yaml"
        path.write_text(to_yaml(data))
        return path

    def prepared(self, kind: Any = "sweep", repeats: int = 1, **more: Any) -> Prepared:
        """An order over the configuration that was written last."""
        config = str(self.folder / "tiny.yaml")
        return prepare(Order(kind=kind, config=config, repeats=repeats, **more))

    def carry_out(self, kind: Any = "sweep", **more: Any) -> tuple[int, State, Prepared]:
        """Carry an order out in this process: exit code, and the state that was left."""
        prepared = self.prepared(kind, **more)
        opened = open_folder(prepared)
        code = carry_out(opened.folder, opened.state, prepared, self.lines.append)
        state = read_state(opened.folder)
        assert state is not None
        return code, state, prepared

    def sessions(self) -> list[Path]:
        """All sessions in the state folder and in folders that were asked for."""
        found = list((self.state / "mgtop" / "sessions").glob("*"))
        return sorted([*found, *(log.parent for log in self.folder.glob("out*/*/session.log"))])

    def sweeps(self) -> list[Path]:
        """All folders of sweeps in the state folder."""
        return sorted((self.state / "mgtop" / "sweeps").glob("*"))

    def mgtop(self, *arguments: str, **options: Any) -> subprocess.Popen[str]:
        """Start ``mgtop`` as a script does."""
        process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "mgtop", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment, "PYTHONPATH": str(ROOT)},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        self.started.append(process)
        return process


def until(condition: Callable[[], Found | None], seconds: float = 20) -> Found:
    """Wait for something to be there."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found
