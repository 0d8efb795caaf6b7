"""Memory over the session as rows: its shape, the readings, stages, curves and what happened."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

from mgtop.analysis.live import LiveView, Series
from mgtop.analysis.memory_figures import MemoryPin, MemorySummary, StageMemory
from mgtop.analysis.reasons_memory import RELEASE
from mgtop.charts import Bars, Glyphs, Run, axis_row, draw, round_up, text_row
from mgtop.charts.axis import clock
from mgtop.view.chart_rows import marked_columns, title_row
from mgtop.view.figures import age, clean, fit, gib, in_unit_of, unit_of
from mgtop.view.panels import NEAR_FULL, Chart
from mgtop.view.text_rows import Piece, line
from mgtop.view.window import Window

Rows = list[list[Run]]
STAGE_NAMES = {"load": "loading", "idle": "idle", "first_frame": "first frame", "steady": "steady"}
STAGE_BANDS = {"load": "warn", "idle": "dim", "first_frame": "mark", "steady": "good"}
PIN_LETTERS = {"oom": "O", "retry": "R", "spill": "S", "segment_map": "m"}
READINGS = ("before_load", "resident", "first_frame", "steady")
SOURCES = (
    ("process", "process (driver)"),
    ("reserved", "reserved (framework)"),
    ("allocated", "allocated (framework)"),
    ("host", "RAM of the program"),
)


def memory_rows(
    view: LiveView, window: Window, height: int, glyphs: Glyphs, cursor: int | None
) -> Rows:
    """Everything, in ``height`` rows."""
    width = window.width
    memory = view.summary.memory
    top = _story(memory, width)
    table = _readings(memory, width)
    charts = _charts(view, width, marked_columns(view, window), cursor)
    pins = _pin_rows(view, width)
    notes = _note_rows(memory, width)
    fixed = 3 + len(charts)  # stages, pins, axis; titles
    drawn = sum(chart.bars is not None for chart in charts)
    least = fixed + drawn + 1
    if len(top) + len(table) + least > height:
        table = _brief(memory, width)
    if len(top) + len(table) + least > height:
        top = top[:1]
    below = [*pins, *notes]
    room = height - len(top) - len(table) - fixed - 2 * drawn
    below = below[: max(1, min(len(below), room))]
    left = max(drawn, height - len(top) - len(table) - fixed - len(below))
    heights = _shared_out(left, [chart.bars is not None for chart in charts])
    rows = [*top, *table, _stage_row(view, window), _pin_row(view, window)]
    for chart, its in zip(charts, heights, strict=True):
        rows.append(title_row(chart, width))
        if chart.bars is not None:
            rows += draw(chart.bars, its, glyphs)
    rows.append(axis_row(width, window.begin_ns, window.step_ns, view.start_ns))
    return [*rows, *below]


def _shared_out(rows: int, filled: Sequence[bool]) -> list[int]:
    number = sum(filled)
    if not number:
        return [0] * len(filled)
    each, more = divmod(rows, number)
    heights: list[int] = []
    for there in filled:
        heights.append(0 if not there else max(1, each + (1 if more > 0 else 0)))
        more -= there
    return heights


def _story(memory: MemorySummary, width: int) -> Rows:
    """What shape memory has, RAM apart from the GPU's, and what to do about a rise."""
    host = memory.host
    bad = memory.shape in ("rising", "sawtooth") or bool(memory.ooms) or memory.spill is not None
    told: list[tuple[str, str]] = []
    if memory.text:
        told.append((memory.text, "bad" if bad else "text"))
    elif memory.gpus or memory.peak.mib is not None:
        told.append(("No shape yet: it takes two dozen steady frames.", "text"))
    if host.text and (host.shape == "rising" or not memory.text):
        told.append((host.text, "warn" if host.shape == "rising" else "text"))
    if not told:
        reason = next(iter(memory.unavailable.values()), "no GPU memory of the program was read")
        told.append((f"GPU memory: n/a ({clean(reason)}).", "text"))
    if "rising" in (memory.shape, host.shape):
        told = told[:1] if memory.shape == "rising" else told[-1:]
        told.append((RELEASE, "text"))
    rows: Rows = []
    for text, band in told[:2]:
        sign = " → " if text is RELEASE else " ▸ "
        for n, part in enumerate(_wrapped(text, width)[:3]):
            rows.append(line(width, [("   " if n else sign, band), (part, band)]))
    return rows


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(clean(text), width - 4) or [""]


