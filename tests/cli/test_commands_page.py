"""docs/commands.md is what its generator writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date():
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate_commands.py"), "--check"],
        capture_output=True,
        text=True,
        cwd=DOCS.parent,
        env={"PYTHONPATH": str(DOCS.parent), "PATH": ""},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
