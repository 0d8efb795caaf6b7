"""The exit code of a command that ran a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mgtop.cli.conduct import exit_code, last_words
from mgtop.record.launch import Outcome

ENDED: dict[str, Any] = {
    "reason": "target_exit",
    "message": "",
    "exit_code": 0,
    "lost": False,
    "target_pid": 7,
    "target_ended": True,
    "target_code": 0,
    "target_signal": None,
    "target_oom_kills": None,
    "target_was_stopped": False,
}
BY_TERM: dict[str, Any] = {"target_code": None, "target_signal": 15}
LEFT: dict[str, Any] = {"target_ended": False, "target_code": None}


@pytest.mark.parametrize(
    ("changes", "interrupted", "code"),
    [
        ({}, False, 0),
        ({"target_code": 1}, False, 3),
        (BY_TERM, False, 3),
        ({"reason": "seconds", "target_was_stopped": True, **BY_TERM}, False, 0),
        ({"reason": "stopped", "target_was_stopped": True, "target_code": 143}, False, 0),
        ({"reason": "stopped", **LEFT}, False, 0),
        ({"reason": "stopped", "target_code": 2}, False, 3),  # left running, and failed later
        (BY_TERM, True, 130),
        ({"target_code": 1}, True, 130),
        ({}, True, 0),
        ({"exit_code": 4, "reason": "error: full", **LEFT}, False, 4),
        ({"exit_code": None, "lost": True, **LEFT}, False, 4),
        ({"exit_code": 70, "reason": "error: internal", **LEFT}, False, 70),
    ],
)
def test_exit_code(changes: dict[str, Any], interrupted: bool, code: int) -> None:
    assert exit_code(Outcome(**{**ENDED, **changes}), interrupted=interrupted) == code


def test_the_last_words_of_a_program(tmp_path: Path) -> None:
    assert last_words(tmp_path) == ""
    output = tmp_path / "stdout.log"
    output.write_text("".join(f"line {n}\n" for n in range(5000)) + "\n\x1b[31mred\r\n\xff end")
    lines = last_words(tmp_path).splitlines()
    assert len(lines) == 12
    assert lines[0] == "line 4990"
    assert lines[-2:] == ["�[31mred", "\xff end"]
    assert last_words(tmp_path).endswith("\n")
