"""CSV, one row per emit, for spreadsheets and data frames."""

from __future__ import annotations

import csv
from typing import TextIO

from mgtop.export.frames import Told

COLUMNS = (
    "request", "pid", "emit", "index", "count", "t_ms", "interval_ms", "warmup", "excess_ms",
    "cause",
)  # fmt: skip


def write(session: Told, out: TextIO) -> None:
    """Write all emits; what is not known is an empty field."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for f in session.frames:
        rows.writerow(
            (
                f.request, f.pid, f.emit, f.index, f.count,
                f"{f.t_ms:.3f}",
                _text(f.interval_ms), int(f.warmup), _text(f.excess_ms), f.cause or "",
            )
        )  # fmt: skip


def _text(ms: float | None) -> str:
    return "" if ms is None else f"{ms:.3f}"
