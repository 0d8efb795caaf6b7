"""JSON lines, one object per emit, with the late frames' causes and evidence."""

from __future__ import annotations

from typing import TextIO

import msgspec

from mgtop.export.emits import late_frames
from mgtop.export.frames import Told


def write(session: Told, out: TextIO) -> None:
    """Write all emits; what is not known is null."""
    late = late_frames(session.summary)
    encode = msgspec.json.Encoder().encode
    for f in session.frames:
        tail = late.get((f.proc, f.request, f.emit))
        row = {
            "request": f.request,
            "pid": f.pid,
            "emit": f.emit,
            "index": f.index,
            "count": f.count,
            "t_ms": round(f.t_ms, 3),
            "interval_ms": f.interval_ms,
            "warmup": f.warmup,
            "late": None if tail is None else msgspec.to_builtins(tail),
        }
        out.write(encode(row).decode() + "\n")
