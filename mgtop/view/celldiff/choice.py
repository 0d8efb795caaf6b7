"""Which driver draws: the one that compares cells, where it is known to fit."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import textual
from textual.driver import Driver

SWITCH = "MGTOP_CELLDIFF"
KNOWN_MAJOR = 8
"""The major version of Textual whose output was compared with, screen by screen."""


@runtime_checkable
class Repainting(Protocol):
    """A driver that remembers what the terminal shows, and can be told not to believe it."""

    def repaint(self) -> None:
        """Draw the whole screen anew, whatever the terminal may show."""


@runtime_checkable
class Asking(Protocol):
    """A driver that knows how long frames take to be shown."""

    @property
    def busy(self) -> bool:
        """Whether a frame is still on its way to a terminal that tells."""

    def take_answer(self) -> float | None:
        """Seconds that the newest answer took, once; None: there is no new one."""


def driver_class(
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    version: str = textual.__version__,
) -> type[Driver] | None:
    """The driver to give to the app; None: Textual chooses.

    None where it was switched off (``MGTOP_CELLDIFF=off``), where somebody chose a driver (a
    browser does, by ``TEXTUAL_DRIVER``), on Windows, and with a Textual of another major
    version than the one that the comparison was tested with.
    """
    if environ.get(SWITCH, "").lower() in ("off", "0", "no", "false"):
        return None
    if environ.get("TEXTUAL_DRIVER") or platform == "win32":
        return None
    if version.split(".")[0] != str(KNOWN_MAJOR):
        return None
    from mgtop.view.celldiff.driver import CellDiffDriver

    return CellDiffDriver
