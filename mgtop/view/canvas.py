"""One widget that shows rows of text: only rows that changed are drawn again.

Textual rewrites every cell of a region that it refreshes, so the whole live screen is one
widget that knows itself which of its rows are new.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from mgtop.charts import Run

BANDS = (
    "empty",
    "text",
    "dim",
    "strong",
    "title",
    "title_dim",
    "good",
    "warn",
    "bad",
    "bar",
    "rest",
    "over",
    "tail",
    "tail_on_bar",
    "tail_on_rest",
    "mark",
    "mark_on_bar",
    "mark_on_rest",
    "target",
    "axis",
    "selected",
    "key",
    "label",
)


class Canvas(Widget, can_focus=True):
    """Shows the rows that it was given last.

    Args:
        plain: characters to show in place of others (of ``str.translate``), for terminals
            whose fonts lack them.
    """

    COMPONENT_CLASSES = {f"canvas--{band.replace('_', '-')}" for band in BANDS}  # noqa: RUF012  # Textual's

    DEFAULT_CSS = """
    Canvas { width: 100%; height: 100%; background: $background; }
    Canvas .canvas--empty { color: $band-text; }
    Canvas .canvas--text { color: $band-text; }
    Canvas .canvas--dim { color: $band-dim; }
    Canvas .canvas--strong { color: $band-strong; text-style: bold; }
    Canvas .canvas--title { color: $band-title; text-style: bold; }
    Canvas .canvas--title-dim { color: $band-dim; text-style: underline; }
    Canvas .canvas--good { color: $band-good; }
    Canvas .canvas--warn { color: $band-warn; text-style: bold; }
    Canvas .canvas--bad { color: $band-bad; text-style: bold; }
    Canvas .canvas--bar { color: $band-bar; }
    Canvas .canvas--rest { color: $band-rest; }
    Canvas .canvas--over { color: $band-warn; }
    Canvas .canvas--tail { color: $band-tail; text-style: bold; }
    Canvas .canvas--tail-on-bar { color: $band-tail; background: $band-bar; text-style: bold; }
    Canvas .canvas--tail-on-rest { color: $band-tail; background: $band-rest; text-style: bold; }
    Canvas .canvas--mark { color: $band-mark; }
    Canvas .canvas--mark-on-bar { color: $band-mark; background: $band-bar; }
    Canvas .canvas--mark-on-rest { color: $band-mark; background: $band-rest; }
    Canvas .canvas--target { color: $band-target; }
    Canvas .canvas--axis { color: $band-dim; }
    Canvas .canvas--selected { color: $band-selected; text-style: bold reverse; }
    Canvas .canvas--key { color: $band-dim; }
    Canvas .canvas--label { color: $band-title; }
    """

    def __init__(self, plain: dict[int, str] | None = None) -> None:
        super().__init__()
        self._plain = plain
        self._rows: list[list[Run]] = []
        self._strips: dict[int, Strip] = {}
        """Rows as Textual wants them, for :attr:`_strips_width`."""
        self._strips_width = 0
        self._styles: dict[str, Style] = {}
        self.rows_drawn = 0

    def show(self, rows: list[list[Run]]) -> None:
        """Show these rows; those that are as before are left alone."""
        before, self._rows = self._rows, rows
        changed = [
            y
            for y in range(max(len(rows), len(before)))
            if y >= len(rows) or y >= len(before) or rows[y] != before[y]
        ]
        for y in changed:
            self._strips.pop(y, None)
        self.rows_drawn += len(changed)
        if changed:
            width = self.size.width
            self.refresh(*(Region(0, y, width, height) for y, height in _blocks(changed)))

    def notify_style_update(self) -> None:
        """The theme has changed."""
        super().notify_style_update()
        self._styles.clear()
        self._strips.clear()

    def text(self) -> str:
        """What is shown, without colours."""
        return "\n".join("".join(self._text(run) for run in row) for row in self._rows)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows of a region.

        They are kept here: a canvas has no border, padding, tint or hatch, which Textual would
        see to for each row.
        """
        width = self.size.width
        strips = [self._strip(y, width) for y in crop.line_range]
        if crop.column_span == (0, width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One row."""
        return self._strip(y, self.size.width)

    def _strip(self, y: int, width: int) -> Strip:
        if width != self._strips_width:
            self._strips_width = width
            self._strips.clear()
        strip = self._strips.get(y)
        if strip is None:
            row = self._rows[y] if y < len(self._rows) else []
            segments = [Segment(self._text(run), self._style(run.band)) for run in row]
            strip = Strip(segments).adjust_cell_length(width, self._style("empty"))
            self._strips[y] = strip
        return strip

    def _text(self, run: Run) -> str:
        return run.text if self._plain is None else run.text.translate(self._plain)

    def _style(self, band: str) -> Style:
        style = self._styles.get(band)
        if style is None:
            name = f"canvas--{band.replace('_', '-')}"
            style = self._styles[band] = self._filtered(self.get_component_rich_style(name))
        return style

    def _filtered(self, style: Style) -> Style:
        """What Textual's filters make of a style: the terminal's own colours, or none at all."""
        segments = [Segment(" ", style)]
        for line_filter in self.get_line_filters():
            segments = line_filter.apply(segments, self.background_colors[1])
        return segments[0].style or style


def _blocks(rows: list[int]) -> list[tuple[int, int]]:
    """Ascending rows as blocks of neighbours: first row and number."""
    blocks: list[tuple[int, int]] = []
    for y in rows:
        first, number = blocks[-1] if blocks else (y, 0)
        if blocks and first + number == y:
            blocks[-1] = (first, number + 1)
        else:
            blocks.append((y, 1))
    return blocks
