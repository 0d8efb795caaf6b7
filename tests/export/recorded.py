"""A real session on an H200, its log unpacked (tests/sessions)."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

SESSIONS = Path(__file__).parents[1] / "sessions"


def unpack(folder: Path, name: str = "h200-alloc-retry/session") -> Path:
    """Put the recorded log into a folder, which is then a session's."""
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(SESSIONS / f"{name}.log.gz") as packed, (folder / "session.log").open("wb") as f:
        shutil.copyfileobj(packed, f)
    return folder
