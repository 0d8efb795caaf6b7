"""Bars in eighths of a row: one value a column, gaps where there is none."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Run(NamedTuple):
    """Neighbouring cells of one band."""

    text: str
    band: str


@dataclass(frozen=True)
class Glyphs:
    """Characters for a cell that is filled from below, from empty to full, and for lines."""

    fill: str
    rest: str
    """A full cell of the whole above its part: told apart without colours, too."""
    over: str
    """Top cell of a value beyond the scale."""
    target: str
    mark: str


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", "░", "▲", "┄", "│")
ASCII = Glyphs(" ..::||##", ":", "^", "-", "|")


@dataclass(frozen=True)
class Bars:
    """What to draw.

    Attributes:
        high: one value a column, oldest first; None leaves the column empty.
        part: values that are part of ``high`` (the target's share of the whole, the lowest of
            a column): drawn in front, in the band ``bar``, while ``high`` has the band ``rest``.
        top: value at the upper edge of the chart.
        target: value of a dotted line behind the bars.
        limit: bars in rows from this value on have the band ``over``.
        late: columns of a late frame's time: their bars have the band ``tail``.
        flagged: columns where late frames end: a line from top to bottom, band ``tail``.
        marked: columns that somebody marked: likewise, band ``mark``.
        show_flagged: the bars of flagged columns are what is late, and stay to be seen.
    """

    high: Sequence[float | None]
    top: float
    part: Sequence[float | None] | None = None
    target: float | None = None
    limit: float | None = None
    late: Collection[int] = field(default_factory=frozenset)
    flagged: Collection[int] = field(default_factory=frozenset)
    marked: Collection[int] = field(default_factory=frozenset)
    show_flagged: bool = False


def draw(bars: Bars, height: int, glyphs: Glyphs = BLOCKS) -> list[list[Run]]:
    """``height`` rows, the uppermost first."""
    steps = len(glyphs.fill) - 1
    full = height * steps
    columns = len(bars.high)
    target = _target_row(bars, height)
    levels = [_level(value, bars.top, full) for value in bars.high]
    if bars.part is None:
        parts = levels
    else:
        parts = [
            min(_level(part, bars.top, full), level)
            for part, level in zip(bars.part, levels, strict=True)
        ]
    rows: list[list[Run]] = []
    for row in range(height):
        base = (height - 1 - row) * steps
        is_over = bars.limit is not None and base / full * bars.top >= bars.limit
        bar = "over" if is_over else "bar"
        empty = (glyphs.target, "target") if row == target else (" ", "empty")
        cells = [
            _cell(
                levels[column] - base,
                parts[column] - base,
                "tail" if column in bars.late else bar,
                empty,
                glyphs,
            )
            for column in range(columns)
        ]
        if row == 0:
            for column, value in enumerate(bars.high):
                if value is not None and value > bars.top:
                    cells[column] = (glyphs.over, cells[column][1])
        for band, flags in (("mark", bars.marked), ("tail", bars.flagged)):
            for column in flags:
                cells[column] = _flagged(cells[column], band, bars.show_flagged, glyphs)
        rows.append(join(cells))
    return rows


Cell = tuple[str, str]
"""A glyph and its band."""


def _cell(level: int, part: int, bar: str, empty: Cell, glyphs: Glyphs) -> Cell:
    """A cell that whole and part fill to ``level`` and ``part`` steps (or beyond)."""
    steps = len(glyphs.fill) - 1
    if level <= 0:
        return empty
    if part > 0 and (level >= steps or part >= level // 2):
        return glyphs.fill[min(part, steps)], bar
    # One cell shows one bar: the part, unless the whole is more than twice as high.
    return (glyphs.rest if level >= steps else glyphs.fill[level]), "rest"


def _flagged(cell: Cell, band: str, show: bool, glyphs: Glyphs) -> Cell:
    """The line through a cell: in front of its bar, or only where there is none."""
    glyph, was = cell
    if was in ("empty", "target"):
        return glyphs.mark, band
    if show or glyph not in (glyphs.fill[-1], glyphs.rest):
        # The upper end of a bar is what it says: a line over it would hide the value.
        return glyph, band
    return glyphs.mark, f"{band}_on_{'rest' if was == 'rest' else 'bar'}"


def _level(value: float | None, top: float, full: int) -> int:
    """Eighths that a value fills; anything above zero fills at least one."""
    if value is None or not value > 0:
        return 0
    return max(1, min(full, math.floor(value / top * full + 0.5)))


def _target_row(bars: Bars, height: int) -> int | None:
    if bars.target is None or not 0 < bars.target <= bars.top:
        return None
    return max(0, height - 1 - math.floor(bars.target / bars.top * height))


def join(cells: Sequence[Cell]) -> list[Run]:
    """Cells into runs."""
    runs: list[Run] = []
    text: list[str] = []
    band = ""
    for glyph, its in cells:
        if its != band and text:
            runs.append(Run("".join(text), band))
            text = []
        band = its
        text.append(glyph)
    if text:
        runs.append(Run("".join(text), band))
    return runs


def text_row(width: int, *parts: tuple[int, str, str], band: str = "empty") -> list[Run]:
    """A row with pieces of text at given columns: (column, text, band); later ones win."""
    cells: list[Cell] = [(" ", band)] * width
    for column, text, its in parts:
        for offset, glyph in enumerate(text):
            if 0 <= column + offset < width:
                cells[column + offset] = (glyph, its)
    return join(cells)
