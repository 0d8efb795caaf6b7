"""The processes of the target: which there are, and which process a pid is."""

from __future__ import annotations

import os
from collections.abc import Iterable

from mgtop.session.lock import proc_number
from mgtop.wire.records import proc_of

__all__ = ["children", "descendants", "environment_of", "is_running", "proc_number"]


def is_running(pid: int, proc: int | None = None) -> bool:
    """Whether the process is there and not a zombie, and still the one that ``proc`` names."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
        fields = stat[stat.rindex(b")") + 2 :].split()
        ticks = int(fields[19])
    except (OSError, ValueError, IndexError):
        return False
    return fields[0] not in (b"Z", b"X") and (proc is None or proc_of(pid, ticks) == proc)


HAS_CHILDREN_FILES = os.path.exists(f"/proc/self/task/{os.getpid()}/children")
"""Some kernels (gVisor) lack them; then every process is asked for its parent."""


def children(pid: int) -> list[int]:
    """Direct children of a process, zombies included."""
    if not HAS_CHILDREN_FILES:
        return children_by_parent().get(pid, [])
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:
                found.extend(map(int, file.read().split()))
        except OSError:
            continue
    return found


def children_by_parent() -> dict[int, list[int]]:
    """The children of every process, as the processes themselves tell it."""
    found: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    stat = file.read()
                parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            found.setdefault(parent, []).append(int(entry))
    return found


def descendants(roots: Iterable[int]) -> list[int]:
    """``roots`` and all their descendants, parents first."""
    listed = None if HAS_CHILDREN_FILES else children_by_parent()
    found = list(dict.fromkeys(roots))
    known = set(found)
    for pid in found:  # grows while it is walked
        for child in children(pid) if listed is None else listed.get(pid, []):
            if child not in known:
                known.add(child)
                found.append(child)
    return found


def environment_of(pid: int) -> dict[str, str]:
    """Environment that a process was started with; empty where it cannot be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            block = file.read()
    except OSError:
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in block.split(b"\0") if b"=" in entry)
    return {name: value for name, _, value in pairs}
