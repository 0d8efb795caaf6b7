"""``mgtop.open``: what the report says, as structs and tables, of recorded and live sessions."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mgtop
from mgtop.report.load import summarise
from mgtop.session.folder import SessionNotFound
from mgtop.session.lock import SessionLock
from mgtop.session.marks import append_mark
from mgtop.session.writer import LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

MS, START = 1_000_000, 5_000_000_000
PROC = r.proc_of(4242, 77)
PAGE = Path(__file__).parents[1] / "docs" / "python-api.md"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return unpack(tmp_path / "state" / "mgtop" / "sessions" / "20260101-120000-stormlight")


def test_the_report_is_the_same(recorded: Path) -> None:
    session = mgtop.open(recorded)
    assert session.report == summarise(recorded)
    assert session.tails == session.report.tails.frames
    assert not session.live
    assert not session.refresh()


def test_frames_add_up_to_the_report(recorded: Path) -> None:
    session = mgtop.open(str(recorded))
    report = session.report
    counted = [f for f in session.frames if not f.warmup and f.interval_ms is not None]
    assert len(counted) == report.interval_ms.count > 600
    assert max(f.interval_ms or 0 for f in counted) == pytest.approx(report.interval_ms.max)
    assert sum(f.count for f in session.frames) == sum(q.frames for q in report.requests)
    late = [f for f in session.frames if f.cause is not None]
    assert [(f.request, f.emit, f.cause) for f in late] == [
        (t.request, t.emit, t.cause) for t in session.tails
    ]
    assert {f.cause for f in late} == {"alloc_retry"}


def test_tables_hold_the_same_as_the_lists(recorded: Path) -> None:
    session = mgtop.open(recorded)
    tables = session.arrow()
    for kind in ("frames", "spans", "samples"):
        rows = getattr(tables, kind).to_pylist()
        names = getattr(tables, kind).schema.names
        ours = [{name: getattr(row, name) for name in names} for row in getattr(session, kind)]
        assert rows == ours, kind
        assert rows
    assert [row["evidence"] for row in tables.tails.to_pylist()] == [
        msgspec.to_builtins(tail.evidence) for tail in session.tails
    ]


def emit(number: int, t_ns: int) -> r.FrameEmit:
    return r.FrameEmit(t_ns, number, PROC, 7, 1, number, number, 1)


def test_a_live_session_grows_and_ends(tmp_path: Path) -> None:
    folder = tmp_path / "growing"
    folder.mkdir()
    writer = LogWriter(folder)
    with SessionLock(folder):
        writer.append([r.SessionStart(START, 10**18, 1, "0.1", "growing")])
        writer.append([r.RequestReceived(START + 1, 1, PROC, 7, 1, "a", {})])
        writer.append([emit(n, START + 100 * MS * (n + 1)) for n in range(20)])
        session = mgtop.open(folder)
        assert session.live
        assert len(session.frames) == 20
        spans = list(session.spans)
        writer.append([r.Span(START + 2_050 * MS, 0, PROC, 7, 1, 20, 4, 40 * MS)])
        writer.append([emit(20, START + 2_600 * MS)])
        append_mark(folder, START + 2_600 * MS, "here")
        assert (len(session.frames), list(session.spans)) == (20, spans)  # of one moment
        assert session.refresh()
        assert not session.refresh()
        assert session.frames[-1].interval_ms == pytest.approx(600)
        assert [tail.cause for tail in session.tails] == [None]
        span = next(session.spans)
        assert (span.request, span.name, span.begin_ms) == ("a", "forward", 2_010.0)
        assert [mark.note for mark in session.marks] == ["here"]
        writer.append([r.SessionEnd(START + 2_700 * MS, "ended")])
        writer.close()
    assert session.refresh()
    assert not session.live
    assert [tail.cause for tail in session.tails] == ["unexplained"]
    assert session.report == summarise(folder)


def test_no_such_session_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(SessionNotFound, match="no session is called 'nothing'"):
        mgtop.open("nothing")


def test_importing_mgtop_stays_light() -> None:
    code = """
import sys, mgtop
assert not {"msgspec", "mgtop.api"} & set(sys.modules), sys.modules
mgtop.open
heavy = {"pyarrow", "textual", "torch", "duckdb", "prometheus_client"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_page_does_what_it_says(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(recorded.parents[2]))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    said = capsys.readouterr().out
    assert "734 emits" in said
    assert "late (alloc_retry" in said
    assert "alloc_retry" in said[said.index("lost_ms") :]


def test_the_page_names_what_there_is(recorded: Path) -> None:
    page = PAGE.read_text("utf-8")
    session = mgtop.open(recorded)
    rows = {
        "frames": session.frames[0],
        "tails": session.tails[0],
        "spans": next(session.spans),
        "samples": next(session.samples),
    }
    for kind, row in rows.items():
        [line] = [line for line in page.splitlines() if line.startswith(f"| `{kind}` |")]
        told = set(re.findall(r"`(\w+)`", line)) - {kind, type(row).__name__}
        assert told == set(row.__struct_fields__) - {"proc"}
