"""Which process a pid means, and whether it can be watched from here.

A process in a container has two pids: the one that this machine calls it by, and the one that
it knows itself. Its probe says the latter in every event and in the name of its FIFO.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from mgtop.wire.records import proc_of

MODULES = ("mgtop", "mgtop.record")
"""What ``python -m`` runs as mgtop itself; its demo is a program like any other."""

_PADDING = bytes(8)


class CannotAttach(Exception):
    """This pid cannot be watched; ``str()`` says why and what to do."""


@dataclass(frozen=True)
class Process:
    """A running process.

    Attributes:
        pid: as this machine calls it; ``proc``: with its start time, so that it means this
            process for good.
        inner_pid, inner_proc: the same as the process itself knows them.
        uid: its effective user; ``inner_uid``: as its own user namespace numbers it.
        name: of its program, at most 15 characters.
        command: its command line; empty where it cleared that.
    """

    pid: int
    proc: int
    inner_pid: int
    inner_proc: int
    uid: int
    inner_uid: int
    name: str
    command: tuple[str, ...]

    @property
    def root(self) -> Path:
        """Its root folder, whatever it is mounted from."""
        return Path(f"/proc/{self.pid}/root")

    @property
    def is_contained(self) -> bool:
        """Whether it has a pid of its own beside the one here."""
        return self.inner_pid != self.pid


def look(pid: int) -> Process | None:
    """What ``/proc`` tells of a process; None where it is gone, or was never there.

    The dead who are not collected yet (zombies) are gone, too.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        status = _table(Path(f"/proc/{pid}/status").read_text(errors="replace"))
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        fields = stat[stat.rindex(b")") + 2 :].split()
        ticks = int(fields[19])
        uid = int(status["Uid"].split()[1])
        inner_pid = int(status.get("NSpid", str(pid)).split()[-1])
    except (OSError, ValueError, KeyError, IndexError):
        return None
    if fields[0] in (b"Z", b"X"):
        return None
    return Process(
        pid=pid,
        proc=proc_of(pid, ticks),
        inner_pid=inner_pid,
        inner_proc=proc_of(inner_pid, ticks),
        uid=uid,
        inner_uid=_inner_uid(pid, uid),
        name=status.get("Name", "?"),
        command=_words(command),
    )


def start_of(pid: int, proc: Path = Path("/proc")) -> int | None:
    """When a process started, in the kernel's ticks; None: there is none.

    Args:
        pid: as that list numbers it.
        proc: where the list of processes is mounted.
    """
    try:
        stat = (proc / str(pid) / "stat").read_bytes()
        return int(stat[stat.rindex(b")") + 2 :].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def find(pid: int) -> Process:
    """The process to attach to.

    Raises:
        CannotAttach: there is none, or it cannot be watched from here.
    """
    try:
        status = _table(Path(f"/proc/{pid}/status").read_text(errors="replace"))
    except OSError:
        raise CannotAttach(_no_such(pid)) from None
    leader = int(status.get("Tgid", pid))
    if leader != pid:
        raise CannotAttach(f"{pid} is a thread of process {leader}; attach to {leader}.")
    process = look(pid)
    name = status.get("Name", "?")
    if process is None:
        parent = status.get("PPid", "?")
        raise CannotAttach(
            f"Process {pid} ({name}) has ended already; it only waits for its parent {parent} "
            "to collect it."
        )
    if "VmSize" not in status:
        raise CannotAttach(f"{pid} ({name}) is a thread of the kernel, not a program.")
    if is_mgtop(process.command):
        raise CannotAttach(
            f"Process {pid} is mgtop itself; give the pid of the program that makes the frames."
        )
    if not _may_look_into(pid):
        raise CannotAttach(_not_ours(process))
    return process


def is_mgtop(command: tuple[str, ...]) -> bool:
    """Whether a command line is one of mgtop's own."""
    words = command[:3]
    if any(Path(word).name == "mgtop" for word in words[:2]):
        return True
    return len(words) == 3 and words[1] == "-m" and words[2] in MODULES


def _may_look_into(pid: int) -> bool:
    """Whether its files and environment can be read: what ptrace would be allowed, too."""
    try:
        os.listdir(f"/proc/{pid}/fd")
        Path(f"/proc/{pid}/environ").open("rb").close()
    except PermissionError:
        return False
    except OSError:
        return True  # it has ended just now; that is noticed later
    return True


def _not_ours(process: Process) -> str:
    pid, name = process.pid, process.name
    user = user_name(process.uid)
    if process.uid != os.geteuid():
        here = user_name(os.geteuid())
        more = " with the capability SYS_PTRACE" if os.geteuid() == 0 else " or as root"
        return (
            f"Process {pid} ({name}) belongs to user {user}, and you are {here}: "
            f"run mgtop as {user}{more}."
        )
    return (
        f"Process {pid} ({name}) keeps its files and environment to itself (a set-uid program, "
        "one with more capabilities than mgtop has, or one that made itself not dumpable): run "
        "mgtop as root, with the capability SYS_PTRACE."
    )


def user_name(uid: int) -> str:
    """A user's name; the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return str(uid)


def _no_such(pid: int) -> str:
    return (
        f"There is no process {pid} here; pgrep -af python lists candidates "
        "(a container numbers its processes by itself)."
    )


def _inner_uid(pid: int, uid: int) -> int:
    """The user's number inside the process's user namespace."""
    try:
        lines = Path(f"/proc/{pid}/uid_map").read_text().splitlines()
        own = Path("/proc/self/uid_map").read_text().splitlines()
    except OSError:
        return uid
    if lines == own:
        return uid
    for line in lines:
        inside, outside, count = map(int, line.split())
        if outside <= uid < outside + count:
            return inside + uid - outside
    return uid


def _table(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _words(command: bytes) -> tuple[str, ...]:
    """The words of ``/proc/PID/cmdline``; a program that writes its title there pads it."""
    command = command.rstrip(b"\0") if command.endswith(_PADDING) else command[:-1]
    return tuple(map(os.fsdecode, command.split(b"\0"))) if command else ()
