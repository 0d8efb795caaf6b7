"""The charts of the live screen, one under the other on one time axis, as rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mgtop.analysis.causes import letter_of
from mgtop.analysis.live import LiveView, Series, TailMark
from mgtop.charts import Bars, Glyphs, Run, axis_row, draw, round_up, text_row
from mgtop.view.figures import age, fit, gib, ms, percent

Rows = list[list[Run]]
FEWEST_SCALE_MS = 10.0
PENDING = "!"
"""On the time axis: late, and the cause is not judged yet."""


@dataclass(frozen=True)
class Chart:
    """One chart: what its title says and what its bars are."""

    title: str
    figures: str
    bars: Bars | None
    """None: there is nothing to draw, and the figures say why."""


def charts_of(view: LiveView) -> list[Chart]:
    """Inter-frame interval, GPU memory, GPU and CPU utilisation."""
    width = _width(view)
    flagged = frozenset(flags_of(view))
    marked = frozenset(_columns(view, view.marks_ns))
    found = [_interval(view), _memory(view), _gpu(view), _cpu(view)]
    charts = []
    for title, figures, bars in found:
        if bars is not None:
            bars = Bars(
                high=_padded(bars.high, width),
                top=bars.top,
                part=None if bars.part is None else _padded(bars.part, width),
                target=bars.target,
                flagged=flagged,
                marked=marked,
            )
        charts.append(Chart(title, figures, bars))
    return charts


def chart_rows(
    view: LiveView,
    charts: Sequence[Chart],
    heights: Sequence[int],
    width: int,
    glyphs: Glyphs,
    selected: TailMark | None,
) -> Rows:
    """Flags, then each chart's title and bars, then the axis."""
    step_ns = (view.end_ns - view.begin_ns) // max(1, _width(view))
    rows: Rows = [_flag_row(view, width, selected)]
    for chart, height in zip(charts, heights, strict=True):
        rows.append(_title_row(chart, width))
        if height and chart.bars is not None:
            rows += draw(chart.bars, height, glyphs)
        elif height:
            rows += [text_row(width) for _ in range(height)]
    rows.append(axis_row(width, view.begin_ns, step_ns, view.start_ns))
    return rows


def flags_of(view: LiveView) -> dict[int, TailMark]:
    """Column → the tail that ends in it; the one that lost most, where there are several."""
    found: dict[int, TailMark] = {}
    for mark in view.tails:
        for column in _columns(view, [mark.t_ns - 1]):
            there = found.get(column)
            if there is None or mark.tail.excess_ms > there.tail.excess_ms:
                found[column] = mark
    return found


def _width(view: LiveView) -> int:
    return max((len(series.high) for series in view.series.values()), default=1)


def _columns(view: LiveView, times_ns: Sequence[int]) -> list[int]:
    width = _width(view)
    length = max(1, view.end_ns - view.begin_ns)
    return [
        (t - view.begin_ns) * width // length for t in times_ns if view.begin_ns <= t < view.end_ns
    ]


def _padded(values: Sequence[float | None], width: int) -> list[float | None]:
    return [*values, *[None] * (width - len(values))]


def _flag_row(view: LiveView, width: int, selected: TailMark | None) -> list[Run]:
    parts = []
    for column, mark in flags_of(view).items():
        band = "selected" if selected is not None and mark.t_ns == selected.t_ns else "tail"
        letter = letter_of(mark.tail.cause) if mark.tail.cause is not None else PENDING
        parts.append((column, letter, band))
    parts += [(column, "▾", "mark") for column in _columns(view, view.marks_ns)]
    return text_row(width, *parts)


def _title_row(chart: Chart, width: int) -> list[Run]:
    title = f" {chart.title} "
    return text_row(
        width,
        (0, title, "title"),
        (len(title) + 1, fit(chart.figures, width - len(title) - 1), "dim"),
        band="dim",
    )


Found = tuple[str, str, Bars | None]


