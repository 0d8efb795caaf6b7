"""Screens are drawn only where they can be seen."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest


def in_terminal(folder: Path, term: str, *arguments: str) -> tuple[int, str]:
    """Run ``mgtop`` on a pseudo-terminal that it does not draw on."""
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "mgtop", *arguments],
            env={**os.environ, "TERM": term, "XDG_STATE_HOME": str(folder)},
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    finally:
        os.close(theirs)
        os.close(ours)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [(["run", "--", "true"], "use --headless"), (["view"], "mgtop report prints")],
)
def test_a_dumb_terminal_is_not_drawn_on(
    arguments: list[str], instead: str, tmp_path: Path
) -> None:
    code, said = in_terminal(tmp_path, "dumb", *arguments)
    assert code == 2
    assert "TERM is dumb" in said
    assert instead in said
    assert not (tmp_path / "mgtop").exists()


def test_without_a_terminal_nothing_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "run", "--", "true"],
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "use --headless to record without a screen" in done.stderr
    assert not (tmp_path / "mgtop").exists()
