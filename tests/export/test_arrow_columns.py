"""Tables from a log's columns say what tables from its records say, whatever the log holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgtop
from mgtop.export import arrow_columns, parquet
from mgtop.session import chunk_columns
from mgtop.session.chunks import HEADER, MAGIC, zlib
from mgtop.session.columns import COLUMN_FORM, is_squeezed, squeeze
from mgtop.session.compact import compact
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

TABLES = ("frames", "spans", "samples", "marks")
PROC = r.proc_of(4242, 1)
NUMBERS = st.integers(-3, 3) | st.sampled_from([1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 62)])
START = r.SessionStart(t_ns=0, wall_ns=1, schema=1, mgtop="0", name="x")


def exported(session: Path, out: Path) -> dict[str, Any]:
    out.mkdir(exist_ok=True)
    parquet.write(session, out, judge=False)
    return {name: pq.read_table(out / f"{name}.parquet").to_pylist() for name in TABLES}


@pytest.mark.parametrize("name", ["h200-alloc-retry/session", "h200-memory/two"])
def test_of_a_compacted_session(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    session = unpack(tmp_path / "s", name)
    compact(session)
    tables = mgtop.open(session).arrow()
    whole: list[int] = []
    plain = parquet.arrow.spans_batch
    monkeypatch.setattr(
        parquet.arrow, "spans_batch", lambda *given: whole.append(1) or plain(*given)
    )
    found = exported(session, tmp_path / "out")
    assert len(whole) <= 1  # the rest came from columns
    for table in ("spans", "samples", "marks"):
        assert found[table] == getattr(tables, table).to_pylist(), table


spans = st.builds(
    r.Span, t_ns=NUMBERS, seq=NUMBERS, proc=st.just(PROC) | NUMBERS, tid=st.integers(0, 9),
    request=st.integers(0, 2), index=NUMBERS, name=st.integers(-1, 20), duration_ns=NUMBERS,
    cpu_ns=st.none() | NUMBERS, run_delay_ns=st.none() | NUMBERS,
)  # fmt: skip
read = (
    st.builds(r.GpuMemory, t_ns=NUMBERS, gpu=st.integers(0, 3), used_bytes=NUMBERS)
    | st.builds(
        r.GpuUtilisation, t_ns=NUMBERS, gpu=st.integers(0, 3), percent=st.floats(0, 100),
        memory_percent=st.none() | st.floats(0, 100), period_ns=NUMBERS, source=st.just("poll"),
    )
    | st.builds(
        r.TorchMemory, t_ns=NUMBERS, seq=NUMBERS, proc=st.just(PROC), tid=NUMBERS,
        request=st.integers(0, 2), emit=NUMBERS, device=st.integers(-2, 2),
        allocated_bytes=NUMBERS, reserved_bytes=NUMBERS, peak_bytes=NUMBERS, retries=NUMBERS,
        ooms=NUMBERS, driver_allocs=NUMBERS, driver_frees=NUMBERS,
    )
)  # fmt: skip
others = (
    st.builds(r.Name, t_ns=NUMBERS, seq=NUMBERS, proc=st.just(PROC), tid=NUMBERS,
              id=st.integers(16, 20), text=st.text(max_size=3))
    | st.builds(r.RequestReceived, t_ns=NUMBERS, seq=NUMBERS, proc=st.just(PROC), tid=NUMBERS,
                request=st.integers(1, 2), id=st.sampled_from(["a", "b"]))
    | st.builds(r.Queue, t_ns=NUMBERS, seq=NUMBERS, proc=st.just(PROC), tid=NUMBERS,
                name=st.integers(0, 3), depth=st.integers(0, 9), capacity=NUMBERS)
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.lists(spans | read | others, min_size=1, max_size=12))
def test_of_any_records(tmp_path_factory: pytest.TempPathFactory, made: list[r.Record]) -> None:
    """The same chunk in both ways, the second one by columns."""
    tmp_path = tmp_path_factory.mktemp("any")
    writer = LogWriter(tmp_path)
    writer.append([START])
    writer.append(made * 8)
    writer.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_columns, "WORTH_RECORDS", 1 << 30)
        by_records = exported(tmp_path, tmp_path / "a")
        patch.setattr(chunk_columns, "WORTH_RECORDS", 2)
        assert exported(tmp_path, tmp_path / "b") == by_records


NO_RECORD = st.lists(
    st.sampled_from([1, -1, 1.5, None, "x", b"y", [], {}, True, 1 << 62]), max_size=10
)


@settings(max_examples=40, deadline=None)
@given(st.lists(NO_RECORD, min_size=8, max_size=12), st.data())
def test_of_what_is_no_record(
    tmp_path_factory: pytest.TempPathFactory, fields: list[list[Any]], data: st.DataObject
) -> None:
    """Neither way fails. Columns that no table needs are not looked at, so one says more."""
    tmp_path = tmp_path_factory.mktemp("no")
    tags = st.sampled_from(sorted(arrow_columns.READINGS | arrow_columns.SPANS_ALONE | {6, 99}))
    rows = [[data.draw(tags), data.draw(st.integers(0, 9)), *own] for own in fields]
    payload = squeeze(msgspec.msgpack.encode(rows * 20))
    assert is_squeezed(payload) or payload[:1] != COLUMN_FORM
    writer = LogWriter(tmp_path)
    writer.append([START])
    writer.close()
    with open(tmp_path / LOG_NAME, "ab") as log:
        log.write(HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_columns, "WORTH_RECORDS", 1 << 30)
        by_records = exported(tmp_path, tmp_path / "a")
        patch.setattr(chunk_columns, "WORTH_RECORDS", 2)
        by_columns = exported(tmp_path, tmp_path / "b")
    assert all(len(by_columns[name]) >= len(by_records[name]) for name in TABLES)


def test_of_a_large_log_a_process_of_its_own_writes_the_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = unpack(tmp_path / "s", "h200-memory/two")
    together = exported(session, tmp_path / "a")
    monkeypatch.setattr(parquet, "WORTH_A_PROCESS_BYTES", 0)
    started: list[int] = []
    pool = parquet.ProcessPoolExecutor
    monkeypatch.setattr(
        parquet, "ProcessPoolExecutor", lambda *given: started.append(1) or pool(*given)
    )
    assert exported(session, tmp_path / "c") == together
    assert started == [1]
