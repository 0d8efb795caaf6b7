"""``mgtop`` as a script runs it: a process with folders of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mgtop.record.status import read_status
from mgtop.session.reader import read_all
from mgtop.wire.records import AnyRecord

ROOT = Path(__file__).parent.parent.parent
PYTHON = sys.executable
Found = TypeVar("Found")

FRAMES = """
import sys, time
from mgtop import probe
count = int(sys.argv[1])
with probe.request("7f3a", steps=4, fps=50) as request:
    request.preprocess_done()
    for _ in range(count):
        time.sleep(0.02)
        request.frame()
print("done", count)
"""


class Machine:
    """Runs ``mgtop`` with folders of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.env = {
            **os.environ,
            "XDG_STATE_HOME": str(self.state),
            "MGTOP_RUNTIME": str(folder / "runtime"),
            "PYTHONPATH": str(ROOT),
        }
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **options: object) -> subprocess.Popen[str]:
        streams = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
        }
        process: subprocess.Popen[str] = subprocess.Popen(
            [PYTHON, "-m", "mgtop", *arguments],
            cwd=self.folder,
            env=self.env,
            text=True,
            **{**streams, **options},
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PYTHON, "-m", "mgtop", *arguments],
            cwd=self.folder,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    def sessions(self) -> list[Path]:
        return sorted((self.state / "mgtop" / "sessions").glob("*"))

    def target_pid(self) -> int:
        def found() -> int | None:
            for folder in self.sessions():
                status = read_status(folder)
                if status is not None and status.target_pid is not None:
                    return status.target_pid
            return None

        return until(found)


def until(condition: Callable[[], Found | None], seconds: float = 8) -> Found:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found


def records_of(folder: Path) -> list[AnyRecord]:
    return list(read_all(folder))


def last_line(text: str) -> Path:
    return Path(text.splitlines()[-1])
