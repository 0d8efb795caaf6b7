"""Recorder, target and log as real processes."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import emits, emitter, losses, of, python, read, record, until

from mgtop.record.launch import LaunchError, Recording, outcome_of
from mgtop.record.status import Status, read_status
from mgtop.record.tree import is_running
from mgtop.session.lock import is_live
from mgtop.wire.records import (
    FrameEmit,
    HostCpu,
    HostMemory,
    Observer,
    OutputAt,
    SessionEnd,
    SessionStart,
    SourceState,
    TargetExit,
    TargetStart,
)

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FIFOs of a test stay in its own folder."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("MGTOP_RUNTIME", str(folder))
    return folder


@pytest.fixture
def clean_up() -> Iterator[list[int]]:
    """Process groups to kill at the end, whatever the test did."""
    groups: list[int] = []
    yield groups
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


def status_of(recording: Recording) -> Status:
    status = read_status(recording.folder)
    assert status is not None
    return status


def test_a_session_from_start_to_end(tmp_path: Path, runtime: Path) -> None:
    recording = record(tmp_path, emitter("--count", 60, "--rate", 40), params={"steps": 4})
    assert is_live(recording.folder)
    outcome = recording.wait(10)
    assert (outcome.reason, outcome.exit_code, outcome.target_code) == ("target_exit", 0, 0)
    assert not outcome.lost
    records = read(recording.folder)
    first, second, last = records[0], records[1], records[-1]
    assert isinstance(first, SessionStart)
    assert abs(first.wall_ns - time.time_ns()) < 60e9
    assert (first.name, first.params, first.settings["detect"]["ratio"]) == (
        "test",
        {"steps": 4},
        2.0,
    )
    assert set(first.environment) >= {"os", "kernel", "driver", "cuda", "cpu", "ram_mib"}
    assert isinstance(second, TargetStart)
    assert second.pid == recording.target_pid
    assert last == SessionEnd(t_ns=last.t_ns, reason="target_exit")
    assert of(TargetExit, records)[0].code == 0
    assert emits(records) == list(range(60))
    assert {e.proc for e in of(FrameEmit, records)} == {second.proc}
    assert losses(records) == (0, 0)
    assert of(OutputAt, records)[-1].offset == (recording.folder / "stdout.log").stat().st_size
    assert of(HostCpu, records)[-1].processes >= 1
    assert of(HostMemory, records)[-1].tree_rss_bytes
    assert len(of(Observer, records)) >= 2
    assert not is_live(recording.folder)
    assert list(runtime.iterdir()) == []  # the target is gone, and so is its FIFO
    assert stat.S_IMODE((recording.folder / "session.log").stat().st_mode) == 0o600
    assert not (recording.folder / "launch.json").exists()


def test_every_source_says_up_to_when_it_has_been_written(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 110, "--rate", 50))
    recording.wait(10)
    records = read(recording.folder)
    states = of(SourceState, records)
    assert {"probe", "host", "nvml"} <= {state.source for state in states}
    for source in ("probe", "host"):
        covered = [s.covered_ns for s in states if s.source == source and s.covered_ns]
        assert len(covered) >= 3
        assert covered == sorted(covered)
    for at, record_ in enumerate(records):
        if isinstance(record_, SourceState) and record_.source == "probe":
            assert record_.covered_ns is not None
            later = of(FrameEmit, records[at:])
            assert all(event.t_ns > record_.covered_ns for event in later)


def test_a_grandchild_is_recorded_and_counted(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 100, "--rate", 50, "--child"))
    recording.wait(10)
    records = read(recording.folder)
    assert emits(records) == list(range(100))
    assert {e.proc for e in of(FrameEmit, records)} != {of(TargetStart, records)[0].proc}
    assert max(cpu.processes for cpu in of(HostCpu, records)) >= 3
    assert (recording.folder / "stdout.log").read_text() == "started\nsent 100\n"


def test_a_target_that_dies_at_once(tmp_path: Path) -> None:
    recording = record(tmp_path, python("import sys; sys.exit(7)"))
    outcome = recording.wait(10)
    assert (outcome.target_code, outcome.exit_code) == (7, 0)
    records = read(recording.folder)
    assert of(TargetExit, records)[0].code == 7
    assert isinstance(records[-1], SessionEnd)


def test_a_target_killed_while_it_emits_loses_nothing(tmp_path: Path, clean_up: list[int]) -> None:
    counter = tmp_path / "sent"
    recording = record(
        tmp_path, emitter("--count", 10**7, "--sent", counter, "--then", "hang"), env={}
    )
    clean_up.append(recording.target_pid)
    until(lambda: counter.exists() and int(counter.read_text() or 0) > 3000)
    os.kill(recording.target_pid, signal.SIGKILL)
    outcome = recording.wait(10)
    assert outcome.target_signal == signal.SIGKILL
    records = read(recording.folder)
    returned = int(counter.read_text())
    dropped, malformed = losses(records)
    assert malformed == 0
    # Every call that had returned: at full speed some find the FIFO full, which is counted.
    assert len(emits(records)) + dropped in (returned, returned + 1)


def test_garbage_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 50, "--rate", 200, "--garbage", 10))
    recording.wait(10)
    records = read(recording.folder)
    assert emits(records) == list(range(50))
    dropped, malformed = losses(records)
    assert dropped == 0
    assert 5 <= malformed <= 10


def test_a_command_that_does_not_exist_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LaunchError, match="'no-such-command' was not found on PATH") as caught:
        record(tmp_path, ["no-such-command"])
    assert caught.value.code == 2
    assert not (tmp_path / "session").exists()


def test_a_program_that_cannot_be_executed_is_reported_by_the_recorder(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF no program")
    program.chmod(0o755)
    with pytest.raises(LaunchError, match="Exec format error") as caught:
        record(tmp_path, ["./program"])
    assert caught.value.code == 2
    assert caught.value.folder is not None
    records = read(caught.value.folder)
    assert records[-1].reason.startswith("error: ")  # type: ignore[union-attr]


def test_sigterm_ends_the_recording_and_leaves_the_target(
    tmp_path: Path, runtime: Path, clean_up: list[int]
) -> None:
    recording = record(tmp_path, emitter("--count", 100000, "--rate", 100))
    clean_up.append(recording.target_pid)
    until(lambda: len(emits(read(recording.folder))) > 5)
    recording.stop()
    outcome = recording.wait(5)
    assert (outcome.reason, outcome.target_ended) == ("stopped", False)
    assert is_running(recording.target_pid)
    records = read(recording.folder)
    assert of(TargetExit, records) == []
    assert isinstance(records[-1], SessionEnd)
    assert len(list(runtime.glob("*.fifo"))) == 1  # for the target, and for who attaches


def test_sigusr1_stops_the_target_first(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 100000, "--rate", 100, "--child"))
    until(lambda: len(emits(read(recording.folder))) > 5)
    recording.stop_target()
    outcome = recording.wait(5)
    assert (outcome.reason, outcome.target_ended) == ("stopped", True)
    assert outcome.target_was_stopped
    assert not is_running(recording.target_pid)
    records = read(recording.folder)
    assert len(of(TargetExit, records)) == 1
    assert losses(records) == (0, 0)


def test_sighup_does_nothing(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 60, "--rate", 60))
    recording.recorder.send_signal(signal.SIGHUP)
    assert recording.wait(10).reason == "target_exit"


def test_the_target_does_not_inherit_what_the_recorder_ignores(tmp_path: Path) -> None:
    code = "import signal, sys; sys.exit(signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL)"
    assert record(tmp_path, python(code)).wait(10).target_code == 0


def test_seconds_end_recording_and_target(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 100000, "--rate", 100), seconds=1.0)
    began = time.monotonic()
    outcome = recording.wait(6)
    assert 0.7 < time.monotonic() - began < 4
    assert (outcome.reason, outcome.target_signal) == ("seconds", signal.SIGTERM)
    assert not is_running(recording.target_pid)


def test_the_recorder_killed_leaves_the_target_and_everything_until_then(
    tmp_path: Path, clean_up: list[int]
) -> None:
    recording = record(tmp_path, emitter("--count", 100000, "--rate", 100))
    clean_up.append(recording.target_pid)
    until(lambda: len(emits(read(recording.folder))) > 10)
    recording.recorder.kill()
    outcome = recording.wait(5)
    assert outcome.lost
    assert "recorder" in outcome.message
    assert is_running(recording.target_pid)
    assert not is_live(recording.folder)
    records = read(recording.folder)
    seen = emits(records)
    assert seen == list(range(len(seen)))
    assert of(SessionEnd, records) == []
    time.sleep(0.3)
    assert is_running(recording.target_pid)  # it writes into a pipe that nobody reads


def test_output_and_environment_of_the_target(tmp_path: Path) -> None:
    code = (
        "import json, os, sys; print(json.dumps([os.environ[k] for k in "
        "('PYTHONUNBUFFERED', 'MGTOP_SESSION', 'MGTOP_FIFO', 'MINE')])); "
        "print(sys.stdin.read() == '', os.getcwd(), file=sys.stderr)"
    )
    recording = record(tmp_path, python(code), env={"MINE": "1"})
    recording.wait(10)
    first, second = (recording.folder / "stdout.log").read_text().splitlines()
    unbuffered, session, fifo, mine = json.loads(first)
    assert (unbuffered, session, mine) == ("1", str(recording.folder), "1")
    assert fifo.startswith(str(tmp_path / "runtime"))
    assert second == f"True {tmp_path}"


def test_a_full_disk_ends_the_recording_and_not_the_target(
    tmp_path: Path, clean_up: list[int]
) -> None:
    recording = record(tmp_path, emitter("--count", 100000, "--rate", 500))
    clean_up.append(recording.target_pid)
    until(lambda: len(emits(read(recording.folder))) > 10)
    size = (recording.folder / "session.log").stat().st_size
    # No byte beyond this, as if the disk were full (a write gives EFBIG instead of ENOSPC).
    resource.prlimit(recording.recorder.pid, resource.RLIMIT_FSIZE, (size + 3000, size + 3000))
    outcome = recording.wait(6)
    assert outcome.exit_code == 4
    assert "cannot write" in outcome.message
    assert recording.recorder.returncode == 4
    assert is_running(recording.target_pid)
    records = read(recording.folder)
    seen = emits(records)
    assert seen == list(range(len(seen)))  # no half chunk, no hole
    assert "cannot write" in (recording.folder / "recorder.log").read_text()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small file system")
def test_a_really_full_disk(tmp_path: Path, clean_up: list[int]) -> None:
    disk = tmp_path / "session"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        recording = record(tmp_path, emitter("--count", 100000, "--rate", 2000))
        clean_up.append(recording.target_pid)
        outcome = recording.wait(30)
        assert outcome.exit_code == 4
        assert "no space left" in outcome.message.lower()
        assert outcome_of(recording.folder) == outcome  # the status was written all the same
        assert is_running(recording.target_pid)
        seen = emits(read(recording.folder))
        assert seen == list(range(len(seen)))
        os.killpg(recording.target_pid, signal.SIGKILL)
    finally:
        until(lambda: subprocess.run(["umount", str(disk)], check=False).returncode == 0)


def test_an_output_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "session").write_text("a file stands in the way")
    with pytest.raises(LaunchError, match="cannot be written") as caught:
        record(tmp_path, python("pass"))
    assert caught.value.code == 4


def test_a_runtime_folder_of_somebody_else_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("MGTOP_RUNTIME", str(shared))
    with pytest.raises(LaunchError, match="MGTOP_RUNTIME"):
        record(tmp_path, python("pass"))
