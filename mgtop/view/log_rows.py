"""The target's output as rows: when, what, and which lines tell something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mgtop.charts import Run
from mgtop.charts.axis import clock
from mgtop.view.figures import fit
from mgtop.view.output_text import Line
from mgtop.view.text_rows import Piece, line

GUTTER = 11
BANDS = {
    "oom": "bad",
    "oom_suspect": "bad",
    "error": "bad",
    "allocator": "warn",
    "compile": "mark",
    "weights_loaded": "good",
    "progress": "dim",
}
"""By the kind of line that mgtop understood."""


def log_rows(
    lines: Sequence[Line],
    times_ns: Sequence[int | None],
    kinds: Mapping[int, str],
    selected: int | None,
    shift: int,
    found: str,
    width: int,
) -> list[list[Run]]:
    """A row a line: its time since the session's start, and its text from column ``shift`` on.

    ``kinds``: what mgtop understood, by where a line begins; ``selected``: likewise.
    """
    rows = []
    for one, t_ns in zip(lines, times_ns, strict=True):
        chosen = one.begin == selected
        when = "" if t_ns is None else clock(t_ns, fine=True)
        band = BANDS.get(kinds.get(one.begin, ""), "text")
        text = one.text[shift:]
        pieces: list[Piece] = [
            (f"{'▸' if chosen else ' '}{when:>{GUTTER - 3}}  ", "selected" if chosen else "dim")
        ]
        pieces += _parts(text, found, "strong" if chosen and band == "text" else band)
        rows.append(line(width, pieces))
    return rows


def _parts(text: str, found: str, band: str) -> list[Piece]:
    """The text with what was looked for standing out."""
    if not found:
        return [(text, band)]
    within = text if found != found.lower() else text.lower()
    parts: list[Piece] = []
    at = 0
    if len(within) != len(text):  # a few letters change their number when they become small
        return [(text, band)]
    while (next_at := within.find(found, at)) >= 0:
        parts += [(text[at:next_at], band), (text[next_at : next_at + len(found)], "selected")]
        at = next_at + len(found)
    return [*parts, (text[at:], band)]


def where_row(offset: int, size: int, follows: bool, found: str, width: int) -> list[Run]:
    """How far down the file this is, and what is looked for."""
    share = 100.0 * offset / size if size else 100.0
    state = "follows the end" if follows else f"at {share:.0f} %"
    looked = f"  / {found}" if found else ""
    return line(width, [(fit(f" output, {size:,} bytes, {state}{looked}", width), "title_dim")])
