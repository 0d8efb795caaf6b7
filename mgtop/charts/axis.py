"""The time axis: columns of a fixed duration that stand still until one is full."""

from __future__ import annotations

from mgtop.charts.bars import Run, text_row

_MS = 1_000_000
_S = 1_000 * _MS
STEPS_NS: tuple[int, ...] = (
    40 * _MS,
    100 * _MS,
    200 * _MS,
    500 * _MS,
    1 * _S,
    2 * _S,
    5 * _S,
    10 * _S,
    30 * _S,
    60 * _S,
    120 * _S,
    240 * _S,
    600 * _S,
)
"""Durations of a column, for zooming: whole numbers of 20 ms, 100 ms, 1 s, 10 s and 120 s.

So readings that are kept in buckets of these widths fall into one column each.
"""


def steps() -> tuple[int, ...]:
    """Durations of a column that zooming goes through, ns."""
    return STEPS_NS


def window_end(now_ns: int, step_ns: int, hop: int = 1) -> int:
    """End of the window that shows ``now``: a whole number of columns since the clock's zero.

    So a column's borders never move while the window does, and drawn columns stay as they are.
    The window moves by ``hop`` columns at a time: between the hops, only the newest column
    changes, and a terminal is sent little else.
    """
    return -(-now_ns // (step_ns * hop)) * step_ns * hop


def axis_row(width: int, begin_ns: int, step_ns: int, start_ns: int) -> list[Run]:
    """Labels of elapsed time at round places that move with the columns."""
    every_ns = _label_distance(step_ns)
    parts: list[tuple[int, str, str]] = []
    first = -(-(begin_ns - start_ns) // every_ns)
    for number in range(first, first + width):
        at_ns = number * every_ns
        column = (at_ns + start_ns - begin_ns) // step_ns
        if column >= width:
            break
        if at_ns < 0:
            continue
        label = "╵" + clock(at_ns, fine=every_ns < _S)
        if column + len(label) <= width:
            parts.append((int(column), label, "axis"))
    return text_row(width, *parts, band="axis")


def _label_distance(step_ns: int) -> int:
    """A round time that is at least 14 columns wide."""
    wanted = 14 * step_ns
    for distance in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400):
        if distance * _S >= wanted:
            return distance * _S
    return 86400 * _S


def clock(t_ns: int, fine: bool = False) -> str:
    """``1:02``, ``1:02:03``; with ``fine`` tenths as well."""
    seconds, rest = divmod(max(0, t_ns), _S)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    tail = f".{rest // (100 * _MS)}" if fine else ""
    if hours:
        return f"{hours}:{minutes:02}:{seconds:02}{tail}"
    return f"{minutes}:{seconds:02}{tail}"
