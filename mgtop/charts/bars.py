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
    over: str
    """Top cell of a value beyond the scale."""
    target: str
    mark: str


BLOCKS = Glyphs(" ▁▂▃▄▅▆▇█", "▲", "┄", "│")
ASCII = Glyphs(" ..::||##", "^", "-", "|")


@dataclass(frozen=True)
class Bars:
    """What to draw.

    Attributes:
        high: one value a column, oldest first; None leaves the column empty.
        part: values that are part of ``high`` (the target's share of the whole): drawn in
            front, in the band ``bar``, while ``high`` then has the band ``rest``.
        top: value at the upper edge of the chart.
        target: value of a dotted line behind the bars.
        flagged: columns that are late frames: a line from top to bottom, band ``tail``.
        marked: columns that somebody marked: likewise, band ``mark``.
    """

    high: Sequence[float | None]
    top: float
    part: Sequence[float | None] | None = None
    target: float | None = None
    flagged: Collection[int] = field(default_factory=frozenset)
    marked: Collection[int] = field(default_factory=frozenset)


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
    beyond = [value is not None and value > bars.top for value in bars.high]
    rows: list[list[Run]] = []
    for row in range(height):
        base = (height - 1 - row) * steps
        cells = [
            _cell(bars, column, levels[column] - base, parts[column] - base, row, target, glyphs)
            for column in range(columns)
        ]
        if row == 0:
            for column in range(columns):
                if beyond[column]:
                    cells[column] = (glyphs.over, cells[column][1])
        rows.append(join(cells))
    return rows


def _cell(
    bars: Bars, column: int, level: int, part: int, row: int, target: int | None, glyphs: Glyphs
) -> tuple[str, str]:
    steps = len(glyphs.fill) - 1
    flag = "tail" if column in bars.flagged else "mark" if column in bars.marked else None
    if level <= 0:
        if flag is not None:
            return glyphs.mark, flag
        if row == target:
            return glyphs.target, "target"
        return " ", "empty"
    if part >= steps:
        return glyphs.fill[steps], flag or "bar"
    if part > 0:
        # The whole reaches above the part inside this cell or beyond it: the cell shows the
        # part, over the colour of the whole where that fills the cell.
        band = "bar_on_rest" if level >= steps else "bar"
        return glyphs.fill[part], flag or band
    return glyphs.fill[min(level, steps)], flag or "rest"


def _level(value: float | None, top: float, full: int) -> int:
    """Eighths that a value fills; anything above zero fills at least one."""
    if value is None or not value > 0:
        return 0
    return max(1, min(full, math.floor(value / top * full + 0.5)))


def _target_row(bars: Bars, height: int) -> int | None:
    if bars.target is None or not 0 < bars.target <= bars.top:
        return None
    return max(0, height - 1 - math.floor(bars.target / bars.top * height))


def join(cells: Sequence[tuple[str, str]]) -> list[Run]:
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
    cells: list[tuple[str, str]] = [(" ", band)] * width
    for column, text, its in parts:
        for offset, glyph in enumerate(text):
            if 0 <= column + offset < width:
                cells[column + offset] = (glyph, its)
    return join(cells)
