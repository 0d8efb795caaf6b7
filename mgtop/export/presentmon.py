"""PresentMon 1.x's CSV, which CapFrameX and FrameView's tools read.

One row per frame that the viewer sees, by playout (see :mod:`mgtop.export.mangohud`); ``raw``
writes one row per emit instead. It knows no requests: a session's are told one after the other.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import TextIO

from mgtop.export.frames import Told, shown

COLUMNS = (
    "Application", "ProcessID", "SwapChainAddress", "Runtime", "SyncInterval", "PresentFlags",
    "Dropped", "TimeInSeconds", "msInPresentAPI", "msBetweenPresents", "AllowsTearing",
    "PresentMode", "msUntilRenderComplete", "msUntilDisplayed", "msBetweenDisplayChange",
    "msFlipDelay", "msUntilRenderStart", "msGPUActive",
)  # fmt: skip


def write(session: Told, out: TextIO, raw: bool = False) -> None:
    """Write the rows. A column that has no meaning here is 0."""
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    name = " ".join(session.summary.session.name.split()) or "mgtop"
    for pid, t_s, ms in _rows(session, raw):
        rows.writerow(
            (
                name, pid, "0x1", "Other", 0, 0, 0, f"{t_s:.6f}", 0, f"{ms:.4f}", 0, "Other", 0, 0,
                f"{ms:.4f}", 0, 0, 0,
            )
        )  # fmt: skip


def _rows(session: Told, raw: bool) -> Iterator[tuple[int, float, float]]:
    if raw:
        for frame in session.frames:
            if frame.interval_ms is not None and frame.interval_ms > 0:
                yield frame.pid, (frame.t_ns - session.begin_ns) / 1e9, frame.interval_ms
        return
    for seen in shown(session):
        if seen.ms > 0:
            yield seen.pid, (seen.at_ms + seen.ms) / 1e3, seen.ms
