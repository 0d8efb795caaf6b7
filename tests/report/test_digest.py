"""What was made of a session is kept, holds while nothing has changed, and says the same."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from mgtop.cli.main import group
from mgtop.report import __main__ as along
from mgtop.report import digest as digests
from mgtop.report.__main__ import read_along
from mgtop.report.follow import Follower
from mgtop.report.load import picture, summarise
from mgtop.session.lock import SessionLock
from mgtop.session.marks import append_mark
from mgtop.session.pack.write import prepare
from mgtop.session.writer import LOG_NAME, LogWriter
from tests.report.test_load import records, write


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small logs are worth a digest too."""
    monkeypatch.setattr(digests, "WORTH_BYTES", 1)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return write(tmp_path / "s", [records()])


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Sessions whose log is read, as that happens."""
    read: list[Path] = []
    rest = Follower.rest

    def noted(self: Follower) -> Iterator[object]:
        read.append(self.folder)
        return rest(self)

    monkeypatch.setattr(Follower, "rest", noted)
    return read


def test_a_second_report_reads_nothing_and_says_the_same(session: Path, reads: list[Path]):
    first = picture(session)
    assert (session / digests.NAME).stat().st_mode & 0o777 == 0o600
    second = picture(session)
    assert second == first
    assert len(second[0].tails.frames) == 1
    assert reads == [session]


def test_a_folder_that_was_moved_is_told_where_it_is(session: Path, reads: list[Path]):
    summarise(session)
    session.rename(session.parent / "moved")
    assert summarise(session.parent / "moved").session.path == str(session.parent / "moved")
    assert len(reads) == 1


@pytest.mark.parametrize("change", ["mark", "log", "time", "mgtop", "code", "cut", "nonsense"])
def test_what_has_changed_is_read_again(
    session: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch, change: str
):
    before = summarise(session)
    digest = session / digests.NAME
    if change == "mark":
        append_mark(session, 2_000_000_000, "here")
    elif change == "log":
        log = session / LOG_NAME
        log.write_bytes(log.read_bytes()[:-1])
    elif change == "time":
        os.utime(session / LOG_NAME, ns=(1, 1))
    elif change == "mgtop":
        monkeypatch.setattr(digests, "VERSION", "0.0.0")
    elif change == "code":
        monkeypatch.setattr(digests, "_code", lambda: [("model.py", 1, 1)])
    elif change == "cut":
        digest.write_bytes(digest.read_bytes()[:-1])
    else:
        digest.write_bytes(b"\x91" * 100_000)
    after = summarise(session)
    assert len(reads) == 2
    if change in ("mark", "log"):
        assert after != before
    else:
        assert after == before
    assert summarise(session) == after
    assert len(reads) == 2


def test_of_a_live_session_nothing_is_kept(session: Path):
    with SessionLock(session):
        assert summarise(session).session.live
    assert not (session / digests.NAME).exists()


def test_a_small_session_needs_none(session: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(digests, "WORTH_BYTES", 1 << 20)
    summarise(session)
    assert [path.name for path in session.iterdir()] == [LOG_NAME]


def test_where_it_cannot_be_written_the_report_is_the_same(
    session: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(*arguments: object, **options: object) -> tuple[int, str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(digests.tempfile, "mkstemp", full)
    assert summarise(session).interval_ms.count == 59
    assert [path.name for path in session.iterdir()] == [LOG_NAME]


def test_reading_along_leaves_it_when_the_recording_has_ended(tmp_path: Path, reads: list[Path]):
    folder = tmp_path / "s"
    folder.mkdir()
    writer = LogWriter(folder)
    lock = SessionLock(folder)
    kept: list[bool] = []
    reader = threading.Thread(target=lambda: kept.append(read_along(folder, period_s=0.02)))
    reader.start()
    told = records()
    for at in range(0, len(told), 8):
        writer.append(told[at : at + 8])
    writer.close()
    while sum(1 for path in reads if path == folder) < 3:
        reader.join(0.01)
    lock.release()
    reader.join(20)
    assert kept == [True]
    assert len(reads) > 2
    del reads[:]
    summary = summarise(folder)
    assert reads == []
    assert [tail.index for tail in summary.tails.frames] == [30]
    assert not summary.session.live


def test_what_could_not_keep_up_leaves_none(session: Path):
    assert not read_along(session)  # it had ended before anything of it was read
    assert not (session / digests.NAME).exists()


def test_after_compaction_it_holds(session: Path, reads: list[Path]):
    before = summarise(session)
    done = CliRunner().invoke(group, ["compact", str(session)])
    assert done.exit_code == 0, done.output
    assert summarise(session) == before
    assert len(reads) == 1


def test_it_is_not_sent(session: Path, tmp_path: Path):
    summarise(session)
    (tmp_path / "packed").mkdir()
    packed = prepare(session, tmp_path / "packed")
    assert digests.NAME not in {path.name for path in packed.folder.rglob("*")}
    assert digests.NAME not in packed.left_out


def test_what_falls_behind_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of a log that grows faster than it is read."""
    session = write(tmp_path / "s", [[record] for record in records()])
    monkeypatch.setattr(along, "PATIENCE_S", 0.0)
    monkeypatch.setattr("mgtop.report.follow.READ_BYTES", 64)
    lengths = iter(range(1_000_000, 100_000_000, 1_000_000))
    monkeypatch.setattr(digests, "size_of", lambda origin: next(lengths))
    with SessionLock(session):
        assert not read_along(session)
    assert not (session / digests.NAME).exists()
