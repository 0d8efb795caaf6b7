"""Running ``mgtop`` in tests of attaching: with folders of its own, and programs to attach to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.record.attach.programs import ROOT

LOGGING = """
import sys, time
began, index = time.monotonic(), 0
def tell(event, **fields):
    t = round((time.monotonic() - began) * 1000)
    words = " ".join(f"{key}={value}" for key, value in fields.items())
    print(f"[req 7f3a] T+{t} {event} {words}", flush=True)
tell("request_received", w=1280, h=720, steps=24, fps=16)
tell("first_frame_emit")
while True:
    time.sleep(0.02)
    index += 1
    tell("frame_emit", idx=index)
"""
"""Writes a log line of a frame every 20 ms."""


class Mgtop:
    """The command, with state and runtime folders in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = folder / "runtime"
        self.env = {
            **os.environ,
            "XDG_STATE_HOME": str(folder / "state"),
            "MGTOP_RUNTIME": str(self.runtime),
            "PYTHONPATH": str(ROOT),
        }
        self.env.pop("MGTOP_SESSION", None)
        self.env.pop("MGTOP_FIFO", None)
        self._started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[str]:
        """Start it; its streams are pipes."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE}  # fmt: skip
        process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "mgtop", *map(str, arguments)],
            **{"cwd": self.folder, "env": self.env, "text": True, **streams, **options},
        )
        self._started.append(process)
        return process

    def run(self, *arguments: object, seconds: float = 40) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        process = self.start(*arguments)
        stdout, stderr = process.communicate(timeout=seconds)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def report(self, folder: Path) -> dict[str, Any]:
        """What ``mgtop report --json`` says of a session."""
        done = self.run("report", folder, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def sessions(self) -> list[Path]:
        """All session folders, the oldest first."""
        return sorted((self.folder / "state" / "mgtop" / "sessions").glob("*"))

    def close(self) -> None:
        """End what still runs."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()


def last_line(text: str) -> Path:
    """The session folder that a headless command prints."""
    return Path(text.splitlines()[-1])
