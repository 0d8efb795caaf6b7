"""What was dropped of a session is said by its exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.session.retention import drop_oldest
from mgtop.session.rolling import RollingLog
from mgtop.wire.records import FrameEmit, RequestReceived, SessionEnd, SessionStart

S = 1_000_000_000


@pytest.fixture
def dropped(tmp_path: Path) -> Path:
    folder = tmp_path / "dropped"
    folder.mkdir()
    log = RollingLog(folder, after_ns=60 * S, least_bytes=1)
    log.append([SessionStart(t_ns=5, wall_ns=1, schema=1, mgtop="0", name="n")])
    log.append([RequestReceived(t_ns=6, seq=1, proc=77, tid=1, request=1, id="a")])
    for n in range(600):
        log.append([FrameEmit(n * S + 7, n, 77, 1, 1, n, n, 1)])
    log.append([SessionEnd(t_ns=600 * S, reason="stopped")])
    log.close()
    assert drop_oldest(folder, 0.0001, None).files == 9
    return folder


@pytest.mark.parametrize("to", ["csv", "perfetto"])
def test_it_is_said(dropped: Path, to: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(dropped), "--to", to]) == 0
    printed = capsys.readouterr()
    assert "the first 9 min 0 s were dropped by retention; they are not exported." in printed.err
    if to == "perfetto":
        events = json.loads(printed.out)["traceEvents"]
        (gap,) = [event for event in events if event.get("cat") == "gap"]
        assert gap["name"] == "not in the log: the first 9 min 0 s were dropped by retention"
        assert round(gap["dur"] / 1e6) == 540
