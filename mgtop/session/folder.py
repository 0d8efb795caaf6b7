"""Session folders: where they are, what they are called, which there are."""

from __future__ import annotations

import contextlib
import difflib
import errno
import fcntl
import os
import re
import shlex
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
from platformdirs import user_state_path

from mgtop.session.chunks import HEADER, MAX_PAYLOAD
from mgtop.session.lock import is_live, read_owner
from mgtop.session.reader import LogReader
from mgtop.session.writer import LOG_NAME, SessionWriteError
from mgtop.wire.records import SCHEMA, AnyRecord, LogGap, SessionEnd, SessionStart, TargetExit

NAME_BYTES = 120
"""Longest name of a folder, its number on a clash apart (file systems allow 255 bytes)."""
SHORTEST_NAME = 24
_UNSAFE = re.compile(r"[^\w.=+-]+")
_LOOK_BYTES = 1 << 16
_LOOKS = 4


class SessionNotFound(Exception):
    """No session of that name; ``str()`` says what there is."""


class SessionNewer(Exception):
    """A later version of mgtop wrote it in a form that this one would misread."""


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
    duration_ns: int | None
    """From the first record to the last one so far, by the log's own clock."""


def sessions_root() -> Path:
    """``$XDG_STATE_HOME/mgtop/sessions``; need not exist."""
    return user_state_path("mgtop", appauthor=False) / "sessions"


def folder_name(name: str, varied: Mapping[str, object], wall_ns: int) -> str:
    """``20261130-221500-stormlight-steps=16``: local time, name, what varies.

    Letters of all scripts are kept; what a shell or a file system could take amiss becomes
    ``_``. A long name is cut before what varies is.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(wall_ns / 1e9))
    suffix = "".join(f"-{_safe(f'{key}={value}')}" for key, value in varied.items())
    suffix = _cut(suffix, NAME_BYTES - len(stamp) - 1 - SHORTEST_NAME)
    middle = _cut(_safe(name), NAME_BYTES - len(stamp) - 1 - len(suffix.encode()))
    return f"{stamp}-{middle}{suffix}" if middle else f"{stamp}{suffix}"


def _safe(text: str) -> str:
    text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))
    return _UNSAFE.sub("_", text).strip("._-")


def _cut(text: str, most_bytes: int) -> str:
    """The beginning of a text, at a border between characters."""
    return text.encode()[:most_bytes].decode("utf-8", "ignore")


def create(name: str, varied: Mapping[str, object], out: Path | None, now_wall_ns: int) -> Path:
    """Make a new session folder, mode 0700: ``out`` itself, or one under the sessions' root.

    Raises:
        SessionWriteError: it cannot be made, or ``out`` already holds a session.
    """
    try:
        if out is not None:
            return _take(out)
        root = sessions_root()
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return make_numbered(root, folder_name(name, varied, now_wall_ns))
    except OSError as error:
        where = error.filename or out or sessions_root()
        raise SessionWriteError(f"cannot make {where}: {error.strerror}") from None


def make_numbered(parent: Path, base: str) -> Path:
    """Make a folder, mode 0700, of that name, with a number after it where the name is taken.

    Raises:
        OSError: it cannot be made.
    """
    for number in range(1, 1000):
        folder = parent / (base if number == 1 else f"{base}-{number}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(errno.EEXIST, "no free name", str(parent / base))


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Hold a folder while a session is begun in it: whoever else wants that is refused.

    The kernel lets it go when this process dies. Where a file system has no locks, two that
    come in the same moment are not told apart.

    Raises:
        SessionWriteError: another one begins, or has begun, a session there.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(folder) from None
        except OSError:
            pass
        if os.path.lexists(folder / LOG_NAME) or is_live(folder):
            raise _taken(folder)
        yield
    finally:
        os.close(fd)


def _taken(folder: Path) -> SessionWriteError:
    return SessionWriteError(f"{folder} already holds a session; choose another folder")


def _take(out: Path) -> Path:
    """The folder that was asked for, made where it is not there yet."""
    out.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(out, os.W_OK | os.X_OK):
        raise SessionWriteError(f"cannot write in {out}: permission denied")
    if os.path.lexists(out / LOG_NAME) or is_live(out):
        raise _taken(out)
    return out.resolve()


def find(text: str, root: Path | None = None) -> Path:
    """The session that a folder's path, or a unique part of a name, means.

    Of several names with that part, those are meant that end in it (``steps=1`` is not
    ``steps=16``), and of these the only live one.

    Raises:
        SessionNotFound, SessionAmbiguous: with the candidates.
        SessionNewer: this version cannot read it.
    """
    path = Path(text).expanduser()
    if path.name == LOG_NAME:
        path = path.parent
    if _holds_log(path):
        return _readable(path).resolve()
    if "/" in text or text in ("", ".", ".."):  # a place, never a part of a name
        raise SessionNotFound(_not_found(text, path, list_sessions(root)))
    entries = list_sessions(root)
    exact = [entry for entry in entries if entry.name == text]
    ending = [entry for entry in entries if entry.name.endswith(f"-{text}")]
    matches = exact or ending or [entry for entry in entries if text in entry.name]
    live = [entry for entry in matches if entry.live]
    if len(live) == 1:
        matches = live
    if len(matches) == 1:
        return _readable(matches[0].path)
    if not matches:
        raise SessionNotFound(_not_found(text, path, entries))
    names = ", ".join(entry.name for entry in matches[:5])
    more = f" and {len(matches) - 5} more" if len(matches) > 5 else ""
    raise SessionAmbiguous(f"{text!r} could be {names}{more}; give more of the name")


def word_for(folder: Path, root: Path | None = None) -> str:
    """What to call a session on a command line: its name; its path where it lies elsewhere."""
    root = sessions_root() if root is None else root
    here = folder.resolve().parent == root.resolve()
    return shlex.quote(folder.name if here else str(folder))


def open_private(path: Path) -> BinaryIO:
    """Begin a file of a session anew, for its owner alone, whatever its folder allows.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    return open(os.open(path, flags, 0o600), "wb")


