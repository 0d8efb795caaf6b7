"""Starting recordings in tests, and reading back what they left."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from mgtop.record.launch import Recording, start
from mgtop.record.plan import Plan
from mgtop.session.reader import LogReader
from mgtop.wire.records import AnyRecord, FrameEmit, Loss

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
EMIT_TARGET = str(HERE / "emit_target.py")

Found = TypeVar("Found")


def emitter(*options: object) -> list[str]:
    """The command of a target that emits."""
    return [sys.executable, EMIT_TARGET, *map(str, options)]


def python(code: str) -> list[str]:
    """The command of a target that is a line of Python."""
    return [sys.executable, "-c", code]


def record(tmp_path: Path, command: list[str], **options: Any) -> Recording:
    """Start a recording in ``tmp_path/session``."""
    env = {"PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", **options.pop("env", {})}
    plan = Plan(name="test", command=command, cwd=str(tmp_path), env=env, **options)
    return start(plan, out=tmp_path / "session")


def read(folder: Path) -> list[AnyRecord]:
    """All records of a log."""
    reader = LogReader(folder)
    records: list[AnyRecord] = []
    while not reader.at_end:
        records += reader.poll()
    assert reader.malformed_chunks == 0
    return records


def of(kind: type[Found], records: list[AnyRecord]) -> list[Found]:
    """The records of one kind."""
    return [record for record in records if isinstance(record, kind)]


def emits(records: list[AnyRecord]) -> list[int]:
    """Sequence numbers of the emits, in log order."""
    return [record.seq for record in of(FrameEmit, records)]


def losses(records: list[AnyRecord]) -> tuple[int, int]:
    """Events dropped and malformed, over all processes, at the end."""
    last = {record.proc: record for record in of(Loss, records)}
    return sum(r.dropped for r in last.values()), sum(r.malformed for r in last.values())


def until(condition: Callable[[], Found], seconds: float = 8) -> Found:
    """Wait for something to become true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
    return found
