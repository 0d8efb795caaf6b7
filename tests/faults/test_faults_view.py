"""A view goes, or stands still: the recorder and the program do not notice."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mgtop.analysis.summary import Summary
from mgtop.record.launch import Recording
from mgtop.session.reader import read_all
from mgtop.view.snapshot import save
from mgtop.wire.records import FrameEmit
from tests.e2e.test_run_in_a_terminal import Terminal
from tests.export.recorded import unpack
from tests.faults.full_disk import files_of_at_most
from tests.faults.programs_at_fault import Program
from tests.record.recording import losses, of, read, record, until

pytestmark = pytest.mark.e2e

PAINTED = b"interval"


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


class Watched:
    """A recording of a program that goes on until it is let go."""

    def __init__(self, folder: Path, started: list[Recording]) -> None:
        self.program = Program(folder, 20, 100, "wait", shell=False)
        self.recording = record(folder, self.program.command)
        started.append(self.recording)

    @property
    def folder(self) -> str:
        return str(self.recording.folder)

    def goes_on(self) -> None:
        """Twenty more frames are recorded."""
        seen = self.frames()
        until(lambda: self.frames() >= seen + 20, 20)

    def frames(self) -> int:
        return len(of(FrameEmit, read(self.recording.folder)))

    def ends_as_without_mgtop(self) -> None:
        self.program.let_go()
        outcome = self.recording.wait(20)
        assert (outcome.exit_code, outcome.target_code) == (0, 7)
        output = (self.recording.folder / "stdout.log").read_text()
        assert output == self.program.alone() == "emitted all\n"
        records = read(self.recording.folder)
        assert len(of(FrameEmit, records)) == self.program.returned()
        assert losses(records) == (0, 0)


@pytest.fixture
def watched(tmp_path: Path, started: list[Recording]) -> Watched:
    return Watched(tmp_path, started)


def hang_up_signal(terminal: Terminal) -> None:
    os.kill(terminal.pid, signal.SIGHUP)
    assert terminal.exit_code(20) == 0
    assert b"\x1b[?1049l" in terminal.seen  # left as it was found


def kill(terminal: Terminal) -> None:
    os.kill(terminal.pid, signal.SIGKILL)
    assert terminal.exit_code(20) == -signal.SIGKILL


@pytest.mark.parametrize("end", [hang_up_signal, kill])
def test_a_view_that_goes_takes_nothing_with_it(
    tmp_path: Path, watched: Watched, terminals: list[Terminal], end: Callable[[Terminal], None]
) -> None:
    """Two are open at once; one goes, the other stays."""
    terminals += [Terminal(tmp_path, "view", watched.folder) for _ in range(2)]
    for terminal in terminals:
        terminal.wait_for(PAINTED, 30)
    end(terminals[0])
    watched.goes_on()
    watched.ends_as_without_mgtop()
    terminals[1].wait_for(b"exited with 7", 20)


@pytest.mark.parametrize("how", ["stopped by a signal", "terminal not read"])
def test_a_view_that_stands_still_holds_up_nobody(
    tmp_path: Path, watched: Watched, terminals: list[Terminal], how: str
) -> None:
    terminal = Terminal(tmp_path, "view", watched.folder)
    terminals.append(terminal)
    terminal.wait_for(PAINTED, 30)
    if how == "stopped by a signal":
        os.kill(terminal.pid, signal.SIGSTOP)
    watched.goes_on()  # and nobody takes what the view draws
    watched.ends_as_without_mgtop()
    if how == "stopped by a signal":
        os.kill(terminal.pid, signal.SIGCONT)
    terminal.wait_for(b"exited with 7", 30)


def test_a_snapshot_on_a_full_disk_leaves_nothing_half(tmp_path: Path) -> None:
    session = unpack(tmp_path / "stormlight")
    records, summary = list(read_all(session)), Summary()
    with files_of_at_most(4096), pytest.raises(OSError, match="File too large"):
        save(session, "<svg/>", summary, records)
    assert os.listdir(session / "snapshots") == []
    whole = save(session, "<svg/>", summary, records[:10])
    assert {(file.name, stat.S_IMODE(file.stat().st_mode)) for file in whole.iterdir()} == {
        (name, 0o600) for name in ("screen.svg", "summary.json", "records.jsonl")
    }