def _interval(view: LiveView) -> Found:
    series = view.series.get("interval")
    title = "interval ms"
    if series is None or series.last is None:
        return title, "no frames yet", None
    fps = view.summary.playout.target_fps
    count = _commonest_count(view)
    target = 1000.0 * count / fps if fps and count else None
    shown = [value for value in series.high if value is not None]
    p95 = view.summary.interval_ms.p95
    # One stall must not press all other bars flat: the scale follows the usual intervals, and
    # what is beyond it ends in an arrow.
    usual = 2.5 * (view.summary.interval_ms.p50 or 0.0)
    top = round_up(max(min(max(shown, default=0.0), usual), target or 0.0, FEWEST_SCALE_MS))
    figures = [f"0–{ms(top)}", f"last {ms(series.last)}", f"P95 {ms(p95)}"]
    if target is not None:
        figures.append(f"target {ms(target)} ┄")
    figures.append(f"frames: {count}/emit" if count and count > 1 else "every emit")
    return title, "  ".join(figures), Bars(series.high, top=top, target=target)


def _commonest_count(view: LiveView) -> int | None:
    sizes = view.summary.interval_ms_by_count
    if not sizes:
        return None
    return int(max(sizes, key=lambda size: (sizes[size].count, int(size))))


def _memory(view: LiveView) -> Found:
    gpu = _own_gpu(view)
    device = view.series.get(f"vram:{gpu}")
    process = view.series.get(f"vram_process:{gpu}")
    title = f"GPU memory {gpu}" if _several(view) else "GPU memory"
    if device is None or device.last is None:
        return title, _why(device), None
    peak = max((value for value in device.high if value is not None), default=device.last)
    top = device.limit or round_up(peak)
    figures = [f"used {gib(device.last)}"]
    if device.limit:
        figures.append(f"of {gib(device.limit)} ({percent(100 * device.last / device.limit)})")
    known = process is not None and process.last is not None
    mine = gib(process.last) if process is not None else "n/a"
    figures += [f"process {mine}" + (" █" if known else ""), _freshness(device)]
    part = process.high if process is not None and known else None
    return title, "  ".join(figures), Bars(device.high, top=top, part=part)


def _gpu(view: LiveView) -> Found:
    gpu = _own_gpu(view)
    series = view.series.get(f"gpu:{gpu}")
    title = f"GPU {gpu} %" if _several(view) else "GPU %"
    if series is None or series.last is None:
        return title, _why(series), None
    return (
        title,
        f"0–100  last {percent(series.last)}  {_freshness(series)}",
        Bars(series.high, top=100.0),
    )


def _cpu(view: LiveView) -> Found:
    system = view.series.get("cpu_system")
    process = view.series.get("cpu_process")
    title = "CPU %"
    if system is None or system.last is None:
        return title, _why(system), None
    figures = ["0–100 of all cores", f"system {percent(system.last)}"]
    part: list[float | None] | None = None
    if process is not None and view.cores:
        part = [None if v is None else v / view.cores for v in process.high]
        if process.last is not None:
            figures.append(f"target {percent(process.last / view.cores)} █")
    figures.append(_freshness(system))
    return title, "  ".join(figures), Bars(system.high, top=100.0, part=part)


def _own_gpu(view: LiveView) -> int:
    """The GPU that the target uses; the first one, where that is not known."""
    keys = [key for key in view.series if key.startswith("vram_process:")]
    for key in keys:
        if view.series[key].last:
            return int(key.split(":")[1])
    numbers = [int(key.split(":")[1]) for key in view.series if key.startswith(("vram:", "gpu:"))]
    return min(numbers, default=0)


def _several(view: LiveView) -> bool:
    return sum(key.startswith("vram:") for key in view.series) > 1


def _why(series: Series | None) -> str:
    reason = series.reason if series is not None else None
    return f"n/a: {reason}" if reason else "n/a"


def _freshness(series: Series) -> str:
    """Of which resolution the figures are, and how old the last one is."""
    period = f"every {age(series.period_ns)}" if series.period_ns else ""
    if series.stale:
        return f"{period}  STALE for {age(series.age_ns)}".strip()
    return f"{period}  {age(series.age_ns)} ago".strip()
