"""What is released can be built anywhere, at any time, to the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.e2e


def test_two_builds_are_equal_and_whole() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("the files of a release are those that git knows; this is no clone")
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "release.py", "--build-only"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("sha256") == 4
