"""Ctrl-C while the command line is still being imported."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED_WHILE_IMPORTING = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from mgtop.cli.entry import main
main()
"""


def test_control_c_during_the_imports_is_said_in_a_sentence() -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IMPORTING], capture_output=True, text=True
    )
    assert done.returncode == 130
    assert done.stderr == "mgtop: interrupted.\n"
