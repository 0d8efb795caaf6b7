"""A log of several files reads like one; what becomes of one file costs that one alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from log_records import emit, read, start

from mgtop.session import rolling as module
from mgtop.session.compact import alone, compact, compact_finished
from mgtop.session.folder import describe
from mgtop.session.log_files import finished, log_bytes, log_files, numbered
from mgtop.session.reader import LogReader, read_all
from mgtop.session.rolling import NEW_NAME, RollingLog
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import (
    AnyRecord,
    LogGap,
    Name,
    Record,
    RequestReceived,
    SessionEnd,
    SessionStart,
    StreamEnd,
)

S = 1_000_000_000
TOLD = (SessionStart, Name, RequestReceived)


def name(number: int, t_ns: int) -> Name:
    return Name(t_ns=t_ns, seq=0, proc=77, tid=1, id=number, text=f"stage {number}")


def request(number: int, t_ns: int) -> RequestReceived:
    return RequestReceived(t_ns=t_ns, seq=0, proc=77, tid=1, request=number, id=f"r{number}")


def session(emits: int = 160) -> list[list[Record]]:
    """Appends of ten seconds at 16 frames/s: two requests, of which one ends."""
    appends: list[list[Record]] = [[start(), name(16, 6), request(1, 7), request(2, 8)]]
    for n in range(1, emits):
        appends.append([emit(n)])
        if n == emits // 2:
            appends.append([StreamEnd(t_ns=emit(n).t_ns, seq=0, proc=77, tid=1, request=2)])
    appends.append([SessionEnd(t_ns=emits * 62_500_000, reason="stopped")])
    return appends


def roll(folder: Path, appends: list[list[Record]], after_ns: int = S) -> list[AnyRecord]:
    """Write a log of several files; give its records."""
    log = RollingLog(folder, after_ns=after_ns, least_bytes=1)
    for records in appends:
        log.append(records)
    log.close()
    return [record for records in appends for record in records]  # type: ignore[misc]


@pytest.fixture
def long(tmp_path: Path) -> tuple[Path, list[AnyRecord]]:
    records = roll(tmp_path, session())
    assert finished(tmp_path) == list(range(1, 10))
    return tmp_path, records


def test_it_reads_like_one(long: tuple[Path, list[AnyRecord]]) -> None:
    folder, records = long
    for most_bytes in (20, 300, 4 << 20):
        found, reader = read(folder, most_bytes)
        assert found == records
        assert (reader.malformed_chunks, reader.unknown_records, reader.pending_bytes) == (0, 0, 0)
        assert reader.share_read == 1.0
    assert describe(folder).state == "ended"
    assert describe(folder).duration_ns == 10 * S - 5


def test_a_short_one_is_one_file(tmp_path: Path) -> None:
    log = RollingLog(tmp_path)
    for records in session():
        log.append(records)
    log.close()
    assert [path.name for path in tmp_path.iterdir()] == [LOG_NAME]


def test_it_rolls_over_by_size_alone(tmp_path: Path) -> None:
    log = RollingLog(tmp_path, most_bytes=2_000)
    for records in session():
        log.append(records)
    log.close()
    sizes = [path.stat().st_size for path in log_files(tmp_path)]
    assert len(sizes) > 3
    assert all(2_000 <= size < 2_300 for size in sizes[:-1])


def test_compacted_it_holds_the_same(long: tuple[Path, list[AnyRecord]]) -> None:
    folder, records = long
    before = log_bytes(folder)
    with alone(folder):
        assert compact_finished(folder) == 9
        assert compact_finished(folder) == 0
    assert list(read_all(folder)) == records
    assert log_bytes(folder) < before
    compact(folder)
    assert list(read_all(folder)) == records


def test_who_reads_along_misses_nothing(tmp_path: Path) -> None:
    """Readers of all paces, while it rolls over and is compacted."""
    appends = session()
    log = RollingLog(tmp_path, after_ns=S, least_bytes=1)
    log.append(appends[0])
    readers = {every: LogReader(tmp_path, most_bytes=200) for every in (1, 7, 40)}
    found: dict[int, list[AnyRecord]] = {every: [] for every in readers}
    for at, records in enumerate(appends[1:]):
        log.append(records)
        for every, reader in readers.items():
            if at % every == 0:
                found[every] += reader.poll()
        if at % 20 == 0:
            with alone(tmp_path):
                compact_finished(tmp_path)
    log.close()
    for every, reader in readers.items():
        while not reader.at_end:
            found[every] += reader.poll()
        found[every] += reader.poll()
        while not reader.at_end:
            found[every] += reader.poll()
        assert found[every] == list(read_all(tmp_path))
        assert not reader.replaced


@pytest.mark.parametrize("compacted", [False, True])
def test_any_time_is_found(long: tuple[Path, list[AnyRecord]], compacted: bool) -> None:
    folder, records = long
    if compacted:
        compact(folder)
    for t_ns in range(-S, 12 * S, S // 3):
        reader = LogReader(folder)
        reader.seek(t_ns)
        found = reader.poll()
        while not reader.at_end:
            found += reader.poll()
        wanted = [record for record in records if record.t_ns >= t_ns]
        assert found[len(found) - len(wanted) :] == wanted
        assert len(found) == len(records) or found == records[len(records) - len(found) :]


def test_from_the_end_goes_back_over_files(long: tuple[Path, list[AnyRecord]]) -> None:
    folder, records = long
    for count in range(0, log_bytes(folder) + 200, 331):
        reader = LogReader(folder, from_end=count)
        found = []
        while not reader.at_end:
            found += reader.poll()
        assert found == records[len(records) - len(found) :]
    assert found == records


def test_a_later_file_alone_tells_what_it_needs(long: tuple[Path, list[AnyRecord]]) -> None:
    folder, records = long
    for number in finished(folder):
        numbered(folder, number).unlink()
    found = list(read_all(folder))
    gap = next(record for record in found if isinstance(record, LogGap))
    assert (gap.reason, gap.first, gap.last) == ("missing", 1, 9)
    assert gap.t_ns == 5
    kept = [record for record in found if isinstance(record, TOLD)]
    # the session, its names, and the one request that is still open
    assert kept == [records[0], records[1], records[2]]
    assert found[-1] == records[-1]


def test_a_file_that_the_disk_does_not_give(
    long: tuple[Path, list[AnyRecord]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, records = long
    real, broken = os.pread, numbered(folder, 4).stat().st_ino

    def fails(fd: int, count: int, offset: int) -> bytes:
        if os.fstat(fd).st_ino == broken:
            raise OSError(5, os.strerror(5))
        return real(fd, count, offset)

    monkeypatch.setattr(os, "pread", fails)
    found, reader = read(folder)
    (gap,) = [record for record in found if isinstance(record, LogGap)]
    assert (gap.reason, gap.first, gap.last) == ("damaged", 4, 4)
    lost = [record for record in records if record not in found]
    assert all(gap.t_ns <= record.t_ns <= gap.until_ns for record in lost)
    assert 10 < len(lost) < 20
    assert reader.malformed_chunks == 1


def test_what_is_no_file_is_none_of_the_log(long: tuple[Path, list[AnyRecord]]) -> None:
    folder, records = long
    numbered(folder, 10).mkdir()
    os.mkfifo(numbered(folder, 11))
    numbered(folder, 12).symlink_to(numbered(folder, 1))
    assert list(read_all(folder)) == records


DAMAGE = st.sampled_from(["gone", "cut", "spoilt", "emptied", "compacted"])
STEPS = st.lists(st.tuples(st.integers(1, 10), DAMAGE, st.floats(0, 1)), max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(steps=STEPS)
def test_damage_costs_the_file_that_it_hits(
    steps: list[tuple[int, str, float]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("session")
    records = roll(folder, session(64), after_ns=S // 2)
    files = {number: numbered(folder, number) for number in finished(folder)}
    whole = {number: list(_own(path)) for number, path in files.items()}
    hit: set[int] = set()
    for number, what, where in steps:
        path = files.get(number)
        if path is None or not path.exists():
            continue
        if what == "compacted":
            with alone(folder):
                compact_finished(folder)
            continue
        hit.add(number)
        size = path.stat().st_size
        if what == "gone":
            path.unlink()
        elif what == "emptied":
            os.truncate(path, 0)
        elif what == "cut":
            os.truncate(path, int(size * where))
        elif size:
            with open(path, "r+b") as file:
                file.seek(min(size - 1, int(size * where)))
                file.write(b"\xff\x00\xc1LOG"[: 1 + int(where * 5)])
    found, reader = read(folder)
    kept = [record for number in files if number not in hit for record in whole[number]]
    kept += _own(folder / LOG_NAME)
    there = {id(record): record for record in found}.values()
    for record in kept:
        assert record in there
    for record in found:
        assert isinstance(record, LogGap) or record in records
    assert len([r for r in found if not isinstance(r, (*TOLD, LogGap))]) == len(
        {r for r in map(str, found) if not r.startswith(("LogGap", "SessionStart", "Name", "Req"))}
    ), "nothing twice"
    lost = [record for record in records if record not in found]
    gaps = [record for record in found if isinstance(record, LogGap)]
    if lost:
        assert gaps or reader.malformed_chunks
    for number in hit:
        if not files[number].exists():
            times = [record.t_ns for record in whole[number]]
            assert any(gap.t_ns <= min(times) and max(times) <= gap.until_ns for gap in gaps)


def _own(path: Path) -> list[AnyRecord]:
    """What was recorded while a file was written."""
    reader = LogReader(path.parent, only=path)
    records: list[AnyRecord] = []
    while not reader.at_end:
        for payload in reader.poll_payloads():
            decoded = reader.decode(payload)
            if not type(decoded[0]).__name__.startswith("LogSegment"):
                records += decoded
    return records


@pytest.mark.parametrize("call", ["open", "write", "link", "replace"])
def test_where_no_other_file_can_be_begun_this_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    appends = session()
    log = RollingLog(tmp_path, after_ns=S, least_bytes=1)
    real = getattr(os, call)
    calls = []

    def fails(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if call == "write" and arguments[0] == log._fd:
            return real(*arguments, **named)
        raise OSError(28, os.strerror(28))

    for at, records in enumerate(appends):
        if at == 5:
            monkeypatch.setattr(module.os, call, fails)
        log.append(records)
        if at == 60:
            monkeypatch.undo()
            log._not_before_ns = None
    log.close()
    assert calls
    assert "No space" in log.problem
    assert finished(tmp_path)[0] == 1
    assert len(finished(tmp_path)) == 7  # later on it could
    assert not (tmp_path / NEW_NAME).exists()
    assert list(read_all(tmp_path)) == [record for records in appends for record in records]


@pytest.mark.parametrize("copied", [False, True])
def test_killed_between_link_and_rename(tmp_path: Path, copied: bool) -> None:
    log = RollingLog(tmp_path, after_ns=S, least_bytes=1)
    for records in session()[:40]:
        log.append(records)
    log.close()
    number = len(finished(tmp_path)) + 1
    if copied:  # by something that knows no links
        shutil.copy(tmp_path / LOG_NAME, numbered(tmp_path, number))
    else:
        os.link(tmp_path / LOG_NAME, numbered(tmp_path, number))
        assert len(log_files(tmp_path)) == number
    found, reader = read(tmp_path)
    assert found == [record for records in session()[:40] for record in records]
    assert reader.at_end
