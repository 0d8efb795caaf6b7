"""The time axis: columns of a fixed duration that stand still until one is full."""

from __future__ import annotations

from mgtop.charts.bars import Run, text_row

_MS = 1_000_000
_S = 1_000 * _MS
STEPS_NS: tuple[int, ...] = (
    50 * _MS,
    100 * _MS,
    250 * _MS,
    500 * _MS,
    1 * _S,
    2 * _S,
    5 * _S,
    10 * _S,
    30 * _S,
    60 * _S,
    300 * _S,
)
"""Durations of a column, for zooming."""


def steps() -> tuple[int, ...]:
    """Durations of a column that zooming goes through, ns."""
    return STEPS_NS


def window_end(now_ns: int, step_ns: int, start_ns: int) -> int:
    """End of the window that shows ``now``: a whole number of columns after the start.

    So a column's borders never move while the window does, and drawn columns stay as they are.
    """
    return start_ns + -(-(now_ns - start_ns) // step_ns) * step_ns


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
