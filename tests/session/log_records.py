"""Records and logs for the tests of the session's log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st

from mgtop.session.reader import LogReader
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import (
    AnyRecord,
    FrameEmit,
    GpuMemory,
    Mark,
    OutputLine,
    Record,
    RequestReceived,
    SessionStart,
)

U64 = st.integers(0, 2**64 - 1)
NUMBER = st.integers(0, 2**31)
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(
        FrameEmit,
        t_ns=U64, seq=NUMBER, proc=U64, tid=NUMBER, request=NUMBER, index=NUMBER,
        emit=NUMBER, count=NUMBER, cpu_ns=st.none() | U64,
    ),
    st.builds(Mark, t_ns=U64, seq=NUMBER, proc=U64, tid=NUMBER, text=TEXT),
    st.builds(
        RequestReceived,
        t_ns=U64, seq=NUMBER, proc=U64, tid=NUMBER, request=NUMBER, id=TEXT,
        params=st.dictionaries(TEXT, PLAIN, max_size=3),
    ),
    st.builds(GpuMemory, t_ns=U64, gpu=st.integers(0, 7), used_bytes=U64),
)  # fmt: skip
APPENDS = st.lists(st.lists(RECORDS, min_size=1, max_size=6), max_size=8)


def emit(n: int, t_ns: int | None = None) -> FrameEmit:
    """The n-th emit of a request at 16 frames/s."""
    return FrameEmit(
        t_ns=n * 62_500_000 if t_ns is None else t_ns,
        seq=n, proc=77, tid=1, request=1, index=n, emit=n, count=1, cpu_ns=n * 1000,
    )  # fmt: skip


def start(wall_ns: int = 1_796_000_000_000_000_000, name: str = "s") -> SessionStart:
    return SessionStart(t_ns=5, wall_ns=wall_ns, schema=1, mgtop="0", name=name)


def line(text: str) -> OutputLine:
    return OutputLine(t_ns=1, offset=0, kind="error", text=text)


def write(folder: Path, *appends: Sequence[Record]) -> list[int]:
    """Write a log, one append each; return where every chunk ends."""
    writer = LogWriter(folder)
    ends = []
    for records in appends:
        writer.append(records)
        ends.append((folder / LOG_NAME).stat().st_size)
    writer.close()
    return ends


def read(folder: Path, most_bytes: int = 4 << 20) -> tuple[list[AnyRecord], LogReader]:
    """All records, and the reader."""
    reader = LogReader(folder, most_bytes)
    records = reader.poll()
    while not reader.at_end:
        records += reader.poll()
    return records, reader
