"""The recorder is killed, or stands still: the program goes on as if it had never been there."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from mgtop.probe import transport
from mgtop.record.events import Intake
from mgtop.record.launch import Recording
from mgtop.record.loss import LossAccount
from mgtop.wire.records import AnyRecord, FrameEmit, Hello, TargetExit
from tests.faults.programs_at_fault import Program
from tests.record.recording import losses, of, read, record, until

pytestmark = pytest.mark.e2e


def frames_in(folder: Path) -> list[int]:
    return [frame.index for frame in of(FrameEmit, read(folder))]


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_killed_recorder_costs_one_poll_at_most(
    tmp_path: Path, runtime: Path, started: list[Recording]
) -> None:
    """What stands neither in the log nor in the FIFO is what it had in hand."""
    program = Program(tmp_path, 200, 200)
    recording = record(tmp_path, program.command)
    started.append(recording)
    until(lambda: len(frames_in(recording.folder)) >= 40)
    known = len(frames_in(recording.folder))
    recording.recorder.kill()
    at_kill = program.returned()
    assert recording.wait(20).lost
    output = recording.folder / "stdout.log"
    until(lambda: "exit" in output.read_text(), 30)
    assert output.read_text() == program.alone() == "emitted 200\nexit 7\n"
    assert program.returned() == 200

    logged = frames_in(recording.folder)
    assert logged == list(range(len(logged)))  # whole, up to its end
    assert len(logged) >= known
    (fifo,) = runtime.glob("*.fifo")
    waiting = frames_left_in(fifo)
    if waiting:  # the FIFO holds what came later, to the last frame
        assert waiting == list(range(waiting[0], 200))
        in_hand = set(range(len(logged), waiting[0]))
        assert in_hand <= set(range(known, at_kill + 1))


def frames_left_in(fifo: Path) -> list[int]:
    fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        data = os.read(fd, transport.CAPACITY)
    except BlockingIOError:  # nobody holds it any more: with the last who does, all of it goes
        return []
    finally:
        os.close(fd)
    events = Intake(0, LossAccount(from_start=False)).feed(data, 1 << 62)
    return [event.index for event in events if isinstance(event, FrameEmit)]


@pytest.mark.parametrize("ends_meanwhile", [False, True], ids=["goes on", "ends meanwhile"])
def test_a_stopped_recorder_holds_up_nobody_and_counts_what_it_missed(
    tmp_path: Path, started: list[Recording], ends_meanwhile: bool
) -> None:
    """Twenty thousand frames are more than the FIFO holds."""
    program = Program(tmp_path, 20_000, 0, "" if ends_meanwhile else "wait")
    begin = tmp_path / "begin"
    wait = f'while [ ! -e "{begin}" ]; do sleep 0.01; done; exec "$@"'
    recording = record(tmp_path, ["sh", "-c", wait, "sh", *program.command])
    started.append(recording)
    recorder = recording.recorder.pid
    os.kill(recorder, signal.SIGSTOP)
    until(lambda: state_of(recorder) == "T")
    begin.touch()
    output = recording.folder / "stdout.log"
    until(lambda: program.returned() >= 20_000, 60)
    if ends_meanwhile:
        until(lambda: "exit" in output.read_text(), 30)
    assert state_of(recorder) == "T"  # all calls have returned while nobody read
    os.kill(recorder, signal.SIGCONT)
    if not ends_meanwhile:
        until(lambda: len(frames_in(recording.folder)) > 5_000)
        program.let_go()
    outcome = recording.wait(60)
    assert (outcome.exit_code, outcome.target_code) == (0, 0)
    assert output.read_text() == program.alone()

    records = read(recording.folder)
    assert of(TargetExit, records)
    events = [r for r in records if hasattr(r, "seq")]
    indexes = [frame.index for frame in of(FrameEmit, records)]
    # The backlog was read, but for a page at most that the last account took the place of.
    assert indexes[0] <= 64
    assert indexes[:5_000] == list(range(indexes[0], indexes[0] + 5_000))
    # The program's last account came through, so what is missing is known exactly.
    dropped, malformed = losses(records)
    assert malformed == 0
    assert dropped > 0
    received = len(events) + repeated(records)
    assert dropped == max(event.seq for event in events) + 1 - received


def repeated(records: list[AnyRecord]) -> int:
    """Events that came, but say again what the log has: the open request, with each Hello."""
    return max(0, len(of(Hello, records)) - 1)
