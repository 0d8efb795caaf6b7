"""The charts of the live screen, one under the other on one time axis, as rows of text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mgtop.analysis.causes import letter_of
from mgtop.analysis.live import LiveView, TailMark
from mgtop.charts import Glyphs, Run, axis_row, draw, text_row
from mgtop.view.figures import fit
from mgtop.view.panels import Chart
from mgtop.view.window import Window

Rows = list[list[Run]]
PENDING = "!"
"""On the time axis: late, and the cause is not judged yet."""


def chart_rows(
    view: LiveView,
    window: Window,
    charts: Sequence[Chart],
    titles: Sequence[list[Run]],
    heights: Sequence[int],
    glyphs: Glyphs,
    selected: TailMark | None,
) -> Rows:
    """Flags, then each chart's title and bars, then the axis."""
    width = window.width
    rows: Rows = [_flag_row(view, window, selected)]
    for chart, title, height in zip(charts, titles, heights, strict=True):
        if chart.titled:
            rows.append(title)
        if height and chart.bars is not None:
            drawn = draw(chart.bars, height, glyphs)
            rows += drawn if chart.titled else [_labelled(drawn[0], chart.title), *drawn[1:]]
        elif height and not chart.titled:
            rows.append(text_row(width, (0, fit(chart.title, width), "dim")))
        elif height:
            lines = shell_lines(chart.text, width - 2)[:height]
            rows += [text_row(width, (1, line, "strong")) for line in lines]
            rows += [text_row(width) for _ in range(height - len(lines))]
    rows.append(axis_row(width, window.begin_ns, window.step_ns, view.start_ns))
    return rows


_WORD = re.compile(r"(?:'[^']*'|\"[^\"]*\"|\\.|\S)+")


def shell_lines(line: str, width: int) -> list[str]:
    """A line for a shell, broken between words so that it can be pasted with its breaks."""
    lines: list[str] = []
    for word in _WORD.findall(line):
        if lines and len(lines[-1]) + 1 + len(word) + 2 <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [*(f"{line} \\" for line in lines[:-1]), *lines[-1:]]


def _labelled(row: list[Run], label: str) -> list[Run]:
    """A row of bars with a label on its oldest columns."""
    text = f" {label} "
    width = sum(len(run.text) for run in row)
    text = text if len(text) <= width else fit(text, width)
    runs, left = [Run(text, "label")], len(text)
    for run in row:
        if left >= len(run.text):
            left -= len(run.text)
            continue
        runs.append(Run(run.text[left:], run.band))
        left = 0
    return runs


def flags_of(view: LiveView, window: Window) -> dict[int, TailMark]:
    """Column → the tail that ends in it; the one that lost most, where there are several."""
    found: dict[int, TailMark] = {}
    for mark in view.tails:
        column = window.column(mark.t_ns - 1)
        if column is None:
            continue
        there = found.get(column)
        if there is None or mark.tail.excess_ms > there.tail.excess_ms:
            found[column] = mark
    return found


def late_columns(view: LiveView, window: Window) -> set[int]:
    """Columns in which a late frame was waited for."""
    columns: set[int] = set()
    for mark in view.tails:
        first = (mark.begin_ns - window.begin_ns) // window.step_ns
        last = (mark.t_ns - 1 - window.begin_ns) // window.step_ns
        columns.update(range(max(0, first), min(window.width - 1, last) + 1))
    return columns


def marked_columns(view: LiveView, window: Window) -> list[int]:
    """Columns with marks in them."""
    columns = (window.column(t_ns) for t_ns in view.marks_ns)
    return [column for column in columns if column is not None]


def _flag_row(view: LiveView, window: Window, selected: TailMark | None) -> list[Run]:
    parts: list[tuple[int, str, str]] = []
    for column, mark in flags_of(view, window).items():
        is_selected = selected is not None and mark.t_ns == selected.t_ns
        letter = letter_of(mark.tail.cause) if mark.tail.cause is not None else PENDING
        if is_selected:
            parts.insert(0, (column - 1, "▸", "selected"))
        parts.append((column, letter, "selected" if is_selected else "tail"))
    parts += [(column, "▾", "mark") for column in marked_columns(view, window)]
    return text_row(window.width, *parts)


def title_row(chart: Chart, width: int) -> list[Run]:
    """The line above a chart: what it shows, and its figures."""
    title = f" {chart.title}  "
    left = width - len(title)
    figures = "  ".join(chart.figures)
    if len(figures) > left:
        figures = " ".join(chart.figures)
    band = "bad" if chart.stale else "dim"
    return text_row(width, (0, title, "title"), (len(title), fit(figures, left), band), band="dim")
