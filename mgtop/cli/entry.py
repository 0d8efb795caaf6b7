"""Entry point of the ``mgtop`` script: Ctrl-C has its answer before anything else is imported."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the command line and run it."""
    try:
        from mgtop.cli.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("mgtop: interrupted.\n")
        sys.exit(130)
    run()
