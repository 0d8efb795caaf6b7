"""Programs and configurations for rounds, with folders of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from round_programs import ROOT, Workplace

from mgtop.record.status import read_status
from mgtop.record.tree import is_running


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    """A folder with state and runtime folders of its own, in which nothing is left running."""
    place = Workplace(tmp_path)
    for name, value in place.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    yield place
    for process in place.started:
        process.kill()
        process.communicate()
    for folder in place.sessions():
        status = read_status(folder)
        for pid in (status.recorder_pid, status.target_pid) if status is not None else ():
            if pid is not None and is_running(pid):
                os.kill(pid, signal.SIGKILL)
