"""A short run of benchmarks/fuzz; the long one is ``python -m benchmarks.fuzz``."""

from __future__ import annotations

import pytest

from benchmarks.fuzz.__main__ import run
from benchmarks.fuzz.targets import TARGETS, assert_printable


@pytest.mark.parametrize("name", TARGETS)
def test_mutated_input_does_no_harm(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(TARGETS[name], 150, seed=7), capsys.readouterr().out


@pytest.mark.parametrize("text", ["\x1b[2J", "a\u202eb", "\x9b31m", "\r", "\ud800"])
def test_what_commands_a_terminal_is_seen(text: str) -> None:
    with pytest.raises(AssertionError):
        assert_printable(text)
