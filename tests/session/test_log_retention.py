"""What is dropped is what somebody said, it is told by every reader, and the rest stays."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from log_records import read, start
from test_log_segments import roll, session

from mgtop.analysis.log_gaps import told
from mgtop.config.structs import Retention
from mgtop.report.load import summarise
from mgtop.session import retention as module
from mgtop.session.__main__ import main
from mgtop.session.compact import SCRATCH
from mgtop.session.folder import describe
from mgtop.session.lock import SessionLock
from mgtop.session.log_files import finished, log_bytes, numbered
from mgtop.session.reader import LogReader, read_all
from mgtop.session.retention import drop_oldest, drop_sessions, keep_to
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import LogGap, SessionStart

KIB = 1 / 1024


@pytest.fixture
def long(tmp_path: Path) -> Path:
    folder = tmp_path / "long"
    folder.mkdir()
    roll(folder, session())
    return folder


def size_kib(folder: Path) -> float:
    return log_bytes(folder) / 1024


def test_nothing_is_dropped_without_being_told(long: Path) -> None:
    before = {path: path.read_bytes() for path in long.iterdir()}
    keep_to(long, Retention())
    assert {path: path.read_bytes() for path in long.iterdir()} == before


def test_by_size(long: Path) -> None:
    records = list(read_all(long))
    want = size_kib(long) / 2
    said = drop_oldest(long, want * KIB, None, only_say=True)
    assert list(read_all(long)) == records
    done = drop_oldest(long, want * KIB, None)
    assert done == said
    assert (done.files, round(done.time_ns / 1e9)) == (6, 6)
    assert want - 1 < size_kib(long) <= want + 0.1
    found, reader = read(long)
    gap = found[0]
    assert isinstance(gap, LogGap)
    assert (gap.reason, gap.first, gap.last, gap.t_ns) == ("retention", 1, 6, 5)
    assert gap.bytes == done.bytes
    assert reader.malformed_chunks == 0
    assert isinstance(found[1], SessionStart)
    rest = [record for record in records if record.t_ns > gap.until_ns]
    assert found[len(found) - len(rest) :] == rest
    assert drop_oldest(long, want * KIB, None).files == 0


def test_the_newest_file_stays(long: Path) -> None:
    newest = (long / LOG_NAME).read_bytes()
    drop_oldest(long, 0.001 * KIB, None)
    assert (long / LOG_NAME).read_bytes() == newest
    assert finished(long) == [9]
    assert describe(long).state == "ended"
    assert describe(long).started_wall_ns == start().wall_ns
    found, _ = read(long)
    assert isinstance(found[0], LogGap)


def test_by_age_of_each_file(long: Path) -> None:
    now = time.time_ns()
    for number in finished(long):
        ago = (20 - number) * module.HOUR_NS
        os.utime(numbered(long, number), ns=(now - ago, now - ago))
    main(long, Retention(age_hours=15.5))  # compacted meanwhile, they are no younger
    assert finished(long) == [4, 5, 6, 7, 8, 9]
    for _ in range(2):
        main(long, Retention(age_hours=13.5))
        assert finished(long) == [6, 7, 8, 9]
    gaps = [record for record in read_all(long) if isinstance(record, LogGap)]
    assert [(gap.first, gap.last) for gap in gaps] == [(1, 6)]


def test_the_report_says_it(long: Path) -> None:
    whole = summarise(long)
    assert whole.losses.log_gaps == []
    drop_oldest(long, size_kib(long) / 2 * KIB, None)
    summary = summarise(long)
    (gap,) = summary.losses.log_gaps
    assert told(gap) == "the first 6.1 s were dropped by retention"
    assert summary.session.duration_ms == whole.session.duration_ms
    (one,) = summary.requests
    assert one.received_ms is None
    assert 0 < one.frames < whole.requests[0].frames
    assert summary.interval_ms.count == one.frames - 1
    assert summary.tails.count == 0


def test_a_reader_that_is_in_a_file_reads_it_to_its_end(long: Path) -> None:
    records = list(read_all(long))
    reader = LogReader(long, most_bytes=100)
    found = reader.poll()
    drop_oldest(long, 1 * KIB, None)
    while not reader.at_end:
        found += reader.poll()
    assert found[:10] == records[:10]
    assert sum(isinstance(record, LogGap) for record in found) == 1
    assert found[-1] == records[-1]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_fault_while_dropping_drops_nothing(
    long: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    records = list(read_all(long))

    def fails(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr(module.os, call, fails)
        assert main(long, Retention(size_mib=1 * KIB)) == 1
    assert list(read_all(long)) == records
    assert not list(long.glob(f"{SCRATCH}*"))


def test_killed_while_dropping_the_rest_goes_the_next_time(
    long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", fails)
        with pytest.raises(OSError, match="Input/output"):
            drop_oldest(long, size_kib(long) / 2 * KIB, None)
    assert finished(long)[:6] == [1, 2, 3, 4, 5, 6]  # 6 is the gap by now
    drop_oldest(long, 1000, None)
    assert finished(long)[0] == 6


def test_whole_sessions_go_the_oldest_first_and_live_ones_never(tmp_path: Path) -> None:
    now = time.time_ns()
    folders = []
    for age in (5, 4, 3, 2, 1):
        folder = tmp_path / f"s{age}"
        folder.mkdir()
        writer = LogWriter(folder)
        writer.append([start()])
        writer.close()
        (folder / "stdout.log").write_bytes(b"x" * 1024 * 1024)
        ago = now - age * module.HOUR_NS
        os.utime(folder / LOG_NAME, ns=(ago, ago))
        folders.append(folder)
    (tmp_path / "other").mkdir()
    with SessionLock(folders[0]):
        said = drop_sessions(tmp_path, None, 2.5, only_say=True)
        assert drop_sessions(tmp_path, None, 2.5) == said
        assert [path for path, _ in said] == folders[1:3]
        assert drop_sessions(tmp_path, 2.5, None)[0][0] == folders[3]
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["other", "s1", "s5"]
