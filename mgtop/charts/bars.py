"""Bars in eighths of a row: one value a column, gaps where there is none."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, zip_longest
from operator import itemgetter
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
HALVES = Glyphs(" ▄█", "░", "^", "-", "│")
"""What the fonts of the Linux console have."""
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
    show_zero: bool = False
    """A lowest value of zero is what matters: its column has a bar in the band ``tail``."""


def draw(bars: Bars, height: int, glyphs: Glyphs = BLOCKS) -> list[list[Run]]:
    """``height`` rows, the uppermost first."""
    over = tuple(
        bars.limit is not None and (height - 1 - row) / height * bars.top >= bars.limit
        for row in range(height)
    )
    target = _target_row(bars, height)
    columns = _columns(
        _Shape(height, bars.top, over, target, bars.show_flagged, bars.show_zero, glyphs)
    )
    marks = [0] * len(bars.high)
    for bit, at in ((LATE, bars.late), (MARKED, bars.marked), (FLAGGED, bars.flagged)):
        for column in at:
            marks[column] |= bit
    parts = bars.high if bars.part is None else bars.part
    drawn = map(columns.__getitem__, zip(bars.high, parts, marks, strict=True))
    return columns.joined(list(zip(*drawn, strict=True)) or [()] * height)


Cell = tuple[str, str]
"""A glyph and its band."""


LATE, MARKED, FLAGGED = 1, 2, 4
_SHAPES, _COLUMNS = 8, 1024


class _Shape(NamedTuple):
    """What all columns of a chart have in common."""

    height: int
    top: float
    over: tuple[bool, ...]
    """By row: whether bars there have the band ``over``."""
    target_row: int | None
    show_flagged: bool
    show_zero: bool
    glyphs: Glyphs


class _Columns(dict[tuple[float | None, float | None, int], tuple[Cell, ...]]):
    """The cells of columns, the uppermost first, by value, part and marks.

    They are kept, since nearly all columns of a chart are as they were a moment ago.
    """

    def __init__(self, shape: _Shape) -> None:
        super().__init__()
        self._shape = shape
        self._rows: list[tuple[Cell, ...]] = []
        self._runs: list[list[Run]] = []

    def __missing__(self, key: tuple[float | None, float | None, int]) -> tuple[Cell, ...]:
        if len(self) >= _COLUMNS:
            self.clear()
        cells = self[key] = _column(self._shape, *key)
        return cells

    def joined(self, rows: list[tuple[Cell, ...]]) -> list[list[Run]]:
        """Rows as runs; those that are as they were the last time are the same objects."""
        before = zip_longest(self._rows[: len(rows)], self._runs[: len(rows)], rows)
        self._runs = [runs if was == row else join(row) for was, runs, row in before]
        self._rows = rows
        return list(self._runs)


@lru_cache(_SHAPES)
def _columns(shape: _Shape) -> _Columns:
    return _Columns(shape)


def _column(shape: _Shape, value: float | None, part: float | None, marks: int) -> tuple[Cell, ...]:
    height, glyphs = shape.height, shape.glyphs
    steps = len(glyphs.fill) - 1
    level = _level(value, shape.top, height * steps)
    filled = min(_level(part, shape.top, height * steps), level)
    if shape.show_zero and part is not None and part <= 0:
        level, filled, marks = max(1, level), 1, marks | LATE
    cells: list[Cell] = []
    for row in range(height):
        base = (height - 1 - row) * steps
        bar = "tail" if marks & LATE else "over" if shape.over[row] else "bar"
        empty = (glyphs.target, "target") if row == shape.target_row else (" ", "empty")
        cell = _cell(level - base, filled - base, bar, empty, glyphs)
        if row == 0 and value is not None and value > shape.top:
            cell = (glyphs.over, cell[1])
        for band, bit in (("mark", MARKED), ("tail", FLAGGED)):
            if marks & bit:
                cell = _flagged(cell, band, shape.show_flagged, glyphs)
        cells.append(cell)
    return tuple(cells)


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
    return [
        Run("".join(map(_GLYPH, neighbours)), band) for band, neighbours in groupby(cells, _BAND)
    ]


_GLYPH, _BAND = itemgetter(0), itemgetter(1)


def text_row(width: int, *parts: tuple[int, str, str], band: str = "empty") -> list[Run]:
    """A row with pieces of text at given columns: (column, text, band); later ones win."""
    cells: list[Cell] = [(" ", band)] * width
    for column, text, its in parts:
        for offset, glyph in enumerate(text):
            if 0 <= column + offset < width:
                cells[column + offset] = (glyph, its)
    return join(cells)
