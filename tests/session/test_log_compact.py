"""An ended session's log in large chunks: the same records, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from log_records import emit

from benchmarks.synthetic import Options, S, Session
from mgtop.session import compact as module
from mgtop.session.compact import NotCompacted, compact
from mgtop.session.lock import SessionBusy, SessionLock, is_live
from mgtop.session.reader import LogReader, read_all
from mgtop.session.writer import LOG_NAME, LogWriter, SessionWriteError
from mgtop.view.feed import Feed


@pytest.fixture
def ended(tmp_path: Path) -> Path:
    """A minute of a session, written as a recorder does."""
    session = Session(Options(), 10 * S, 1_796_000_000 * S)
    writer = LogWriter(tmp_path)
    for step in range(1, 501):
        writer.append(session.until(10 * S + step * S // 25))
    writer.append(session.end(30 * S))
    writer.close()
    return tmp_path


def test_the_same_records_in_fewer_bytes(ended: Path) -> None:
    before = list(read_all(ended))
    done = compact(ended)
    assert list(read_all(ended)) == before
    assert done.records == len(before)
    assert done.after == (ended / LOG_NAME).stat().st_size < done.before * 0.6
    assert not is_live(ended)
    assert compact(ended).after == done.after
    assert [path.name for path in ended.iterdir() if "log" in path.name] == [LOG_NAME]


def test_a_session_that_is_recorded_is_left(ended: Path) -> None:
    data = (ended / LOG_NAME).read_bytes()
    with SessionLock(ended), pytest.raises(SessionBusy):
        compact(ended)
    assert (ended / LOG_NAME).read_bytes() == data


@pytest.mark.parametrize("what", ["damaged", "cut off"])
def test_nothing_of_a_damaged_log_is_lost(ended: Path, what: str) -> None:
    log = ended / LOG_NAME
    data = log.read_bytes()
    bad = data[:5_000] + b"?" + data[5_001:] if what == "damaged" else data[:-7]
    log.write_bytes(bad)
    with pytest.raises(NotCompacted, match="damaged or cut off"):
        compact(ended)
    assert log.read_bytes() == bad
    assert len(list(ended.iterdir())) == 2  # the log and the lock


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_fault_at_any_moment_leaves_the_old_log(
    ended: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    data = (ended / LOG_NAME).read_bytes()

    def fails(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(module.os, call, fails)
    with pytest.raises(SessionWriteError, match="No space left"):
        compact(ended)
    assert (ended / LOG_NAME).read_bytes() == data
    assert len(list(ended.iterdir())) == 2


def test_who_reads_meanwhile_goes_on(ended: Path) -> None:
    feed = Feed(ended)
    while not feed.caught_up:
        feed.poll()
    piece = feed.between(20 * S, 21 * S)
    reader = LogReader(ended, most_bytes=4_000)
    records = reader.poll()
    compact(ended)
    while not reader.at_end:
        records += reader.poll()  # of the file that it has open
    assert reader.replaced
    assert records == list(read_all(ended))
    feed.poll()
    assert len(piece) > 50
    assert feed.between(20 * S, 21 * S) == piece


def test_one_record_is_as_small_as_it_gets(tmp_path: Path) -> None:
    LogWriter(tmp_path).append([emit(0)])
    done = compact(tmp_path)
    assert done.after == done.before