def _readings(memory: MemorySummary, width: int) -> Rows:
    """The four readings and the peak, a row for each source that told anything."""
    roomy = width >= 78
    name = 22 if roomy else 12
    heads = ("before load", "resident", "1st frame", "steady", "peak")
    text = f"{fit('   MiB', name)}" + "".join(f"{head:>11}" for head in heads)
    rows: Rows = [line(width, [(fit(text, width), "title_dim")])]
    for key, title in SOURCES:
        values = [
            getattr(memory.readings[r], f"{key}_mib") if r in memory.readings else None
            for r in READINGS
        ]
        peak, where = _peak(memory, key)
        if peak is None and all(value is None for value in values):
            continue
        shown = "".join(f"{_mib(value):>11}" for value in (*values, peak))
        if name + len(shown) + len(where) > width:
            where = ""
        pieces: list[Piece] = [(fit(f" {title}", name), "dim"), (shown, "strong"), (where, "dim")]
        rows.append(line(width, pieces))
    return rows if len(rows) > 1 else []


def _brief(memory: MemorySummary, width: int) -> Rows:
    """One line of it, for a low screen."""
    peak = memory.peak
    stage = f" in {STAGE_NAMES[peak.stage]}" if peak.stage else ""
    host = memory.host.peak_mib
    pieces: list[Piece] = [
        (" MiB  resident ", "dim"), (_mib(memory.resident_mib), "strong"),
        ("  steady ", "dim"), (_mib(memory.steady_mib), "strong"),
        ("  peak ", "dim"), (f"{_mib(peak.mib)}{stage}", "strong"),
        ("  RAM ", "dim"), (_mib(host), "strong"),
    ]  # fmt: skip
    return [line(width, pieces)]


def _peak(memory: MemorySummary, key: str) -> tuple[float | None, str]:
    """The highest peak of a source over the stages, and where it was."""
    best: tuple[float, str, float | None] | None = None
    # What is found at rest was reached before: idle comes last.
    for stage, found in sorted(memory.stages.items(), key=lambda item: item[0] == "idle"):
        value = _of(found, f"{key}_mib")
        if value is not None and (best is None or value > best[0]):
            best = (value, stage, _of(found, f"{key}_t_ms"))
    if best is None:
        return (memory.host.peak_mib, "") if key == "host" else (None, "")
    value, stage, t_ms = best
    at = "" if t_ms is None else f" {clock(round(t_ms * 1e6))}"
    return value, f"  in {STAGE_NAMES.get(stage, stage)}{at}"


def _of(stage: StageMemory, name: str) -> float | None:
    value: float | None = getattr(stage, name)
    return value


def _mib(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.0f}"


