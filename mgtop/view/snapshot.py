"""Saving a moment: the picture, the figures, and the last records as they came."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from mgtop.analysis.summary import Summary
from mgtop.report.json import render
from mgtop.session.folder import make_numbered
from mgtop.wire.records import AnyRecord


def save(folder: Path, svg: str, summary: Summary, records: Iterable[AnyRecord]) -> Path:
    """Write ``snapshots/TIME/`` with ``screen.svg``, ``summary.json`` and ``records.jsonl``.

    A record is one line: its kind, then its fields by name.

    Raises:
        OSError: it cannot be written.
    """
    parent = folder / "snapshots"
    parent.mkdir(mode=0o700, exist_ok=True)
    target = make_numbered(parent, time.strftime("%Y%m%d-%H%M%S"))
    (target / "screen.svg").write_text(svg, encoding="utf-8")
    (target / "summary.json").write_text(render(summary) + "\n", encoding="utf-8")
    with (target / "records.jsonl").open("wb") as file:
        for record in records:
            fields = {name: getattr(record, name) for name in record.__struct_fields__}
            file.write(msgspec.json.encode({"kind": type(record).__name__, **fields}) + b"\n")
    return target
