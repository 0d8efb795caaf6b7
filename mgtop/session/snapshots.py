"""Folders of single moments: ``snapshots/TIME`` in the session's folder."""

from __future__ import annotations

import time
from pathlib import Path

from mgtop.session.folder import make_numbered


def new_snapshot(session: Path) -> Path:
    """Make a folder for this moment; its name is the time, with a number where that is taken.

    Raises:
        OSError: it cannot be made.
    """
    parent = session / "snapshots"
    parent.mkdir(mode=0o700, exist_ok=True)
    return make_numbered(parent, time.strftime("%Y%m%d-%H%M%S"))
