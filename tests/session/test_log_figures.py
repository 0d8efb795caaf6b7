"""What docs/session-log.md says of the log's size holds for a minute of the same session."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from benchmarks import log

RECORDED = Path(__file__).parents[1] / "sessions" / "h200-alloc-retry" / "session.log.gz"


def bytes_a_frame(printed: str) -> tuple[int, int]:
    live, compacted = (
        int(re.search(rf"^{name} .*?(\d+) bytes a frame", printed, re.MULTILINE)[1])  # type: ignore[index]
        for name in ("live log", "compacted")
    )
    return live, compacted


def test_a_minute_as_it_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SEEK_MS", 10_000.0)  # how quick a busy machine is proves nothing
    monkeypatch.setattr(log, "SEEKS", 20)
    monkeypatch.setattr(sys, "argv", ["log", "--hours", "0.0167", "--folder", str(tmp_path)])
    assert log.main() == 0
    live, compacted = bytes_a_frame(capsys.readouterr().out)
    assert live < 330
    assert compacted < 80


def test_the_recorded_gpu_session_appended_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sys, "argv", ["log", "--recorded", str(RECORDED), "--folder", str(tmp_path)]
    )
    assert log.main() == 0
    live, compacted = bytes_a_frame(capsys.readouterr().out)
    assert live < 150
    assert compacted < 70
