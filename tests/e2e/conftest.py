"""A machine for each test, on which nothing is left running."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from machine import Machine

from mgtop.record.status import read_status
from mgtop.record.tree import is_running


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    for process in machine.started:
        process.kill()
        process.communicate()
    for folder in machine.sessions():
        status = read_status(folder)
        if status is None:
            continue
        for pid in (status.recorder_pid, status.target_pid):
            if pid is not None and is_running(pid):
                os.kill(pid, signal.SIGKILL)
