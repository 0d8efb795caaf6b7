"""Dropping the oldest: files of a session's log, and whole sessions, as somebody said.

What is dropped of a log leaves a gap in it, which every reader tells. The file that is written is
never dropped, nor anything of a session beside its log; of live sessions no more than that.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from mgtop.config.structs import Retention
from mgtop.session.chunks import pack
from mgtop.session.compact import SCRATCH, alone
from mgtop.session.folder import list_sessions, sessions_root
from mgtop.session.log_files import finished, log_bytes, numbered
from mgtop.session.log_heads import first_payload, gap_in, rows_of
from mgtop.session.log_open import OpenLog, open_next
from mgtop.wire.records import LogGap

MIB = 1 << 20
HOUR_NS = 3_600_000_000_000


class Dropped(NamedTuple):
    """What was dropped, or would be: bytes, files of a log, nanoseconds of its time."""

    bytes: int = 0
    files: int = 0
    time_ns: int = 0


def keep_to(folder: Path, retention: Retention) -> None:
    """Drop what a session's configuration says: of its own log, then of all sessions.

    Raises:
        OSError: something cannot be dropped.
    """
    drop_oldest(folder, retention.size_mib, retention.age_hours)
    if retention.all_size_mib is not None or retention.all_age_hours is not None:
        drop_sessions(sessions_root(), retention.all_size_mib, retention.all_age_hours)


def drop_oldest(
    folder: Path, size_mib: float | None, age_hours: float | None, only_say: bool = False
) -> Dropped:
    """Drop the oldest finished files of a log, until it is small and young enough.

    Args:
        folder: the session's.
        size_mib: of what is left, at most; the file that is written counts, too.
        age_hours: of the end of a file that is left, at most.
        only_say: drop nothing.

    Raises:
        OSError: something cannot be dropped.
    """
    if size_mib is None and age_hours is None:
        return Dropped()
    with alone(folder):
        gap, numbers = _already(folder)
        size = log_bytes(folder)
        oldest_ns = -1 if age_hours is None else time.time_ns() - round(age_hours * HOUR_NS)
        most = float("inf") if size_mib is None else size_mib * MIB
        going: list[int] = []
        freed = 0
        for number in numbers:
            status = numbered(folder, number).stat()
            if size - freed <= most and status.st_mtime_ns > oldest_ns:
                break
            going.append(number)
            freed += status.st_size
        if not going:
            return Dropped()
        whole = _gap(folder, gap, going, freed)
        if not only_say:
            _drop(folder, whole, gap, going)
        since_ns = whole.t_ns if gap is None else gap.until_ns
        return Dropped(freed, len(going), whole.until_ns - since_ns)


def drop_sessions(
    root: Path, size_mib: float | None, age_hours: float | None, only_say: bool = False
) -> list[tuple[Path, int]]:
    """Delete the oldest sessions that have ended, until all are small and young enough together.

    Args:
        root: the folder that they lie in.
        size_mib: of all that are left, at most; live ones count, and stay.
        age_hours: since the last word of one that is left, at most.
        only_say: delete nothing.

    Returns:
        What was deleted, and how large it was.

    Raises:
        OSError: something cannot be deleted.
    """
    sizes = {entry.path: _size(entry.path) for entry in list_sessions(root)}
    ended = {
        entry.path: _last_word_ns(entry.path) for entry in list_sessions(root) if not entry.live
    }
    left = sum(sizes.values())
    most = float("inf") if size_mib is None else size_mib * MIB
    oldest_ns = -1 if age_hours is None else time.time_ns() - round(age_hours * HOUR_NS)
    gone: list[tuple[Path, int]] = []
    for path in sorted(ended, key=lambda path: ended[path]):
        if left <= most and ended[path] > oldest_ns:
            break
        if not only_say:
            shutil.rmtree(path)
        left -= sizes[path]
        gone.append((path, sizes[path]))
    return gone


# ------------------------------------------------------------------------------- inside


def _already(folder: Path) -> tuple[LogGap | None, list[int]]:
    """What was dropped before, and the finished files that are there."""
    numbers = finished(folder)
    for at in range(len(numbers) - 1, -1, -1):
        gap = _gap_of(numbered(folder, numbers[at]))
        if gap is not None:
            for number in numbers[:at]:  # somebody was killed while dropping them
                numbered(folder, number).unlink(missing_ok=True)
            return gap, numbers[at + 1 :]
    return None, numbers


def _gap_of(path: Path) -> LogGap | None:
    if path.stat().st_size > 4096:
        return None
    with open(path, "rb") as file:
        payload = first_payload(file.fileno())
    return None if payload is None else gap_in(rows_of(payload))


def _gap(folder: Path, before: LogGap | None, going: list[int], freed: int) -> LogGap:
    """The gap that is there once these are dropped."""
    first, last = OpenLog(numbered(folder, going[0]), going[0]), going[-1]
    following = open_next(OpenLog(numbered(folder, last), last))
    until_ns = None if following is None else following.begin_ns()
    begin_ns = before.t_ns if before is not None else first.begin_ns()
    return LogGap(
        t_ns=begin_ns or 0,
        until_ns=max(begin_ns or 0, until_ns or 0),
        reason="retention",
        first=going[0] if before is None else before.first,
        last=last,
        bytes=freed + (0 if before is None or before.bytes is None else before.bytes),
    )


def _drop(folder: Path, gap: LogGap, before: LogGap | None, going: list[int]) -> None:
    fd, new = tempfile.mkstemp(prefix=SCRATCH, dir=folder)
    last = numbered(folder, going[-1])
    try:
        with open(fd, "wb") as file:
            file.write(*pack([gap]))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, last)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(new)
        raise
    for number in [*([] if before is None else [before.last]), *going[:-1]]:
        numbered(folder, number).unlink(missing_ok=True)


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            size += path.lstat().st_size
    return size


def _last_word_ns(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return (folder / "session.log").stat().st_mtime_ns
    return 0
