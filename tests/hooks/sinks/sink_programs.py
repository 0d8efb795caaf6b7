"""Programs that know nothing of mgtop, started as mgtop starts them, and what they told."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import mgtop
from mgtop.wire.framing import Splitter, decode_event
from mgtop.wire.records import AnyEvent, FrameEmit, Sink, Span, StreamEnd

PACKAGE = Path(mgtop.__file__).parent
CASES = PACKAGE.parent / "benchmarks" / "sinks" / "cases"


@dataclass
class Told:
    """Everything that one program told, and what it printed."""

    output: str
    events: list[AnyEvent] = field(default_factory=list)

    def _frames(self) -> Iterator[FrameEmit]:
        return (event for event in self.events if isinstance(event, FrameEmit))

    @property
    def frames(self) -> int:
        """All frames."""
        return sum(frame.count for frame in self._frames())

    @property
    def by_output(self) -> list[tuple[str, int]]:
        """Name and frames of each output, in order."""
        counts: dict[int, int] = {}
        for frame in self._frames():
            counts[frame.request] = counts.get(frame.request, 0) + frame.count
        return [(sink.sink, counts.get(sink.request, 0)) for sink in self.sinks]

    @property
    def sinks(self) -> list[Sink]:
        """The outputs."""
        return [event for event in self.events if isinstance(event, Sink)]

    @property
    def ends(self) -> int:
        """How many outputs ended."""
        return sum(isinstance(event, StreamEnd) for event in self.events)

    @property
    def spans(self) -> list[Span]:
        """Calls of sinks."""
        return [event for event in self.events if isinstance(event, Span)]

    @property
    def said(self) -> dict[str, object]:
        """What a case's last line says."""
        return dict(json.loads(self.output.strip().splitlines()[-1]))


def run(
    folder: Path,
    *command: str,
    python: str = sys.executable,
    environment: dict[str, str] | None = None,
) -> Told:
    """Run a program with the hooks in it; it must end well."""
    fifo = folder / "events.fifo"
    os.mkfifo(fifo, 0o600)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.fcntl(reader, 1031, 1 << 20)
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MGTOP", "PYTHON"))}
        ran = subprocess.run(
            [python, *command],
            env={
                **kept,
                "PYTHONPATH": str(PACKAGE / "hooks" / "boot"),
                "MGTOP_FIFO": str(fifo),
                "MGTOP_PROBE": "raise",
                **(environment or {}),
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        splitter, data = Splitter(), b""
        while True:
            try:
                data += os.read(reader, 1 << 20)
            except BlockingIOError:
                break
        told = Told(ran.stdout, [decode_event(payload) for payload in splitter.feed(data)])
        assert splitter.malformed == 0
        return told
    finally:
        os.close(reader)


def run_text(folder: Path, source: str) -> Told:
    """Run a program that is given as text."""
    script = folder / "program.py"
    script.write_text(source)
    return run(folder, str(script))
