"""The probe inside this process, and programs that use it, with a reader at the other end."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mgtop.probe import gpu_work, outlet, torch_watch
from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import AnyEvent, Event

ROOT = Path(__file__).parents[2]
E = TypeVar("E", bound=Event)


class Pipe:
    """The reader's end of a FIFO."""

    def __init__(self, path: Path, make: bool = False) -> None:
        self.path = path
        if make:
            os.mkfifo(path, 0o600)
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if make:
            fcntl.fcntl(self.fd, 1031, 1 << 20)
        self.splitter = Splitter()
        self.events: list[AnyEvent] = []

    def lock(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def unlock(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def read(self) -> list[AnyEvent]:
        """All that has arrived since the last call."""
        new: list[AnyEvent] = []
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            new += [decode_event(payload) for payload in self.splitter.feed(data)]
        assert self.splitter.malformed == 0
        self.events += new
        return new

    def close(self) -> None:
        os.close(self.fd)


class Probed:
    """The probe of this very process, as if it had just started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pipe: Pipe | None = None

    @property
    def pipe(self) -> Pipe:
        if self._pipe is None:
            self._pipe = Pipe(self.folder / f"{os.getpid()}.fifo")
        return self._pipe

    def read(self, *kinds: type[E]) -> list[E]:
        """The new events, of these kinds only."""
        return [event for event in self.pipe.read() if isinstance(event, kinds)]

    def close(self) -> None:
        if self._pipe is not None:
            self._pipe.close()


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder that does not exist yet."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("MGTOP_RUNTIME", str(folder))
    monkeypatch.delenv("MGTOP_FIFO", raising=False)
    monkeypatch.delenv("MGTOP_PROBE", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    return folder


@pytest.fixture
def probed(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Probed]:
    """The probe in this process, fresh; its own errors come out."""
    monkeypatch.setattr(outlet, "raises", True)
    outlet.after_fork()
    found = Probed(runtime)
    yield found
    found.close()
    if outlet.current is not None:
        outlet.current.leave()
    outlet.after_fork()
    torch_watch._torch = None
    torch_watch.seen = 0
    gpu_work.forget()


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A FIFO like the recorder's."""
    made = Pipe(tmp_path / "events.fifo", make=True)
    yield made
    made.close()


def environment(**more: str) -> dict[str, str]:
    """For a program: nothing of mgtop's beside the probe's folder is on its path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("MGTOP", "PYTHON", "RANK"))}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}


class Programs:
    """Runs programs that use the probe, and sees that they end well and say nothing."""

    def start(self, source: str, python: str = sys.executable, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python, "-c", source],
            cwd="/",
            env=environment(**env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, source: str, python: str = sys.executable, **env: str) -> str:
        process = self.start(source, python, **env)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, "")
        return out


@pytest.fixture
def programs() -> Programs:
    return Programs()


def of(kind: type[E], events: list[Any]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]
