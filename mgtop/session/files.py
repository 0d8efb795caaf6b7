"""Which files of a session's folder hold what it shows."""

from __future__ import annotations

from pathlib import Path

from mgtop.session.marks import MARKS_NAME
from mgtop.session.writer import LOG_NAME

DIGEST_NAME = "digest.msgpack.zz"
"""What was made of them (:mod:`mgtop.report.digest`); anybody may delete it."""


def files_read(folder: Path) -> list[Path]:
    """The files that are read for a report: the log and the marks, as far as they are there."""
    return [path for name in (LOG_NAME, MARKS_NAME) if (path := folder / name).exists()]
