"""Who records a session: a lock that cannot outlive its holder, and what the holder says."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

import msgspec

from mgtop.wire.records import proc_of

LOCK_NAME = "recorder.lock"


class SessionBusy(Exception):
    """Another recorder holds the session."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The recorder's and the target's pids with their ``proc`` numbers."""

    pid: int
    proc: int
    target_pid: int | None = None
    target_proc: int | None = None


def proc_number(pid: int) -> int | None:
    """The ``proc`` number of a running process; None where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return proc_of(pid, int(stat[stat.rindex(b")") + 2 :].split()[19]))
    except (OSError, ValueError, IndexError):
        return None


class SessionLock:
    """Held by the recorder for as long as it runs; the kernel lets it go when it dies.

    Raises:
        SessionBusy: it is held already.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(folder / LOCK_NAME, flags, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise SessionBusy(f"{folder} is being recorded already") from None

        self._owner = Owner(pid=os.getpid(), proc=proc_number(os.getpid()) or 0)
        self._write()

    def update(self, target_pid: int) -> None:
        """Say which target is recorded."""
        self._owner = msgspec.structs.replace(
            self._owner, target_pid=target_pid, target_proc=proc_number(target_pid)
        )
        self._write()

    def _write(self) -> None:
        text = msgspec.json.encode(self._owner)
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, text, 0)

    def release(self) -> None:
        """Let go; the folder then counts as no longer live."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> SessionLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def is_live(folder: Path) -> bool:
    """Whether a recorder holds the session now."""
    try:
        fd = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.close(fd)
    return False


def read_owner(folder: Path) -> Owner | None:
    """What the recorder wrote last; None where there is nothing readable."""
    try:
        return msgspec.json.decode((folder / LOCK_NAME).read_bytes(), type=Owner)
    except (OSError, msgspec.MsgspecError):
        return None
