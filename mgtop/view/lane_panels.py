"""A lane for each of several requests, and for each further GPU; folded where there are many."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.analysis.live import GpuPlace, Lane, LiveView, Series
from mgtop.charts import Bars
from mgtop.view.figures import age, clean, gib, ms, percent
from mgtop.view.panels import TOP_MEDIANS, Chart, own_gpu

UNKNOWN_TOP_MS = 100.0
SILENT_NS = 3_000_000_000
"""And four of its intervals: so long a lane goes on as before, though no frame comes."""


def lane_charts(view: LiveView, most: int) -> list[Chart]:
    """The intervals of requests that are served at once: ``most`` rows, the last one of the rest.

    Empty where only one of them has anything in the window.
    """
    there = [
        (lane, series)
        for lane in view.lanes
        if (series := view.series.get(lane.key)) is not None
        and any(value is not None for value in series.high)
    ]
    if len(there) < 2:
        return []
    top = TOP_MEDIANS * (view.summary.interval_ms.p50 or UNKNOWN_TOP_MS / TOP_MEDIANS)
    most = max(1, most)
    apart = there if len(there) <= most else there[: most - 1]
    charts = [_lane(lane, series, top) for lane, series in apart]
    folded = [series for _, series in there[len(apart) :]]
    more = len(folded) + view.requests_without_lane
    if folded:
        name = f"{more} more" if apart else f"{more} at once"
        charts.append(_inline(f"{name} (f)", _highest(folded), top))
    return charts


def _lane(lane: Lane, series: Series, top: float) -> Chart:
    now = "ended" if not lane.open else ms(series.last)
    if lane.open and lane.age_ns > max(SILENT_NS, 4e6 * (series.last or 0.0)):
        now = f"silent {age(lane.age_ns)}"
    label = f"{clean(lane.label)}  {now}"
    if lane.tails:
        label += f"  {lane.tails} late"
    return _inline(label, series.high, top)


def _inline(label: str, values: Sequence[float | None], top: float) -> Chart:
    bars = Bars(list(values), top=top, show_flagged=True)
    return Chart(label, [], bars, weight=1, titled=False)


def _highest(series: Sequence[Series]) -> list[float | None]:
    columns = zip(*(one.high for one in series), strict=True)
    return [max((v for v in column if v is not None), default=None) for column in columns]


def gpu_charts(view: LiveView, most: int) -> list[Chart]:
    """A lane of utilisation for each further GPU, the target's first; the rest in one line."""
    own = own_gpu(view)
    others = [place for place in view.gpus if place.gpu != own]
    most = max(1, most)
    apart = [place for place in others if place.mine]
    rest = [place for place in others if not place.mine]
    if len(apart) + len(rest) <= most:
        apart, rest = apart + rest, []
    elif len(apart) >= most:
        apart, rest = apart[: most - 1], apart[most - 1 :] + rest
    charts = [_gpu(view, place) for place in apart]
    if rest:
        busy = sum(_last(view, f"gpu:{place.gpu}") > 5.0 for place in rest)
        mine = sum(place.mine for place in rest)
        whose = f", {mine} of them the target's" if mine else ""
        text = f" {len(rest)} more GPUs{whose}, {busy} of them busy"
        charts.append(Chart(text, [], None, titled=False))
    return charts


def _last(view: LiveView, key: str) -> float:
    series = view.series.get(key)
    return series.last or 0.0 if series is not None else 0.0


def _gpu(view: LiveView, place: GpuPlace) -> Chart:
    use, memory = view.series.get(f"gpu:{place.gpu}"), view.series.get(f"vram:{place.gpu}")
    label = f"GPU {place.gpu}{'' if place.mine else ' (not its)'}"
    label += f"  {percent(use.last if use is not None else None)}"
    if memory is not None:
        of = f"/{gib(memory.limit)}" if memory.limit else ""
        label += f"  {gib(memory.last)}{of}"
    if place.sharers:
        label += f"  with {sharers(place)}"
    if use is None:
        return Chart(f" {label}", [], None, titled=False)
    bars = Bars(use.high, top=100.0, part=use.low)
    return Chart(label, [], bars, weight=1, titled=False)


def sharers(place: GpuPlace, most: int = 1) -> str:
    """Who else is on a GPU: ``python (alice) 4,096 MiB``, the largest first."""
    named = [
        f"{clean(one.name) or f'pid {one.pid}'}{f' ({clean(one.user)})' if one.user else ''}"
        f" {gib(one.mib)}"
        for one in place.sharers[:most]
    ]
    left = len(place.sharers) - len(named)
    return ", ".join(named) + (f" and {left} more" if left else "")
