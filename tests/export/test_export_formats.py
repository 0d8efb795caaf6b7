"""Sessions in other tools' formats: what the rows mean, and the forms those tools insist on."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from mgtop.cli.main import group
from mgtop.export.frames import shown, told
from mgtop.export.mangohud import COLUMNS as MANGOHUD
from mgtop.export.perfetto import _lane
from mgtop.export.presentmon import COLUMNS as PRESENTMON
from mgtop.export.write import write
from mgtop.session.writer import LogWriter
from mgtop.wire import records as r

MS, START = 1_000_000, 5_000_000_000
PROC = r.proc_of(4242, 77)
STALL_AT = 20
"""Blocks of 4 frames every 100 ms at 40 fps; before this one the program stands for 400 ms."""


def emit(number: int, t_ns: int, route: int = 0, request: int = 1) -> r.FrameEmit:
    return r.FrameEmit(t_ns, number, PROC, 7, request, 4 * number, number, 4, route)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    folder = tmp_path / "blocks"
    folder.mkdir()
    environment = {"os": "Linux, really", "cpu": "A, B", "kernel": "6.1", "ram_mib": 2.0}
    log: list[r.AnyRecord] = [
        r.SessionStart(
            START, 10**18, 1, "0.1", "blocks", {}, {"target_fps": 40.0}, environment=environment
        ),
        r.RequestReceived(START + 1, 1, PROC, 7, 1, "a", {}),
        r.GpuMemory(START + 2, 0, 3 << 30),
        r.HostCpu(START + 3, 4, 0, 0, 0, 1, 1),
        r.HostCpu(START + 4, 4, 25, 75, 0, 1, 1),
    ]
    t_ns = START
    for number in range(40):
        t_ns += (400 if number == STALL_AT else 100) * MS
        log.append(r.Span(t_ns - 5 * MS, 0, PROC, 7, 1, 4 * number, 3, 60 * MS))
        log.append(emit(number, t_ns))
        log.append(emit(number, t_ns + 5, route=2, request=9))  # a sink tells the same
    log.append(r.Mark(t_ns, 0, PROC, 7, "a | mark, \u202e here"))
    log.append(r.SessionEnd(t_ns + 1, "ended"))
    with contextlib.closing(LogWriter(folder)) as writer:
        writer.append(log)
    return folder


def text(folder: Path, to: str, raw: bool = False) -> str:
    out = io.StringIO()
    write(folder, to, out, raw)
    return out.getvalue()


def test_each_frame_is_told_once_and_with_its_cause(session: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(text(session, "csv"))))
    assert [int(row["emit"]) for row in rows] == list(range(40))
    assert rows[0]["interval_ms"] == ""
    assert {row["interval_ms"] for row in rows[1:STALL_AT]} == {"100.000"}
    assert rows[STALL_AT]["interval_ms"] == "400.000"
    assert float(rows[STALL_AT]["excess_ms"]) == pytest.approx(300)
    assert rows[STALL_AT]["cause"] == "unexplained"
    assert [row["warmup"] for row in rows[:3]] == ["1", "1", "0"]


def test_lines_of_json_hold_the_evidence(session: Path) -> None:
    rows = [json.loads(line) for line in text(session, "jsonl").splitlines()]
    assert len(rows) == 40
    assert rows[0]["interval_ms"] is None
    assert [row["emit"] for row in rows if row["late"]] == [STALL_AT]
    assert rows[STALL_AT]["late"]["evidence"]


def test_a_stall_is_one_long_frame_of_what_is_played(session: Path) -> None:
    frames = list(shown(told(session)))
    assert len(frames) == 159  # the last one has no end
    assert [f.index for f in frames] == list(range(159))
    long = [f for f in frames if f.ms > 26]
    assert [f.index for f in long] == [4 * STALL_AT - 1]
    assert long[0].ms == pytest.approx(325)
    assert all(f.ms == pytest.approx(25) for f in frames if f not in long)
    assert frames[0].at_ms == pytest.approx(100)


def test_mangohud(session: Path) -> None:
    lines = text(session, "mangohud").splitlines()
    assert lines[0] == "os,cpu,gpu,ram,kernel,driver,cpuscheduler"
    assert lines[1] == "Linux really,A B,,2048,6.1,,"
    assert lines[2].split(",") == list(MANGOHUD)
    rows = [dict(zip(MANGOHUD, line.split(","), strict=True)) for line in lines[3:]]
    assert len(rows) == 159
    assert max(float(row["frametime"]) for row in rows) == pytest.approx(325)
    assert rows[0]["fps"] == "40.000"
    assert rows[0]["cpu_load"] == "25"
    assert float(rows[0]["gpu_vram_used"]) == pytest.approx(3)
    assert [int(row["elapsed"]) for row in rows] == sorted(int(row["elapsed"]) for row in rows)
    raw = text(session, "mangohud", raw=True).splitlines()[3:]
    assert len(raw) == 39


def test_a_reader_of_mangohud_logs_opens_it(session: Path, tmp_path: Path) -> None:
    log, found = tmp_path / "blocks.csv", tmp_path / "found.json"
    log.write_text(text(session, "mangohud"))
    words = [
        "-c",
        "from mangohudpy.cli import main; main()",
        "summary",
        "--input",
        str(log),
        "--json-output",
        str(found),
    ]
    read = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert read.returncode == 0, read.stdout + read.stderr
    [summary] = json.loads(found.read_text())
    assert summary["samples"] == 159
    assert summary["frametime"]["max"] == pytest.approx(325)
    assert summary["fps"]["max"] == pytest.approx(40)


def test_data_frames_read_the_logs(session: Path) -> None:
    mangohud = pd.read_csv(io.StringIO(text(session, "mangohud")), skiprows=2)
    presentmon = pd.read_csv(io.StringIO(text(session, "presentmon")))
    emits = pd.read_csv(io.StringIO(text(session, "csv")))
    assert list(mangohud.columns) == list(MANGOHUD)
    assert list(presentmon.columns) == list(PRESENTMON)
    seen = [frame.ms for frame in shown(told(session))]
    assert mangohud["frametime"].tolist() == pytest.approx(seen, abs=1e-4)
    assert presentmon["msBetweenPresents"].tolist() == pytest.approx(seen, abs=1e-4)
    assert emits["interval_ms"].dropna().max() == 400
    lasted = presentmon["TimeInSeconds"].diff().dropna() * 1000  # rows add up to the clock
    assert lasted.tolist() == pytest.approx(seen[1:], abs=2e-3)


def test_presentmon(session: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(text(session, "presentmon"))))
    assert tuple(rows[0]) == PRESENTMON
    assert text(session, "presentmon").startswith("Application,ProcessID,SwapChainAddress,")
    assert len(rows) == 159
    assert max(float(row["msBetweenPresents"]) for row in rows) == pytest.approx(325)
    assert {row["Dropped"] for row in rows} == {"0"}
    assert len({row["SwapChainAddress"] for row in rows}) == 1


def test_perfetto(session: Path) -> None:
    trace = json.loads(text(session, "perfetto"))
    events: list[dict[str, Any]] = trace["traceEvents"]
    slices: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for event in events:
        assert event["pid"] > 0
        if event["ph"] == "X":
            at = event["ts"], event["ts"] + event["dur"]
            slices[event["pid"], event["tid"]].append(at)
        if event["ph"] == "C":
            assert list(event["args"]) == ["value"]
    for mine in slices.values():
        mine.sort(key=lambda s: (s[0], -s[1]))
        open_until: list[float] = []
        for begin, end in mine:
            while open_until and open_until[-1] <= begin + 1e-6:
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 1e-6
            open_until.append(end)
    starts = [e for e in events if e["ph"] == "s"]
    ends = [e for e in events if e["ph"] == "f"]
    assert {e["id"] for e in starts} == {e["id"] for e in ends}
    assert len(starts) == 40
    names = [(e["name"], e["pid"], e["tid"]) for e in events if e["ph"] == "M"]
    assert len(names) == len(set(names))
    assert [e["name"] for e in events if e["ph"] == "i" and "late" in e["name"]] == [
        "emit 20 late: unexplained"
    ]
    assert any(e.get("cat") == "mark" for e in events)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=30))
def test_spans_of_one_lane_nest(pairs: list[tuple[int, int]]) -> None:
    lanes: list[list[int]] = []
    placed: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for begin, duration in sorted(pairs, key=lambda p: (p[0], -p[1])):
        placed[_lane(lanes, begin, begin + duration)].append((begin, begin + duration))
    for mine in placed.values():
        for i, (begin, end) in enumerate(mine):
            for other_begin, other_end in mine[i + 1 :]:
                apart = other_begin >= end or other_end <= begin
                inside = begin <= other_begin and other_end <= end
                assert apart or inside


def test_a_session_without_frames(tmp_path: Path) -> None:
    folder = tmp_path / "none"
    folder.mkdir()
    with contextlib.closing(LogWriter(folder)) as writer:
        writer.append([r.SessionStart(START, 0, 1, "0.1", "none"), r.SessionEnd(START + 1, "x")])
    for to in ("csv", "jsonl", "mangohud", "presentmon", "perfetto"):
        assert "emit 0" not in text(folder, to)
    assert json.loads(text(folder, "perfetto"))["traceEvents"]


def test_the_command(session: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    file = tmp_path / "out.csv"
    done = run(group, ["export", str(session), "--to", "csv", "-o", str(file)])
    assert done.exit_code == 0, done.output
    assert file.read_text() == text(session, "csv")
    wrong = run(group, ["export", str(session), "--to", "csv", "--raw"])
    assert wrong.exit_code != 0
    assert run(group, ["export", str(session), "--to", "csv", "-o", "/nowhere/x"]).exit_code != 0
    assert run(group, ["export", str(session)]).exit_code == 2
