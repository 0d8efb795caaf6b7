"""Everything a fault test starts is in a folder of its own and gone afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.launch import Recording


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FIFOs of a test stay in its own folder."""
    folder = tmp_path / "runtime"
    monkeypatch.setenv("MGTOP_RUNTIME", str(folder))
    return folder


@pytest.fixture
def started() -> Iterator[list[Recording]]:
    """Recordings to end, whatever the test did."""
    recordings: list[Recording] = []
    yield recordings
    for recording in recordings:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(recording.target_pid, signal.SIGKILL)
        if recording.recorder.poll() is None:
            recording.recorder.kill()
        recording.recorder.wait()
