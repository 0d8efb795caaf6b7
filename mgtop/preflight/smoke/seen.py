"""What the part inside the program wrote down (``mgtop/hooks/target/smoke_watch.py``)."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Seen(msgspec.Struct, frozen=True):
    """One line: ``opened``, ``loaded``, ``load_failed``, ``call``, ``compiled`` or ``writing``."""

    what: str
    pid: int
    t_ns: int
    path: str = ""
    bytes: int | None = None
    begin_ns: int = 0
    end_ns: int = 0
    name: str = ""
    text: str = ""


def read_seen(path: Path) -> list[Seen]:
    """All lines, in the order of time; none where nothing of mgtop ran in the program."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Seen))
        except msgspec.DecodeError:
            continue  # cut off by the end of the process
    return sorted(found, key=lambda one: one.t_ns)
