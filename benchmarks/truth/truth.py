"""What really happened in a run, as it was measured where it happened: the only thing scored.

A truth file is one JSON object a line: ``start``, ``emit``, ``strike`` and ``outside``. The
demo's own ``truth.json`` (strikes only) is read as well. Times are ns of ``CLOCK_MONOTONIC``.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Emit:
    """``count`` frames of a request left the generator at ``t_ns``."""

    request: str
    emit: int
    index: int
    count: int
    t_ns: int


@dataclass(frozen=True)
class Strike:
    """A fault was at work from ``begin_ns`` to ``end_ns``.

    ``request`` and ``emit``: whose work it struck; None: it came from outside the program.
    """

    fault: str
    request: str | None
    emit: int | None
    begin_ns: int
    end_ns: int


@dataclass(frozen=True)
class Outside:
    """Other programs kept so many cores busy in the ``period_ns`` up to ``t_ns``.

    ``free``: cores that nobody used.
    """

    t_ns: int
    period_ns: int
    cores: float
    free: float


@dataclass
class Truth:
    """All of one run."""

    emits: list[Emit] = field(default_factory=list)
    strikes: list[Strike] = field(default_factory=list)
    outside: list[Outside] = field(default_factory=list)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Truth:
        """Read the files that exist; a last line that was cut off is left out."""
        truth = cls()
        for path in paths:
            if path.exists():
                for line in path.read_text().splitlines():
                    truth.add(line)
        truth.emits.sort(key=lambda emit: (emit.request, emit.emit))
        truth.strikes.sort(key=lambda strike: strike.begin_ns)
        truth.outside.sort(key=lambda outside: outside.t_ns)
        return truth

    def add(self, line: str) -> None:
        """Add one line of a file."""
        try:
            item = json.loads(line)
        except ValueError:
            return
        kind = item.get("kind", "strike")
        if kind == "emit":
            self.emits.append(
                Emit(item["request"], item["emit"], item["index"], item["count"], item["t_ns"])
            )
        elif kind == "outside":
            self.outside.append(
                Outside(item["t_ns"], item["period_ns"], item["cores"], item["free"])
            )
        elif kind == "strike":
            self.strikes.append(
                Strike(
                    item["fault"],
                    item["request"],
                    item["emit"],
                    item["t_begin_ns"],
                    item["t_end_ns"],
                )
            )


class TruthFile:
    """Writes a truth file, line by line and at once; without a path, nothing."""

    def __init__(self, path: Path | None) -> None:
        self._file = path.open("a", buffering=1) if path is not None else None
        self._lock = threading.Lock()

    def start(self, pid: int, t_ns: int) -> None:
        """The generator is about to emit."""
        self._write({"kind": "start", "pid": pid, "t_ns": t_ns})

    def emit(self, emit: Emit) -> None:
        """Frames left."""
        self._write(
            {
                "kind": "emit",
                "request": emit.request,
                "emit": emit.emit,
                "index": emit.index,
                "count": emit.count,
                "t_ns": emit.t_ns,
            }
        )

    def strike(self, strike: Strike) -> None:
        """A fault is over."""
        self._write(
            {
                "kind": "strike",
                "fault": strike.fault,
                "request": strike.request,
                "emit": strike.emit,
                "t_begin_ns": strike.begin_ns,
                "t_end_ns": strike.end_ns,
                "injected_ms": (strike.end_ns - strike.begin_ns) / 1e6,
            }
        )

    def outside(self, outside: Outside) -> None:
        """How busy other programs were."""
        self._write(
            {
                "kind": "outside",
                "t_ns": outside.t_ns,
                "period_ns": outside.period_ns,
                "cores": round(outside.cores, 3),
                "free": round(outside.free, 3),
            }
        )

    def close(self) -> None:
        """No more is written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, line: dict[str, Any]) -> None:
        if self._file is not None:
            with self._lock:
                self._file.write(json.dumps(line) + "\n")