def _stage_row(view: LiveView, window: Window) -> list[Run]:
    """The stages by name where they begin, and how far they go."""
    parts: list[tuple[int, str, str]] = []
    for span in view.stages:
        end_ns = window.end_ns if span.end_ns is None else span.end_ns
        first = max(0, (span.begin_ns - window.begin_ns) // window.step_ns)
        last = min(window.past(view.now_ns) - 1, (end_ns - 1 - window.begin_ns) // window.step_ns)
        if last < first:
            continue
        name = STAGE_NAMES[span.stage] + ("?" if span.inferred else "")
        room = last - first + 1
        text = f"╵{name}"[:room] if room < len(name) + 1 else fit(f"╵{name}", room)
        parts.append((int(first), text, STAGE_BANDS[span.stage]))
    return text_row(window.width, *parts)


def _pin_row(view: LiveView, window: Window) -> list[Run]:
    parts = [(column, "▾", "mark") for column in marked_columns(view, window)]
    for pin in view.pins:
        column = window.column(pin.t_ns)
        if column is not None:
            parts.append(
                (column, PIN_LETTERS[pin.kind], "tail" if pin.kind != "segment_map" else "mark")
            )
    return text_row(window.width, *parts)


def _charts(view: LiveView, width: int, marked: Sequence[int], cursor: int | None) -> list[Chart]:
    """The driver's curves, the framework's, and RAM: apart, since they never mean the same."""
    gpu = view.memory_gpu
    if gpu is None:
        keys = [key for key in view.series if key.startswith("vram:")]
        gpu = min((int(key.split(":")[1]) for key in keys), default=0)
    lines = frozenset(marked if cursor is None else (*marked, cursor))
    several = sum(key.startswith("vram:") for key in view.series) > 1
    its = f" {gpu}" if several else ""
    charts = [
        _pair(
            view, f"GPU memory{its}, by the driver",
            ("process", f"vram_process:{gpu}"), ("device", f"vram:{gpu}"), width, lines,
        ),
        _pair(
            view, f"GPU memory{its}, by the framework",
            ("allocated", f"torch_allocated:{gpu}"), ("reserved", f"torch_reserved:{gpu}"),
            width, lines,
        ),
    ]  # fmt: skip
    if all(chart.bars is None for chart in charts):
        # One line says why there is nothing of either.
        charts = [replace(charts[0], title=f"GPU memory{its}, by driver and framework")]
    ram = _pair(view, "RAM of the program", ("resident", "host_rss"), None, width, lines)
    return [*charts, ram]


def _pair(
    view: LiveView,
    title: str,
    mine: tuple[str, str],
    whole: tuple[str, str] | None,
    width: int,
    lines: frozenset[int],
) -> Chart:
    """The part in front (█) of the whole behind it (░); either may be missing."""
    part = view.series.get(mine[1])
    around = view.series.get(whole[1]) if whole is not None else part
    known = [s for s in (part, around) if s is not None and s.last is not None]
    if not known:
        reasons = [s.reason for s in (part, around) if s is not None and s.reason]
        return Chart(title, [f"n/a: {reasons[0]}" if reasons else "n/a"], None)
    shown = around if around is not None and around.last is not None else known[0]
    high = _padded(shown.high, width)
    front = _padded(part.high, width) if part is not None and part.last is not None else None
    if front is not None:
        high = [_larger(a, b) for a, b in zip(high, front, strict=True)]
    peak = max((value for value in high if value is not None), default=0.0)
    limit = shown.limit
    # A scale that ends at the card's size hides what a small program does.
    top = limit if limit is not None and peak > 0.25 * limit else _round(peak)
    figures = [f"0–{in_unit_of(top, top)}{unit_of(top)}"]
    signs = ("█", "░") if whole is not None else ("",)
    for sign, named in zip(signs, (mine, whole or mine), strict=False):
        series = view.series.get(named[1])
        value = series.last if series is not None else None
        why = (
            ""
            if value is not None or series is None or not series.reason
            else f" ({series.reason})"
        )
        figures.append(f"{sign} {named[0]} {gib(value)}{why}".strip())
    if limit is not None:
        figures.append(f"of {gib(limit)}")
    figures.append(_age(shown))
    over = None if limit is None or top != limit else NEAR_FULL * limit
    bars = Bars(high, top=max(top, 1.0), part=front or [None] * width, limit=over, marked=lines)
    if whole is None:
        bars = Bars(high, top=max(top, 1.0), marked=lines)
    return Chart(title, figures, bars, stale=shown.stale)


def _round(mib: float) -> float:
    """The next round number of the unit in which it is told."""
    return 1024 * round_up(mib / 1024) if mib >= 10_240 else round_up(mib)


def _padded(values: Sequence[float | None], width: int) -> list[float | None]:
    return [*values, *[None] * (width - len(values))]


def _larger(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else max(a, b)


def _age(series: Series) -> str:
    if series.stale:
        return f"✖ STALE for {age(series.age_ns)}"
    old = series.age_ns or 0
    since = "<1 s" if old < 1_000_000_000 else age(old)
    every = f"every {age(series.period_ns)}" if series.period_ns else "at every emit"
    return f"{every}, {since} old"


def _pin_rows(view: LiveView, width: int) -> Rows:
    """What happened in the window, the newest first, with its message and stage."""
    return [_pin_text(view, pin, width) for pin in reversed(view.pins)]


def _pin_text(view: LiveView, pin: MemoryPin, width: int) -> list[Run]:
    at = clock(pin.t_ns - view.start_ns, fine=True)
    where = STAGE_NAMES.get(pin.stage or "", "")
    frame = "" if pin.frame is None else f", frame {pin.frame}"
    band = "bad" if pin.kind in ("oom", "spill") else "tail" if pin.kind == "retry" else "mark"
    name = {"oom": "out of memory", "segment_map": "segment map"}.get(pin.kind, pin.kind)
    pieces: list[Piece] = [
        (f" {PIN_LETTERS[pin.kind]} {at:>8} ", band),
        (f"{name}", band),
        (f"  {where}{frame}  ", "dim"),
        (clean(pin.text), "text"),
    ]
    return line(width, pieces)


def _note_rows(memory: MemorySummary, width: int) -> Rows:
    """Where the curves disagree, and what cannot be had."""
    texts = [differ.text for differ in memory.differ if differ.text]
    reasons: dict[str, list[str]] = {}
    for name, reason in memory.unavailable.items():
        reasons.setdefault(reason, []).append(name)
    texts += [f"{', '.join(names)}: n/a, {reason}" for reason, names in reasons.items()]
    return [
        line(width, [("   " if n else " · ", "dim"), (part, "dim")])
        for text in texts
        for n, part in enumerate(_wrapped(text, width))
    ]
