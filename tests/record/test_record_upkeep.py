"""Beside a recording, finished files of its log are compacted, and dropped as told."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from mgtop.config.structs import Retention
from mgtop.record.upkeep import AGAIN_NS, Upkeep
from mgtop.session.log_files import finished, numbered
from mgtop.session.log_heads import end_of
from mgtop.session.reader import read_all
from mgtop.session.rolling import RollingLog
from mgtop.wire.records import FrameEmit, LogGap, SessionStart

S = 1_000_000_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    named = RollingLog.__init__.__kwdefaults__ or {}
    assert named == {}
    monkeypatch.setattr(RollingLog.__init__, "__defaults__", (lambda: None, 60 * S, 1, 16 << 20))


def written(upkeep: Upkeep, minutes: int) -> list[object]:
    records = [
        SessionStart(t_ns=5, wall_ns=1, schema=1, mgtop="0", name="n"),
        *(FrameEmit(n * S, n, 77, 1, 1, n, n, 1) for n in range(1, 60 * minutes)),
    ]
    for record in records:
        upkeep.log.append([record])
    return list(records)


def wait(upkeep: Upkeep) -> None:
    deadline = time.monotonic() + 60
    while upkeep.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_finished_files_are_compacted_and_nothing_else_happens(tmp_path: Path) -> None:
    upkeep = Upkeep(tmp_path, Retention())
    upkeep.poll(0)
    assert upkeep.pids() == set()
    records = written(upkeep, 5)
    assert finished(tmp_path) == [1, 2, 3, 4]
    upkeep.poll(1)
    assert len(upkeep.pids()) == 1
    upkeep.poll(2)  # one at a time
    wait(upkeep)
    for number in finished(tmp_path):
        with open(numbered(tmp_path, number), "rb") as file:
            end = end_of(file.fileno())
        assert end is not None
        assert end.compacted
    assert list(read_all(tmp_path)) == records
    pids = upkeep.pids()
    upkeep.poll(AGAIN_NS * 2)
    assert upkeep.pids() == pids


def test_what_the_configuration_says_is_dropped(tmp_path: Path) -> None:
    upkeep = Upkeep(tmp_path, Retention(size_mib=0.001))
    written(upkeep, 5)
    upkeep.poll(0)
    wait(upkeep)
    assert isinstance(next(read_all(tmp_path)), LogGap)
    assert finished(tmp_path)[0] > 1
