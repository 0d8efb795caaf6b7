"""One late frame with everything around it: the story, the evidence, and all channels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from mgtop.analysis.closeup import Strip
from mgtop.analysis.live import TailMark
from mgtop.analysis.summary import Evidence, Tail
from mgtop.charts import Bars, Glyphs, Run, draw, text_row
from mgtop.view.figures import clean, fit, gib, ms, number
from mgtop.view.tail_words import explanation, heading, remedy
from mgtop.view.text_rows import Piece, line

Rows = list[list[Run]]
GUTTER, VALUES = 13, 15
"""Columns of the names at the left of the strips, and of the figures at their right."""
NOTABLE = 0.05
"""Work below this share of the time can be left out."""
LOW_SHARE = 0.5
"""A level whose lowest value is above this share of its highest is drawn from near its lowest."""


def plot_width(width: int) -> int:
    """Columns of the time axis."""
    return max(8, width - GUTTER - VALUES)


def story_rows(tail: Tail, width: int) -> Rows:
    """Which frame, why it was late, what to do."""
    rows: Rows = [line(width, [(" ", "text"), (heading(tail), "strong")])]
    band = "dim" if tail.cause is None else "tail"
    for text, its in ((explanation(tail), band), (remedy(tail), "text")):
        mark = "▸ " if text and its == "text" else ""
        rows += [
            line(width, [(" ", "text"), (part, its)])
            for part in textwrap.wrap(mark + text, width - 2)
        ]
    return rows


def strip_rows(
    strips: Sequence[Strip],
    mark: TailMark,
    begin_ns: int,
    end_ns: int,
    width: int,
    glyphs: Glyphs,
    tall: bool = False,
) -> Rows:
    """A ruler with the late interval, a strip for each channel, and the axis."""
    columns = plot_width(width)
    step = (end_ns - begin_ns) / columns
    first = max(0, min(columns - 1, int((mark.begin_ns - begin_ns) / step)))
    last = max(first, min(columns - 1, int((mark.t_ns - 1 - begin_ns) / step)))
    late = frozenset(range(first, last + 1))
    label = f"{ms(mark.tail.interval_ms)} ms"
    ruler = "├" + "─" * max(0, last - first - 1) + ("┤" if last > first else "")
    beside = GUTTER + last + 2
    if beside + len(label) > width:
        beside = GUTTER + first - len(label) - 1
    there = (GUTTER + columns + 1, "inside it", "dim")
    parts = [there, (GUTTER + first, ruler, "tail"), (beside, label, "tail")]
    rows = [text_row(width, *parts)]
    for strip in strips:
        height = 2 if tall and strip.name == "interval" else 1
        rows += _strip(strip, width, columns, late, height, glyphs)
    rows.append(_axis(begin_ns, end_ns, mark.t_ns, width, columns))
    return rows


def _strip(
    strip: Strip, width: int, columns: int, late: frozenset[int], height: int, glyphs: Glyphs
) -> Rows:
    floor = _floor(strip)
    high = _above(strip.high, floor)
    part = None if strip.kind != "level" else _above(strip.low, floor)
    bars = Bars(high, top=max(1e-9, strip.top - floor), part=part, late=late)
    drawn = draw(bars, height, glyphs)
    gutter = [fit(f" {clean(strip.name)}", GUTTER)] + [" " * GUTTER] * (height - 1)
    values = [" " + fit(_value(strip), VALUES - 1)] + [" " * VALUES] * (height - 1)
    pad = " " * (width - GUTTER - columns - VALUES)
    return [
        [Run(name, "title"), *row, Run(value + pad, "text" if strip.within else "dim")]
        for name, row, value in zip(gutter, drawn, values, strict=True)
    ]


def _floor(strip: Strip) -> float:
    if strip.kind != "level" or strip.unit != "MiB":
        return 0.0
    lows = [value for value in strip.low if value is not None]
    lowest, highest = min(lows), strip.top
    if lowest < LOW_SHARE * highest:
        return 0.0
    # A little below the lowest, so that this is still a bar.
    return lowest - max(0.15 * (highest - lowest), 0.01 * highest)


def _above(values: Sequence[float | None], floor: float) -> list[float | None]:
    return [None if value is None else value - floor for value in values]


def _value(strip: Strip) -> str:
    """What a strip was in the late interval."""
    if strip.within is None:
        return "n/a"
    if strip.unit == "MiB":
        if strip.lowest is not None and strip.within - strip.lowest >= 1.0:
            return f"−{gib(strip.within - strip.lowest)}"
        return gib(strip.within)
    if strip.kind == "busy" or strip.unit == "ms":
        return f"{ms(strip.within)} ms" if strip.within else "–"
    if strip.unit == "%":
        return f"{strip.within:.0f} %"
    if not strip.unit:
        return f"{strip.lowest:.0f}–{strip.within:.0f} of {strip.top:.0f}"
    return f"{strip.within:,.0f} {strip.unit}"


def _axis(begin_ns: int, end_ns: int, zero_ns: int, width: int, columns: int) -> list[Run]:
    """Seconds before and after the emit."""
    step = (end_ns - begin_ns) / columns
    length_s = (end_ns - begin_ns) / 1e9
    every = next((e for e in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if e / length_s * columns >= 11), 10.0)
    parts: list[tuple[int, str, str]] = [(0, " s from emit", "dim")]
    number_of = round(length_s / every) + 2
    for n in range(-number_of, number_of + 1):
        column = (zero_ns + n * every * 1e9 - begin_ns) / step
        label = f"╵{n * every:+.1f}" if n else "╵emit"
        if column >= 0 and column + len(label) <= columns + VALUES - 1:
            parts.append((GUTTER + int(column), label, "axis"))
    return text_row(width, *parts, band="axis")


HEAD = f" {'evidence':<14} {'value':<14} {'explains':<11} {'began':<11} read from"
"""Of the evidence; cut on narrow screens."""


def evidence_rows(tail: Tail, width: int) -> tuple[Rows, Rows]:
    """What was there, with value, lead, source and period; and, in words, what was not."""
    present = [item for item in tail.evidence if item.state == "present"]
    rows: Rows = [line(width, [(fit(HEAD, width), "title_dim")])]
    shares = {share.name: share for share in tail.causes}
    for item in present:
        share = shares.get(item.channel)
        proves = ""
        if share is not None:
            bound = {"exact": "", "upper": "≤ ", "lower": "≥ "}[share.bound]
            proves = f"{bound}{ms(share.explained_ms)} ms"
        began = "" if item.lead_ms is None else f"{ms(item.lead_ms)} ms ↤"
        text = (
            f" {item.channel:<14} {_reading(item):<14} {proves:<11} {began:<11}"
            f" {clean(item.source or '')}, {_period(item)}"
        )
        rows.append(line(width, [(text, "tail" if share is not None else "text")]))
    if not present:
        rows.append(line(width, [(" nothing was present", "dim")]))
    others: Rows = []
    for state, title in (("absent", "absent"), ("not_resolved", "not resolved")):
        names = [item.channel for item in tail.evidence if item.state == state]
        wrapped = textwrap.wrap(", ".join(names) or "nothing", width - 16)
        for n, part in enumerate(wrapped):
            pieces: list[Piece] = [(fit("" if n else f" {title}", 15), "dim"), (part, "dim")]
            others.append(line(width, pieces))
    return rows, others


def worth_showing(strips: Sequence[Strip], interval_ms: float, room: int) -> list[Strip]:
    """Those that fit, or else without work that takes hardly any time, late or not."""
    if len(strips) <= room:
        return list(strips)
    least = NOTABLE * interval_ms
    return [
        strip
        for strip in strips
        if strip.kind != "busy"
        or (strip.within or 0.0) >= least
        or any(value is not None and value >= 2 * NOTABLE for value in strip.high)
    ]


def _reading(item: Evidence) -> str:
    return f"{number(item.value)} {item.unit or ''}".strip() if item.value is not None else "yes"


def _period(item: Evidence) -> str:
    return "as it happens" if item.period_ms is None else f"every {ms(item.period_ms)} ms"
