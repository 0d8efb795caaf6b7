"""One recording of a process at a time: a lock file in the runtime folder.

It names the process for good and holds the path of the session, so that whoever comes second
can open that one. It goes when the recording ends; the kernel drops the lock of a recorder
that dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class AlreadyAttached(Exception):
    """Another recorder has the process.

    Attributes:
        session: folder of its session; None where it did not say (yet).
    """

    def __init__(self, session: Path | None) -> None:
        where = f" in {session.name}" if session is not None else ""
        super().__init__(f"The process is being recorded already{where}.")
        self.session = session


class Claim:
    """Held by the recorder that is attached to a process.

    Args:
        runtime: the runtime folder.
        proc: the process.
        session: folder of the session.

    Raises:
        AlreadyAttached: another recorder has it.
        OSError: the file cannot be made.
    """

    def __init__(self, runtime: Path, proc: int, session: Path) -> None:
        self._path = path_of(runtime, proc)
        while True:
            self._fd = os.open(self._path, _FLAGS, 0o600)
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._fd)
                raise AlreadyAttached(holder(runtime, proc)) from None
            if os.fstat(self._fd).st_nlink:
                break
            os.close(self._fd)  # its holder has just left and taken the name away
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, os.fsencode(session), 0)

    def release(self) -> None:
        """Let go."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._fd)
            self._fd = -1


def path_of(runtime: Path, proc: int) -> Path:
    """The lock file of a process."""
    return runtime / f"{proc:x}.attached"


def holder(runtime: Path, proc: int) -> Path | None:
    """The session that records an attached process; None where there is none."""
    try:
        fd = os.open(path_of(runtime, proc), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.fsdecode(os.pread(fd, 4096, 0))
        return Path(text) if text else None
    finally:
        os.close(fd)
    return None


def remove_stale(runtime: Path) -> None:
    """Remove the lock files of recorders that died before they could."""
    for path in runtime.glob("*.attached"):
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(fd)
