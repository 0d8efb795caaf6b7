"""Plan and status: what recorder and launcher tell each other."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mgtop.record.plan import LAUNCH_FILE, Plan, take_plan, write_plan
from mgtop.record.status import SIZE, STATUS_FILE, Status, read_status, write_status

PLAN = Plan(
    name="n", command=["python", "a b.py"], cwd="/tmp", env={"TOKEN": "x"}, params={"steps": 4}
)


def test_a_plan_is_private_and_gone_once_taken(tmp_path: Path) -> None:
    write_plan(tmp_path, PLAN)
    assert stat.S_IMODE((tmp_path / LAUNCH_FILE).stat().st_mode) == 0o600
    assert take_plan(tmp_path) == PLAN
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError):
        take_plan(tmp_path)


def test_status_is_overwritten_in_place_at_the_same_size(tmp_path: Path) -> None:
    write_status(tmp_path, Status())
    node = (tmp_path / STATUS_FILE).stat().st_ino
    for status in (
        Status(state="recording", recorder_pid=3, target_pid=4),
        Status(state="ended", exit_code=4, message="é" * 5000),
        Status(state="ended", exit_code=0, target_ended=True, target_signal=9),
    ):
        write_status(tmp_path, status)
        found = read_status(tmp_path)
        assert found is not None
        assert (found.state, found.target_signal) == (status.state, status.target_signal)
        assert (tmp_path / STATUS_FILE).stat().st_size == SIZE
        assert (tmp_path / STATUS_FILE).stat().st_ino == node


def test_no_status_or_a_broken_one_is_none(tmp_path: Path) -> None:
    assert read_status(tmp_path) is None
    (tmp_path / STATUS_FILE).write_text("{")
    assert read_status(tmp_path) is None
