"""Whether there is a terminal that a screen can be drawn on."""

from __future__ import annotations

import os
import sys

from mgtop.cli.errors import UserError


def need_terminal(instead: str) -> None:
    """Refuse to draw where nobody could see it.

    Args:
        instead: what to do where there is no terminal, as a sentence without its full stop.

    Raises:
        UserError: no terminal, or one that can only print line after line.
    """
    if os.environ.get("TEXTUAL_DRIVER"):  # something else than a terminal shows it: a browser
        return
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UserError(f"There is no terminal to draw on; {instead}.")
    if os.environ.get("TERM") == "dumb":
        raise UserError(f"This terminal cannot draw a screen (TERM is dumb); {instead}.")
