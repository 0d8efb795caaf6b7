"""Stopping a program whose recorder has died."""

from __future__ import annotations

from pathlib import Path

import pytest
from recording import emits, emitter, python, read, record, until

from mgtop.record.orphan import stop_orphan
from mgtop.record.tree import is_running

pytestmark = pytest.mark.e2e


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTOP_RUNTIME", str(tmp_path / "runtime"))


def test_the_tree_is_stopped(tmp_path: Path) -> None:
    recording = record(tmp_path, emitter("--count", 10**6, "--rate", 50, "--child"))
    until(lambda: len(emits(read(recording.folder))) > 2)
    recording.recorder.kill()
    recording.wait(5)
    assert is_running(recording.target_pid)
    assert stop_orphan(recording.folder) is True
    assert not is_running(recording.target_pid)
    assert stop_orphan(recording.folder) is None


def test_a_program_that_has_ended_or_never_was_is_left_alone(tmp_path: Path) -> None:
    recording = record(tmp_path, python("pass"))
    recording.wait(5)
    assert stop_orphan(recording.folder) is None
    assert stop_orphan(tmp_path) is None
