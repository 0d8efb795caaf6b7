"""A session folder becomes a summary: damaged, live, marked, or not there at all."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest

from mgtop.analysis.summary import Summary
from mgtop.config.structs import AnalysisSettings, Warmup
from mgtop.record.textlog_session import read_log, session_records
from mgtop.report.json import render
from mgtop.report.load import read, summarise
from mgtop.report.plot import columns_for
from mgtop.session.lock import SessionLock
from mgtop.session.marks import append_mark
from mgtop.session.writer import LOG_NAME, LogWriter
from mgtop.wire.records import Record

MS = 1_000_000
NO_WARMUP = AnalysisSettings(target_fps=20.0, warmup=Warmup(requests=0, emits=0))


def records(emits: int = 60) -> list[Record]:
    """One request of steady 48 ms intervals with one of 214 ms at index 30."""
    lines = ["[req a] T+0 request_received fps=20", "[req a] T+1120 first_frame_emit"]
    at = 1120
    for index in range(1, emits):
        dt = 214 if index == 30 else 48
        at += dt
        lines.append(f"[req a] T+{at} frame_emit idx={index} dt={dt}")
    lines.append(f"[req a] T+{at + 10} stream_end frames={emits}")
    log = read_log(io.BytesIO("\n".join(lines).encode()))
    return list(session_records(log, "steady", {"fps": 20}, NO_WARMUP))


def write(folder: Path, chunks: list[list[Record]]) -> Path:
    folder.mkdir(exist_ok=True)
    writer = LogWriter(folder)
    for chunk in chunks:
        writer.append(chunk)
    writer.close()
    return folder


def without_path(summary: Summary) -> Summary:
    session = msgspec.structs.replace(summary.session, path=None)
    return msgspec.structs.replace(summary, session=session)


def test_what_the_session_shows(tmp_path: Path):
    summary = summarise(write(tmp_path / "s", [records()]))
    assert summary.session.path == str(tmp_path / "s")
    assert summary.session.live is False
    assert summary.interval_ms.count == 59
    assert [tail.index for tail in summary.tails.frames] == [30]
    assert summary.tails.frames[0].final


def test_how_the_log_is_cut_into_chunks_does_not_matter(tmp_path: Path):
    whole = summarise(write(tmp_path / "whole", [records()]))
    single = summarise(write(tmp_path / "single", [[record] for record in records()]))
    assert render(without_path(whole)) == render(without_path(single))


def test_damage_is_skipped_and_counted_however_long(tmp_path: Path):
    folder = write(tmp_path / "s", [records()[:40]])
    with (folder / LOG_NAME).open("ab") as file:
        file.write(b"\x00" * (9 << 20))
    write(folder, [records()[40:]])
    summary = summarise(folder)
    assert summary.interval_ms.count == 59
    assert summary.losses.log_damaged >= 1
    assert summarise(write(tmp_path / "sound", [records()])).losses.log_damaged == 0


def test_a_session_that_is_still_recorded_is_live(tmp_path: Path):
    folder = write(tmp_path / "s", [records()[:-2]])
    with SessionLock(folder):
        assert summarise(folder).session.live is True
    assert summarise(folder).session.live is False


def test_marks_of_viewers_are_in_the_report(tmp_path: Path):
    folder = write(tmp_path / "s", [records()])
    append_mark(folder, 1500 * MS, "here it stuttered")
    (mark,) = summarise(folder).marks
    assert (mark.note, mark.t_ms) == ("here it stuttered", 1500.0)


def test_an_empty_log_is_an_empty_report(tmp_path: Path):
    summary = summarise(write(tmp_path / "s", []))
    assert summary.requests == []
    assert summary.fps is None
    assert read(tmp_path / "s").plot is None


def test_the_plot_has_the_intervals_over_the_whole_time(tmp_path: Path):
    plot = read(write(tmp_path / "s", [records()])).plot
    assert plot is not None
    assert len(plot.values) > columns_for(200)
    assert max(value for value in plot.values if value is not None) == pytest.approx(214.0)
    assert plot.values[0] is None
    assert plot.end_s == pytest.approx(1.12 + 58 * 0.048 + 0.214 + 0.01)
