"""The probe of this process with a reader at its other end, for hooks that run in here."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from mgtop.hooks.target import emitting, notices
from mgtop.probe import outlet
from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import AnyEvent, Event

E = TypeVar("E", bound=Event)


class Told:
    """What hooks have told since the last time."""

    def __init__(self, fifo: Path) -> None:
        os.mkfifo(fifo, 0o600)
        self._fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        fcntl.fcntl(self._fd, 1031, 1 << 20)
        self._splitter = Splitter()

    def read(self, *kinds: type[E]) -> list[E]:
        found: list[AnyEvent] = []
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                break
            found += [decode_event(payload) for payload in self._splitter.feed(data)]
        return [event for event in found if isinstance(event, kinds)]

    def close(self) -> None:
        os.close(self._fd)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    fifo = tmp_path / "events.fifo"
    made = Told(fifo)
    monkeypatch.setenv("MGTOP_FIFO", str(fifo))
    monkeypatch.delenv("MGTOP_PROBE", raising=False)
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(outlet, "raises", True)
    monkeypatch.setattr(notices, "_told", set())
    outlet.after_fork()
    yield made
    made.close()
    if outlet.current is not None:
        outlet.current.leave()
    outlet.after_fork()
    for stream in emitting._streams.values():
        stream.forget()
