"""A session in one of the formats, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from mgtop.export import csv_frames, jsonl, mangohud, perfetto, presentmon
from mgtop.export.frames import told
from mgtop.export.machine_at import Machine


def write(
    folder: Path,
    to: str,
    out: TextIO,
    raw: bool = False,
    share: Callable[[float], None] | None = None,
) -> None:
    """Write the session to ``out``.

    Args:
        folder: of the session.
        to: ``csv``, ``jsonl``, ``mangohud``, ``perfetto`` or ``presentmon``.
        out: where to.
        raw: in frame logs, a row per emit instead of per frame as it is played.
        share: is called now and then with the share of the session that is read.
    """
    session = told(folder, share)
    if to == "csv":
        csv_frames.write(session, out)
    elif to == "jsonl":
        jsonl.write(session, out)
    elif to == "mangohud":
        mangohud.write(session, out, Machine(folder), raw)
    elif to == "presentmon":
        presentmon.write(session, out, raw)
    elif to == "perfetto":
        perfetto.write(session, out, folder, Machine(folder))
    else:
        raise ValueError(to)
