"""Who records a session: a lock that cannot outlive its holder, and what the holder says."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import TracebackType

import msgspec

from mgtop.session.writer import cannot_write
from mgtop.wire.records import proc_of
from mgtop.wire.text import printable

LOCK_NAME = "recorder.lock"
_CONTENT_BYTES = 512
"""Always overwritten whole, so that nobody reads a half of it."""


class SessionBusy(Exception):
    """Another recorder holds the session."""


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The recorder's and the target's pids with their ``proc`` numbers.

    ``machine``: where these pids mean anything (:func:`this_machine`), on the host ``host``; empty
    in sessions of before.
    """

    pid: int
    proc: int
    target_pid: int | None = None
    target_proc: int | None = None
    machine: str = ""
    host: str = ""

    @property
    def here(self) -> bool:
        """Whether its pids are of this machine, as this process counts them."""
        return not self.machine or self.machine == this_machine()


def this_machine() -> str:
    """This boot of this machine, and this namespace of pids; empty where that is not told."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def proc_number(pid: int) -> int | None:
    """The ``proc`` number of a running process; None where there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        return proc_of(pid, int(stat[stat.rindex(b")") + 2 :].split()[19]))
    except (OSError, ValueError, IndexError):
        return None


class SessionLock:
    """Held by the recorder for as long as it runs; the kernel lets it go when it dies.

    Whoever looks at that moment whether the session is live holds it too, for microseconds:
    try again a few times before believing :class:`SessionBusy`.

    Raises:
        SessionBusy: it is held already.
        SessionWriteError: it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._fd = -1
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd = os.open(self._path, flags, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise SessionBusy(f"{folder} is being recorded already") from None
        except OSError as error:
            self.release()
            raise cannot_write(self._path, error) from None
        self._owner = Owner(
            pid=os.getpid(),
            proc=proc_number(os.getpid()) or 0,
            machine=this_machine(),
            host=printable(os.uname().nodename),
        )
        self._write()

    def update(self, target_pid: int) -> None:
        """Say which target is recorded.

        Raises:
            SessionWriteError: it cannot be written.
        """
        self._owner = msgspec.structs.replace(
            self._owner, target_pid=target_pid, target_proc=proc_number(target_pid)
        )
        self._write()

    def _write(self) -> None:
        try:
            os.pwrite(self._fd, msgspec.json.encode(self._owner).ljust(_CONTENT_BYTES), 0)
        except OSError as error:
            self.release()
            raise cannot_write(self._path, error) from None

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
        fd = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
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
        fd = os.open(folder / LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            return msgspec.json.decode(os.read(fd, _CONTENT_BYTES), type=Owner)
        finally:
            os.close(fd)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
