"""Session folders: where they are, what they are called, which there are."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
from platformdirs import user_state_path

from mgtop.session.lock import is_live, read_owner
from mgtop.session.reader import LogReader
from mgtop.session.writer import LOG_NAME, SessionWriteError
from mgtop.wire.records import SessionEnd, SessionStart, TargetExit

_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")
NAME_LENGTH = 80


class SessionNotFound(Exception):
    """No session of that name; ``str()`` says what there is."""


class SessionAmbiguous(Exception):
    """Several sessions match; ``str()`` names them."""


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``mgtop ls``."""

    path: Path
    name: str
    started_wall_ns: int | None
    live: bool
    recorder_pid: int | None
    target_pid: int | None
    state: str
    """``live``, ``ended``, or ``cut`` (the recorder died)."""


def sessions_root() -> Path:
    """``$XDG_STATE_HOME/mgtop/sessions``; need not exist."""
    return user_state_path("mgtop", appauthor=False) / "sessions"


def folder_name(name: str, varied: Mapping[str, object], wall_ns: int) -> str:
    """``20261130-221500-stormlight-steps=16``: local time, name, what varies."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(wall_ns / 1e9))
    parts = [name, *(f"{key}={value}" for key, value in varied.items())]
    words = [_UNSAFE.sub("_", part).strip("._") for part in parts]
    return "-".join([stamp, *filter(None, words)])[:NAME_LENGTH]


def create(name: str, varied: Mapping[str, object], out: Path | None, now_wall_ns: int) -> Path:
    """Make a new session folder, mode 0700: ``out`` itself, or one under the sessions' root.

    Raises:
        SessionWriteError: it cannot be made, or ``out`` already holds a session.
    """
    try:
        if out is not None:
            out.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (out / LOG_NAME).exists():
                raise SessionWriteError(f"{out} already holds a session; choose another folder")
            if not os.access(out, os.W_OK):
                raise SessionWriteError(f"cannot write in {out}: permission denied")
            return out.resolve()
        root = sessions_root()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        base = folder_name(name, varied, now_wall_ns)
        for number in range(1, 1000):
            folder = root / (base if number == 1 else f"{base}-{number}")
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        where = error.filename or out or sessions_root()
        raise SessionWriteError(f"cannot make {where}: {error.strerror}") from None
    raise SessionWriteError(f"cannot find a free name for {base}")


def find(text: str, root: Path | None = None) -> Path:
    """The session that a folder's path, or a unique part of a name, means.

    Raises:
        SessionNotFound, SessionAmbiguous: with the candidates.
    """
    path = Path(text).expanduser()
    if (path / LOG_NAME).exists():
        return path.resolve()
    if path.name == LOG_NAME and path.exists():
        return path.parent.resolve()
    entries = list_sessions(root)
    exact = [entry for entry in entries if entry.name == text]
    matches = exact or [entry for entry in entries if text in entry.name]
    if len(matches) == 1:
        return matches[0].path
    if not matches:
        if path.is_dir():
            raise SessionNotFound(
                f"{path} is a folder, but holds no session ({LOG_NAME} is missing)"
            )
        there = f"the newest is {entries[0].name}" if entries else "there are none yet"
        raise SessionNotFound(f"no session is called {text!r}; {there} (mgtop ls shows all)")
    names = ", ".join(entry.name for entry in matches[:5])
    more = f" and {len(matches) - 5} more" if len(matches) > 5 else ""
    raise SessionAmbiguous(f"{text!r} could be {names}{more}; give more of the name")


def list_sessions(root: Path | None = None) -> list[SessionEntry]:
    """All sessions: live ones first, then the newest first."""
    root = sessions_root() if root is None else root
    try:
        folders = [entry for entry in root.iterdir() if (entry / LOG_NAME).is_file()]
    except OSError:
        return []
    entries = [describe(folder) for folder in folders]
    entries.sort(key=lambda e: (not e.live, -(e.started_wall_ns or _written(e.path)), e.name))
    return entries


def newest_live(root: Path | None = None) -> SessionEntry | None:
    """The live session that was started last."""
    first = next(iter(list_sessions(root)), None)
    return first if first is not None and first.live else None


def describe(folder: Path) -> SessionEntry:
    """What a session folder says of itself; never fails on a damaged one."""
    live = is_live(folder)
    owner = read_owner(folder)
    return SessionEntry(
        path=folder.resolve(),
        name=folder.name,
        started_wall_ns=_started(folder),
        live=live,
        recorder_pid=owner.pid if owner and live else None,
        target_pid=owner.target_pid if owner and live else None,
        state="live" if live else "ended" if _has_end(folder) else "cut",
    )


def _started(folder: Path) -> int | None:
    first = LogReader(folder, most_bytes=1 << 16).poll()
    wall_ns = next((r.wall_ns for r in first if isinstance(r, SessionStart)), 0)
    return wall_ns or None  # an imported log does not tell


def _written(folder: Path) -> int:
    """When the log was written last, for sessions that do not know when they started."""
    try:
        return (folder / LOG_NAME).stat().st_mtime_ns
    except OSError:
        return 0


def _has_end(folder: Path) -> bool:
    last = LogReader(folder, from_end=1 << 16).poll()
    return any(isinstance(r, (SessionEnd, TargetExit)) for r in last)
