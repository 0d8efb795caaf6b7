"""The trace in Perfetto's own trace processor: what SQL finds there is the session."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import mgtop
from mgtop.api import Session
from mgtop.export.frames import shown, told
from mgtop.export.perfetto import COUNTERS
from mgtop.export.write import write
from mgtop.session.marks import append_mark
from tests.export.recorded import unpack
from tests.export.trace_processor import Trace

ARGUMENT = "extract_arg(slice.arg_set_id, 'args.{}') AS {}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = unpack(tmp_path_factory.mktemp("perfetto") / "stormlight")
    start_ns = mgtop.open(folder).start_ns
    append_mark(folder, start_ns + 9_000_000_000, "here: \u201cit\u201d <stutters>")
    return folder


@pytest.fixture(scope="module")
def session(folder: Path) -> Session:
    return mgtop.open(folder)


@pytest.fixture(scope="module")
def trace(folder: Path) -> Iterator[Trace]:
    out = io.StringIO()
    write(folder, "perfetto", out)
    with closing(Trace(out.getvalue().encode())) as trace:
        yield trace


def test_nothing_of_it_is_refused(trace: Trace) -> None:
    sql = "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0"
    assert trace.query(sql) == []


def test_spans(trace: Trace, session: Session) -> None:
    rows = trace.query(
        f"""
        SELECT slice.name, slice.ts, slice.dur, process.pid, thread.tid % 4194304 AS tid,
            {ARGUMENT.format("request", "request")}, {ARGUMENT.format("frame", "frame")}
        FROM slice JOIN thread_track ON slice.track_id = thread_track.id
            JOIN thread USING (utid) JOIN process USING (upid)
        WHERE slice.category = 'span'
        """
    )
    found = Counter(tuple(row.values()) for row in rows)
    assert found == Counter(
        (
            span.name, round(span.begin_ms * 1e6), round(span.duration_ms * 1e6), span.pid,
            span.tid, span.request, span.index,
        )
        for span in session.spans
    )  # fmt: skip
    assert len(rows) > 10_000


def test_frames_and_their_causes(trace: Trace, session: Session) -> None:
    rows = trace.query(
        f"""
        SELECT slice.ts, slice.dur, thread.name AS track, {ARGUMENT.format("index", "at")},
            {ARGUMENT.format("frames", "frames")}, {ARGUMENT.format("cause", "cause")},
            {ARGUMENT.format("excess_ms", "excess_ms")}, {ARGUMENT.format("interval_ms", "ms")}
        FROM slice JOIN thread_track ON slice.track_id = thread_track.id JOIN thread USING (utid)
        WHERE slice.category = 'frame' ORDER BY slice.ts
        """
    )
    assert len(rows) == len(session.frames)
    for row, frame in zip(rows, session.frames, strict=True):
        assert (row["ts"], row["dur"], row["track"], row["at"], row["frames"], row["cause"]) == (
            round(frame.t_ms * 1e6), 0, f"emits of {frame.request}", frame.index, frame.count,
            frame.cause,
        )  # fmt: skip
        assert row["ms"] == pytest.approx(frame.interval_ms)
        assert row["excess_ms"] == pytest.approx(frame.excess_ms)
    assert [row["cause"] for row in rows if row["cause"]] == [t.cause for t in session.tails]


def test_arrows_lead_from_an_emit_to_when_it_is_shown(
    trace: Trace, folder: Path, session: Session
) -> None:
    rows = trace.query(
        """
        SELECT emit.ts AS emitted, seen.ts AS shown, seen.dur, seen.name
        FROM flow JOIN slice AS emit ON flow.slice_out = emit.id
            JOIN slice AS seen ON flow.slice_in = seen.id
        WHERE emit.category = 'frame' AND seen.category = 'shown' ORDER BY emit.ts
        """
    )
    first = {(s.request, s.index): s for s in shown(told(folder))}
    expected = [
        (frame, first[frame.request, frame.index])
        for frame in session.frames
        if (frame.request, frame.index) in first
    ]
    assert [(row["emitted"], row["name"]) for row in rows] == [
        (round(frame.t_ms * 1e6), f"frame {seen.index}") for frame, seen in expected
    ]
    for row, (_, seen) in zip(rows, expected, strict=True):
        assert row["shown"] == pytest.approx(seen.at_ms * 1e6, abs=1)
        assert row["dur"] == pytest.approx(seen.ms * 1e6, abs=1)
    assert trace.query("SELECT count(*) AS n FROM flow") == [{"n": len(rows)}]


def test_readings_are_counters(trace: Trace, session: Session) -> None:
    title, _ = COUNTERS["vram_bytes"]
    rows = trace.query(
        f"""
        SELECT counter.ts, counter.value FROM counter
            JOIN counter_track ON counter.track_id = counter_track.id
        WHERE counter_track.name GLOB '{title}*' ORDER BY counter.ts
        """
    )
    samples = [s for s in session.samples if s.name == "gpu_memory_mib"]
    assert [row["ts"] for row in rows] == [round(s.t_ms * 1e6) for s in samples]
    assert [row["value"] for row in rows] == pytest.approx([s.value for s in samples], abs=1e-3)
    names = {row["name"] for row in trace.query("SELECT DISTINCT name FROM counter_track")}
    assert len(names) == len(COUNTERS)


def test_marks_are_instants(trace: Trace, session: Session) -> None:
    rows = trace.query("SELECT ts, dur, name FROM slice WHERE category = 'mark'")
    assert [tuple(row.values()) for row in rows] == [
        (round(mark.t_ms * 1e6), 0, mark.note) for mark in session.marks
    ]
    assert rows


def test_the_query_on_the_page_finds_the_late_frames(trace: Trace, session: Session) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8")
    part = page[page.index("## Perfetto") : page.index("## Parquet")]
    [sql] = re.findall(r"```sql\n(.*?)```", part, re.S)
    assert [row["cause"] for row in trace.query(sql)] == [tail.cause for tail in session.tails]
