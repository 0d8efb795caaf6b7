"""Folders of single moments: ``snapshots/TIME`` in the session's folder."""

from __future__ import annotations

import time
from pathlib import Path


def new_snapshot(session: Path) -> Path:
    """Make a folder for this moment; its name is the time, with a number where that is taken.

    Raises:
        OSError: it cannot be made.
    """
    parent = session / "snapshots"
    parent.mkdir(mode=0o700, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1, 1000):
        folder = parent / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"no free name in {parent}")
