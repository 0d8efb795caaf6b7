"""A still picture of the intervals over time, drawn by plotext."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mgtop.report.page import cut

_HEIGHT = 10
_FRAME = 10
"""Columns beside the canvas that plotext's axis may take."""


@dataclass(frozen=True)
class IntervalPlot:
    """Largest interval of each column of time, ms; None: none ended in it.

    The columns share the time from ``begin_s`` to ``end_s`` (since the session's start).
    """

    values: Sequence[float | None]
    begin_s: float
    end_s: float


def columns_for(width: int) -> int:
    """Columns worth asking for at a width: two dots of a braille cell each."""
    return max(2 * (width - _FRAME), 2)


def in_columns(values: Sequence[float | None], columns: int) -> list[float | None]:
    """The largest value under each of so many columns; None: there is none.

    A value that lies under two columns shows in both: a peak may be wider than true, never lost.
    """
    if len(values) <= columns:
        return list(values)
    largest: list[float | None] = []
    for column in range(columns):
        first = column * len(values) // columns
        end = -(-(column + 1) * len(values) // columns)
        known = [value for value in values[first:end] if value is not None]
        largest.append(max(known) if known else None)
    return largest


def draw(plot: IntervalPlot, width: int, height: int = _HEIGHT) -> list[str]:
    """The picture's lines, without colour; empty where there is nothing to draw."""
    values = in_columns(plot.values, columns_for(width))
    known = [(column, value) for column, value in enumerate(values) if value is not None]
    if not known:
        return []
    from plotext import figure

    step = (plot.end_s - plot.begin_s) / len(values)
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width - 2, height)
    stems = figure.signal(
        [plot.begin_s + (column + 0.5) * step for column, _ in known],
        [value for _, value in known],
        marker="braille",
    )
    stems.fillx()
    figure.draw(stems)
    top = max(value for _, value in known) * 1.02 or 1.0
    figure.ruler("y").lim(0, top)
    figure.ruler("x").lim(plot.begin_s, plot.end_s)
    _ticks(figure.ruler("y"), 0.0, top, 3)
    _ticks(figure.ruler("x"), plot.begin_s, plot.end_s, 5)
    text = figure.build().string(colorless=True)
    figure.clear()
    about = "interval, ms, over time, s (largest per column)"
    return [cut(f"  {about}", width)] + [
        "  " + line.rstrip() for line in text.splitlines() if line.strip()
    ]


def _ticks(ruler: object, low: float, high: float, count: int) -> None:
    places = [low + (high - low) * part / (count - 1) for part in range(count)]
    digits = 0 if high - low >= 20 else 1 if high - low >= 2 else 2
    ruler.ticks(places, [f"{place:.{digits}f}" for place in places])  # type: ignore[attr-defined]
