"""The session that records a process already, if there is one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from mgtop.record.tree import descendants, environment_of
from mgtop.session.lock import Owner, is_live, proc_number, read_owner

_RECORDER = ("-m", "mgtop.record")


def recording_of(pid: int) -> Path | None:
    """Folder of the live session whose target is this process, or an ancestor of it.

    Looked for in the process's own environment (a launched one was told) and among all
    recorders that run here, wherever their sessions are.
    """
    told = environment_of(pid).get("MGTOP_SESSION")
    folders = [Path(told)] if told else []
    for folder in [*folders, *_recorded_here()]:
        owner = read_owner(folder) if is_live(folder) else None
        if owner is not None and pid in _recorded_by(owner):
            return folder
    return None


def _recorded_by(owner: Owner) -> list[int]:
    """Pids of the tree that a recorder records; those it adopted are its own children."""
    if proc_number(owner.pid) != owner.proc:
        return []  # of another container: its pids mean nothing here
    roots = [owner.pid]
    if owner.target_pid is not None and proc_number(owner.target_pid) == owner.target_proc:
        roots.append(owner.target_pid)
    return descendants(roots)


def _recorded_here() -> Iterator[Path]:
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        except OSError:
            continue
        if len(words) == 4 and tuple(map(os.fsdecode, words[1:3])) == _RECORDER:
            yield Path(os.fsdecode(words[3]))
