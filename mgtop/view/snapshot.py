"""Saving a moment: the picture, the figures, and the last records as they came."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from mgtop.analysis.summary import Summary
from mgtop.report.json import render
from mgtop.session.folder import open_private
from mgtop.session.snapshots import new_snapshot
from mgtop.wire.records import AnyRecord


def save(folder: Path, svg: str, summary: Summary, records: Iterable[AnyRecord]) -> Path:
    """Write ``snapshots/TIME/`` with ``screen.svg``, ``summary.json`` and ``records.jsonl``.

    A record is one line: its kind, then its fields by name.

    Raises:
        OSError: it cannot be written; nothing of it is left.
    """
    target = new_snapshot(folder)
    try:
        with open_private(target / "screen.svg") as file:
            file.write(svg.encode("utf-8", "replace"))
        with open_private(target / "summary.json") as file:
            file.write(f"{render(summary)}\n".encode())
        with open_private(target / "records.jsonl") as file:
            for record in records:
                fields = {name: getattr(record, name) for name in record.__struct_fields__}
                file.write(msgspec.json.encode({"kind": type(record).__name__, **fields}) + b"\n")
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return target
