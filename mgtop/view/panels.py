"""What each chart of the live screen shows: its title, its figures, and its bars."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mgtop.analysis.live import LiveView, Series
from mgtop.charts import Bars, round_up
from mgtop.view.figures import age, gib, in_unit_of, ms, percent, unit_of

LEAST_TOP_MS = 10.0
TOP_MEDIANS = 4.0
"""One stall must not press all other bars flat: what is beyond this ends in an arrow."""
NEAR_FULL = 0.95
CPU_TOPS = (25.0, 50.0, 100.0)


class Want(NamedTuple):
    """What rows a chart wants."""

    weight: int
    """Its share of the rows that are left; 0: nothing is to be drawn."""
    titled: bool = True
    """It has a line of its own for its title, else this stands on its first bars."""


@dataclass(frozen=True)
class Chart:
    """One chart: what its title says and what its bars are."""

    title: str
    figures: list[str]
    bars: Bars | None
    """None: there is nothing to draw, and the figures say why."""
    stale: bool = False
    weight: int = 1
    titled: bool = True
    text: str = ""
    """A line for a shell that stands in place of the bars."""

    @property
    def want(self) -> Want:
        """What rows it wants."""
        drawn = self.bars is not None or bool(self.text) or not self.titled
        return Want(self.weight if drawn else 0, self.titled)


def charts_of(
    view: LiveView,
    width: int,
    flagged: Collection[int] = frozenset(),
    marked: Collection[int] = frozenset(),
    late: Collection[int] = frozenset(),
    cursor: int | None = None,
    lanes: Sequence[Chart] = (),
    gpus: Sequence[Chart] = (),
    shared: str = "",
) -> list[Chart]:
    """Interval, slack, GPU memory, GPU and CPU utilisation, in ``width`` columns each.

    ``flagged`` and ``marked`` are columns with a line through all charts; ``late`` those in
    which a late frame was waited for; ``cursor`` the column whose values are told. ``lanes``
    stand under the intervals, ``gpus`` under those of the target's first GPU; ``shared`` names
    who else is on that one.
    """
    marked = marked if cursor is None else frozenset((*marked, cursor))
    charts: list[Chart] = []
    slack = _slack(view)
    first = [_interval(view, late), *lanes, *([slack] if slack is not None else [])]
    device = _together(_memory(view, shared), _gpu(view))
    for chart in (*first, *device, *gpus, _cpu(view)):
        if chart.bars is None:
            charts.append(chart)
            continue
        bars = replace(
            chart.bars,
            high=_padded(chart.bars.high, width),
            part=None if chart.bars.part is None else _padded(chart.bars.part, width),
            flagged=flagged,
            marked=marked,
        )
        charts.append(replace(chart, bars=bars))
    return charts


def _together(memory: Chart, use: Chart) -> list[Chart]:
    """Where there is nothing of either, for the same reason, one line says so."""
    if memory.bars is None and use.bars is None and memory.figures == use.figures:
        return [Chart(f"{memory.title} and {use.title}", memory.figures, None)]
    return [memory, use]


def _padded(values: Sequence[float | None], width: int) -> list[float | None]:
    return [*values, *[None] * (width - len(values))]


def _interval(view: LiveView, late: Collection[int]) -> Chart:
    series = view.series.get("interval")
    title = "interval ms"
    if series is None or series.last is None:
        advice = view.summary.target.advice
        if advice:
            why = "n/a: nothing tells of frames; started so, they would be seen:"
            return Chart(title, [why], None, text=advice)
        return Chart(title, ["n/a: no interval yet"], None)
    fps = view.summary.playout.target_fps
    count = _commonest_count(view)
    target = 1000.0 * count / fps if fps and count else None
    shown = [value for value in series.high if value is not None]
    usual = TOP_MEDIANS * (view.summary.interval_ms.p50 or 0.0)
    top = round_up(max(min(max(shown, default=0.0), usual), target or 0.0, LEAST_TOP_MS))
    figures = [f"0–{ms(top)}", f"last {ms(series.last)}"]
    if target is not None:
        figures.append(f"target {ms(target)} ┄")
    figures.append(f"every emit ({count} frames)" if count and count > 1 else "every emit")
    bars = Bars(series.high, top=top, target=target, limit=target, late=late, show_flagged=True)
    return Chart(title, figures, bars, weight=2)


def _slack(view: LiveView) -> Chart | None:
    """Video ahead of the viewer: the lowest of a column matters. None: no rate of play is known."""
    series = view.series.get("slack")
    if series is None or series.last is None:
        return None
    highest = max((value for value in series.high if value is not None), default=0.0)
    top = round_up(max(highest, LEAST_TOP_MS))
    lowest = min((value for value in series.low if value is not None), default=None)
    figures = [
        f"0–{ms(top)}",
        f"lowest {ms(lowest)}",
        "█ lowest ░ highest ▁ stood still",
        "every emit",
    ]
    bars = Bars(series.high, top=top, part=series.low, show_zero=True)
    return Chart("slack ms", figures, bars)


def _commonest_count(view: LiveView) -> int | None:
    sizes = view.summary.interval_ms_by_count
    if not sizes:
        return None
    return int(max(sizes, key=lambda size: (sizes[size].count, int(size))))


def _memory(view: LiveView, shared: str) -> Chart:
    gpu = own_gpu(view)
    device = view.series.get(f"vram:{gpu}")
    process = view.series.get(f"vram_process:{gpu}")
    title = f"GPU memory {gpu}" if _several(view) else "GPU memory"
    if device is None or device.last is None:
        return Chart(title, [_why(device)], None)
    peak = max((value for value in device.high if value is not None), default=device.last)
    top = device.limit or round_up(peak)
    if process is not None and process.last is not None:
        mine, part = f"█ process {in_unit_of(top, process.last)}", process.high
    else:
        mine, part = f"process {_why(process)}", [None] * len(device.high)
    limit = device.limit
    of = f" of {gib(limit)}" if limit else unit_of(top)
    figures = [mine, f"░ device {in_unit_of(top, device.last)}{of}"]
    if shared:
        figures.append(f"shared with {shared}")
    bars = Bars(device.high, top=top, part=part, limit=None if limit is None else NEAR_FULL * limit)
    return _sampled(title, figures, bars, device)


def _gpu(view: LiveView) -> Chart:
    """Here low matters: the bar ends at the lowest of a column, its shadow at the highest."""
    gpu = own_gpu(view)
    series = view.series.get(f"gpu:{gpu}")
    title = f"GPU {gpu} %" if _several(view) else "GPU %"
    if series is None or series.last is None:
        return Chart(title, [_why(series)], None)
    figures = ["0–100", f"last {percent(series.last)}", "█ lowest ░ highest"]
    return _sampled(title, figures, Bars(series.high, top=100.0, part=series.low), series)


def _cpu(view: LiveView) -> Chart:
    system = view.series.get("cpu_system")
    process = view.series.get("cpu_process")
    title = "CPU %"
    if system is None or system.last is None:
        return Chart(title, [_why(system)], None)
    shown = max((value for value in system.high if value is not None), default=0.0)
    top = next((top for top in CPU_TOPS if top >= shown), CPU_TOPS[-1])
    cores = f" of {view.cores} cores" if view.cores else ""
    figures = [f"0–{top:.0f}{cores}"]
    part: list[float | None] = [None] * len(system.high)
    if process is not None and process.last is not None and view.cores:
        part = [None if v is None else v / view.cores for v in process.high]
        figures.append(f"█ target {percent(process.last / view.cores)}")
    else:
        figures.append(f"target {_why(process)}")
    figures.append(f"░ system {percent(system.last)}")
    return _sampled(title, figures, Bars(system.high, top=top, part=part), system)


def own_gpu(view: LiveView) -> int:
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


def _sampled(title: str, figures: list[str], bars: Bars, series: Series) -> Chart:
    """With the resolution of what is drawn, and how old its last reading is.

    Ages under a second are not told apart: the row would change at every drawing.
    """
    period_ns, age_ns = series.period_ns, series.age_ns or 0
    if period_ns is None:
        return Chart(title, [*figures, f"{age(age_ns)} old"], bars)
    if series.stale:
        stale = f"✖ STALE for {age(age_ns)}"
        return Chart(title, [*figures, f"every {age(period_ns)}", stale], bars, stale=True)
    old = "<1 s" if age_ns < 1_000_000_000 else age(age_ns)
    return Chart(title, [*figures, f"every {age(period_ns)}, {old} old"], bars)