def _readable(folder: Path) -> Path:
    if not os.access(folder / LOG_NAME, os.R_OK):
        raise SessionNotFound(f"{folder / LOG_NAME} cannot be read: permission denied")
    start = _start(folder)
    if start is not None and start.schema > SCHEMA:
        raise SessionNewer(
            f"{folder} was written by mgtop {start.mgtop}, in a newer form (schema {start.schema}) "
            f"than this version reads ({SCHEMA}): update mgtop"
        )
    return folder


def _not_found(text: str, path: Path, entries: Sequence[SessionEntry]) -> str:
    if os.path.isdir(path):
        return f"{path} is a folder, but holds no session ({LOG_NAME} is missing)"
    if os.path.isfile(path):
        return f"{path} is a file and no session; mgtop import makes one of a text log"
    close = difflib.get_close_matches(text, [entry.name for entry in entries], 1, 0.5)
    if close:
        there = f"did you mean {close[0]}?"
    elif entries:
        there = f"the newest is {entries[0].name}"
    else:
        there = "there are none yet"
    return f"no session is called {text!r}; {there} (mgtop ls shows all)"


def list_sessions(root: Path | None = None) -> list[SessionEntry]:
    """All sessions: live ones first, then the newest first.

    Whatever else lies there, and folders without a log, are left out.

    Raises:
        SessionNotFound: nobody can tell, since the root may not be read.
    """
    root = sessions_root() if root is None else root
    try:
        folders = [root / name for name in os.listdir(root)]
    except PermissionError as error:
        raise SessionNotFound(f"{root} cannot be read: {error.strerror}") from None
    except OSError:
        return []
    entries = [describe(folder) for folder in folders if _holds_log(folder)]
    entries.sort(key=lambda e: (not e.live, -(e.started_wall_ns or _written(e.path)), e.name))
    return entries


def _holds_log(folder: Path) -> bool:
    return os.path.isfile(folder / LOG_NAME)  # unlike Path.is_file, never raises


def newest_live(root: Path | None = None) -> SessionEntry | None:
    """The live session that was started last."""
    first = next(iter(list_sessions(root)), None)
    return first if first is not None and first.live else None


def describe(folder: Path) -> SessionEntry:
    """What a session folder says of itself; never fails on a damaged one."""
    live = is_live(folder)
    owner = read_owner(folder)
    start, last = _start(folder), _last(folder)
    ended = any(isinstance(record, (SessionEnd, TargetExit)) for record in last)
    return SessionEntry(
        path=folder.resolve(),
        name=folder.name,
        # an imported log does not tell
        started_wall_ns=start.wall_ns or None if start is not None else None,
        live=live,
        recorder_pid=owner.pid if owner and live else None,
        target_pid=owner.target_pid if owner and live else None,
        state="live" if live else "ended" if ended else "cut",
        duration_ns=_between(start, last),
    )


def _start(folder: Path) -> SessionStart | None:
    reader = LogReader(folder, most_bytes=_LOOK_BYTES)
    for _ in range(_LOOKS):
        for record in reader.poll():
            if isinstance(record, LogGap):
                continue
            # it is the first record, or it was lost
            return record if isinstance(record, SessionStart) else None
        if reader.at_end:
            break
    return None


def _last(folder: Path) -> list[AnyRecord]:
    """Some records at the end of the log, the last one among them."""
    for look in (_LOOK_BYTES, HEADER.size + MAX_PAYLOAD):  # the last chunk may be a large one
        reader = LogReader(folder, most_bytes=look + 1, from_end=look)
        last: list[AnyRecord] = []
        while not reader.at_end:
            last = reader.poll() or last
        if last:
            return last
    return []


def _between(start: SessionStart | None, last: Sequence[AnyRecord]) -> int | None:
    if start is None or not last:
        return None
    return max(0, max(record.t_ns for record in last) - start.t_ns)


def _written(folder: Path) -> int:
    """When the log was written last, for sessions that do not know when they started."""
    try:
        return (folder / LOG_NAME).stat().st_mtime_ns
    except OSError:
        return 0
