"""A moment of a long log is found without reading what is before it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_records import emit, read, write

from benchmarks.synthetic import POLL_NS, Options, S, Session
from mgtop.session.compact import compact
from mgtop.session.reader import LogReader, read_all
from mgtop.session.seek import LATE_NS
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import AnyRecord

START = 10 * S
LENGTH = 240 * S


@pytest.fixture(scope="module", params=["live", "compacted"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("session")
    source = Session(Options(), START, 1_796_000_000 * S)
    writer = LogWriter(folder)
    for t_ns in range(START, START + LENGTH, 5 * POLL_NS):
        writer.append(source.until(t_ns))
    writer.close()
    if request.param == "compacted":
        compact(folder)
    return folder


def sought(folder: Path, t_ns: int) -> list[AnyRecord]:
    """What is read from a time on."""
    reader = LogReader(folder)
    reader.seek(t_ns)
    records = reader.poll()
    while not reader.at_end:
        records += reader.poll()
    assert reader.malformed_chunks == 0
    return records


@pytest.mark.parametrize("share", [-0.1, 0.0, 0.01, 0.5, 0.77, 0.999, 1.5])
def test_nothing_from_then_on_is_left_out_and_little_before_is_read(
    session: Path, share: float
) -> None:
    t_ns = START + round(share * LENGTH)
    everything = list(read_all(session))
    records = sought(session, t_ns)
    assert records == everything[len(everything) - len(records) :]
    assert [r for r in records if r.t_ns >= t_ns] == [r for r in everything if r.t_ns >= t_ns]
    assert records or share > 1
    if records:  # at most: what may be late, and a chunk of a compacted log
        assert min(r.t_ns for r in records) > min(t_ns, START + LENGTH) - 2 * LATE_NS - 8 * S


def test_a_moment_costs_milliseconds(session: Path) -> None:
    reader = LogReader(session)
    costs = []
    for n in range(30):
        began = time.process_time()
        reader.seek(START + n * LENGTH // 30)
        costs.append(time.process_time() - began)
    assert sorted(costs)[15] < 0.1


@given(gaps=st.lists(st.integers(0, 9 * S), min_size=1, max_size=60), data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_spacing_with_records_that_come_late(
    tmp_path_factory: pytest.TempPathFactory, gaps: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")
    arrival, appends = START, []
    for n, gap in enumerate(gaps):
        arrival += gap
        appends.append([emit(n, arrival - data.draw(st.integers(0, LATE_NS)))])
    write(folder, *appends)
    t_ns = data.draw(st.integers(START - S, arrival + S))
    records = sought(folder, t_ns)
    wanted = [record for (record,) in appends if record.t_ns >= t_ns]
    assert [record for record in records if record.t_ns >= t_ns] == wanted


@given(at=st.floats(0, 1, exclude_max=True), length=st.integers(1, 3_000), t=st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_damage_costs_what_it_hits_and_no_more(
    tmp_path_factory: pytest.TempPathFactory, at: float, length: int, t: float
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    write(folder, *[[emit(n)] for n in range(400)])
    log = folder / LOG_NAME
    whole = log.read_bytes()
    place = int(at * len(whole))
    bad = bytes(byte ^ 0x5A for byte in whole[place : place + length])
    log.write_bytes(whole[:place] + bad + whole[place + length :])
    t_ns = round(t * 400 / 16 * S)
    left, _ = read(folder)
    reader = LogReader(folder)
    reader.seek(t_ns)
    records = reader.poll()
    while not reader.at_end:
        records += reader.poll()
    assert [r for r in records if r.t_ns >= t_ns] == [r for r in left if r.t_ns >= t_ns]


def test_no_log_no_place(tmp_path: Path) -> None:
    reader = LogReader(tmp_path)
    reader.seek(5)
    assert reader.offset == 0
    (tmp_path / LOG_NAME).write_bytes(b"")
    reader.seek(5)
    assert reader.poll() == []
    (tmp_path / LOG_NAME).write_bytes(os.urandom(70_000))
    reader.seek(5)
    assert reader.poll() == []
