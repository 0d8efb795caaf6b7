"""The files of a log: finished ones by their numbers, and the one that is written.

A short session has one, ``session.log``. A long one rolls over: what was ``session.log`` becomes
``session.000001.log``, and a new ``session.log`` goes on. That one is always there.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from mgtop.session.writer import LOG_NAME

_NUMBERED = re.compile(r"session\.(\d{6,12})\.log")


def numbered(folder: Path, number: int) -> Path:
    """Where a finished file of that number lies."""
    return folder / f"session.{number:06}.log"


def finished(folder: Path) -> list[int]:
    """The numbers of the finished files, ascending; links and whatever is no file are none."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                int(found[1])
                for entry in entries
                if (found := _NUMBERED.fullmatch(entry.name))
                and entry.is_file(follow_symlinks=False)
            )
    except OSError:
        return []


def log_files(folder: Path) -> list[Path]:
    """All files of the log that are there, in their order; the one that is written is the last.

    A file that was about to become a finished one when its recorder was killed is there once.
    """
    newest = folder / LOG_NAME
    files = [numbered(folder, number) for number in finished(folder)]
    if files and _is_same(files[-1], newest):
        files.pop()
    return [*files, newest]


def log_bytes(folder: Path) -> int:
    """Size of the whole log."""
    size = 0
    for path in log_files(folder):
        with contextlib.suppress(OSError):
            size += path.stat().st_size
    return size


def _is_same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False
