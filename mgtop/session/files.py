"""Which files of a session's folder hold what it shows."""

from __future__ import annotations

from pathlib import Path

from mgtop.session.log_files import log_files
from mgtop.session.marks import MARKS_NAME

DIGEST_NAME = "digest.msgpack.zz"
"""What was made of them (:mod:`mgtop.report.digest`); anybody may delete it."""


def files_read(folder: Path) -> list[Path]:
    """The files that are read for a report: the log and the marks, as far as they are there."""
    return [path for path in (*log_files(folder), folder / MARKS_NAME) if path.exists()]
