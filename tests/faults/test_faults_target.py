"""The program under the monitor dies, in all ways: what it had emitted by then is kept."""

from __future__ import annotations

import os
import signal
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.launch import Outcome, Recording
from mgtop.report.load import summarise
from mgtop.wire.records import AnyRecord, FrameEmit, SessionEnd
from tests.faults.programs_at_fault import Program
from tests.record.recording import losses, of, read, record, until

pytestmark = pytest.mark.e2e

SWARM = """
import os, sys
from mgtop import probe
workers, frames, abrupt = map(int, sys.argv[1:])
for number in range(workers):
    if os.fork() == 0:
        with probe.request(f"w{number}", fps=100) as request:
            for _ in range(frames):
                request.frame()
        if number < abrupt:
            os._exit(0)
        sys.exit(0)
for _ in range(workers):
    os.wait()
"""
OOM_LIMIT = 96 << 20


def outcome_and_records(recording: Recording) -> tuple[Outcome, list[AnyRecord]]:
    outcome = recording.wait(60)
    assert (outcome.exit_code, outcome.lost) == (0, False)
    records = read(recording.folder)
    assert isinstance(records[-1], SessionEnd)
    return outcome, records


def test_a_segmentation_fault_loses_nothing(tmp_path: Path, started: list[Recording]) -> None:
    program = Program(tmp_path, 150, 0, "segv", shell=False)
    started.append(record(tmp_path, program.command))
    outcome, records = outcome_and_records(started[-1])
    assert outcome.target_signal == signal.SIGSEGV
    assert program.returned() == 150
    assert [frame.index for frame in of(FrameEmit, records)] == list(range(150))
    assert losses(records) == (0, 0)


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group of its own with a memory limit; version 1 or 2, whichever is here."""
    root = Path("/sys/fs/cgroup")
    if (root / "memory" / "memory.limit_in_bytes").exists():
        parent, limit = root / "memory", "memory.limit_in_bytes"
    elif "memory" in _words(root / "cgroup.subtree_control"):
        parent, limit = root, "memory.max"
    else:
        pytest.skip("no memory controller is handed down here")
    group = parent / f"mgtop-test-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
        (group / limit).write_text(str(OOM_LIMIT))
    except OSError as error:
        if group.exists():
            group.rmdir()
        pytest.skip(f"no control group may be made here: {error.strerror}")
    yield group
    group.rmdir()


def _words(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def _oom_kills(group: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        words = _words(group / name)
        if "oom_kill" in words:
            return int(words[words.index("oom_kill") + 1])
    raise AssertionError("the group does not count kills")


def test_the_kernels_oom_kill_loses_nothing(
    tmp_path: Path, started: list[Recording], memory_group: Path
) -> None:
    program = Program(tmp_path, 150, 0, "oom", shell=False)
    enter = f'echo $$ > "{memory_group}/cgroup.procs" && exec "$@"'
    started.append(record(tmp_path, ["sh", "-c", enter, "sh", *program.command]))
    log = started[-1].folder / "session.log"
    until(lambda: program.returned() == 150)
    size = log.stat().st_size
    until(lambda: log.stat().st_size > size)  # the recorder has looked where it is
    size = log.stat().st_size
    until(lambda: log.stat().st_size > size)
    program.let_go()
    outcome, records = outcome_and_records(started[-1])
    assert _oom_kills(memory_group) == 1  # the kernel's kill, nobody else's
    assert outcome.target_signal == signal.SIGKILL
    assert outcome.target_oom_kills == 1
    summary = summarise(started[-1].folder)
    assert summary.target.oom_kills == 1
    assert summary.verdict.code == "memory"
    assert "was killed by signal 9 after 150 frames, and the kernel's" in summary.verdict.text
    assert [frame.index for frame in of(FrameEmit, records)] == list(range(150))
    assert losses(records) == (0, 0)


def test_a_kill_by_another_is_not_taken_for_the_kernels(
    tmp_path: Path, started: list[Recording]
) -> None:
    program = Program(tmp_path, 50, 0, "kill", shell=False)
    started.append(record(tmp_path, program.command))
    outcome, _records = outcome_and_records(started[-1])
    assert outcome.target_signal == signal.SIGKILL
    assert outcome.target_oom_kills in (0, None)  # None where no group's count can be read
    assert summarise(started[-1].folder).verdict.code != "memory"


def test_a_swarm_of_short_lived_workers_loses_nothing(
    tmp_path: Path, started: list[Recording]
) -> None:
    """Fifty at once through one FIFO; ten of them end without any clean-up."""
    command = [sys.executable, "-c", SWARM, "50", "20", "10"]
    started.append(record(tmp_path, command))
    outcome, records = outcome_and_records(started[-1])
    assert outcome.target_code == 0
    frames = of(FrameEmit, records)
    by_process: dict[int, list[int]] = {}
    for frame in frames:
        by_process.setdefault(frame.proc, []).append(frame.index)
    assert len(by_process) == 50
    assert all(sorted(indexes) == list(range(20)) for indexes in by_process.values())
    assert losses(records) == (0, 0)
    assert os.listdir(tmp_path / "runtime") == []
