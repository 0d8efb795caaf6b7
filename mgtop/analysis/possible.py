"""What a record may say at all. A log can hold anything: what cannot be is not judged.

The recorder checks what it writes. This is for logs that were written by others or damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mgtop.wire import records as r

LONGEST_NS = 1 << 61
"""Times and durations are below 73 years: differences of any two stay whole numbers."""
MOST_FRAMES = 1_000_000
EXACT = 1 << 53
"""Numbers up to here survive in every JSON reader."""


def is_possible(record: r.AnyRecord) -> bool:
    """Whether a record can be true as far as it alone can tell."""
    if not -LONGEST_NS < record.t_ns < LONGEST_NS:
        return False
    check = _CHECKS.get(type(record))
    return check is None or check(record)


def _frame(record: r.FrameEmit) -> bool:
    return (
        0 < record.count <= MOST_FRAMES
        and 0 <= record.index <= EXACT
        and 0 <= record.emit <= EXACT
        and 0 <= record.route < len(r.ROUTES)
        and (record.interval_ns is None or abs(record.interval_ns) < LONGEST_NS)
    )


def _request(record: r.RequestReceived) -> bool:
    return 0 <= record.route < len(r.ROUTES)


def _end(record: r.StreamEnd) -> bool:
    return record.frames is None or 0 <= record.frames <= EXACT


def _gap(record: r.LogGap) -> bool:
    return record.t_ns <= record.until_ns < LONGEST_NS


def _lasting(record: Any) -> bool:
    return bool(0 <= record.duration_ns < LONGEST_NS)


_CHECKS: dict[type, Callable[[Any], bool]] = {
    r.FrameEmit: _frame,
    r.RequestReceived: _request,
    r.StreamEnd: _end,
    r.Span: _lasting,
    r.LogGap: _gap,
    r.Wait: _lasting,
    r.GarbageCollection: _lasting,
    r.Compile: _lasting,
    r.SegmentMap: _lasting,
}
