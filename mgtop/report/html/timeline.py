"""The curves of the page as plain data: panels on one time axis."""

from __future__ import annotations

from typing import Any

from mgtop.analysis.live import LiveView, Series
from mgtop.analysis.summary import Summary

_DIGITS = 4


def timeline(summary: Summary, view: LiveView | None) -> dict[str, Any]:
    """``{seconds, columns, panels, marks}``; a panel has a title, a unit, and curves.

    A curve's ``high`` and ``low`` hold a value for each column, None where there was nothing.
    """
    if view is None:
        return {"seconds": 1.0, "columns": 1, "panels": [], "marks": []}
    columns = max((len(series.high) for series in view.series.values()), default=1)
    return {
        "seconds": (view.end_ns - view.begin_ns) / 1e9,
        "columns": columns,
        "panels": _panels(summary, view),
        "marks": [{"t": (t_ns - view.begin_ns) / 1e9} for t_ns in view.marks_ns],
    }


def _panels(summary: Summary, view: LiveView) -> list[dict[str, Any]]:
    series = view.series
    target_fps = summary.playout.target_fps
    panels = [_panel("Interval", "ms", [("", series.get("interval"), "--curve", True)])]
    per_emit = _usual_count(summary)
    if target_fps and per_emit:
        panels[0]["target"] = 1000 * per_emit / target_fps
    if (slack := series.get("slack")) is not None and _any(slack):
        panels.append(_panel("Slack", "ms", [("", slack, "--curve", True)]))
    gpus = sorted({int(key.split(":")[1]) for key in series if key.startswith(("vram:", "gpu:"))})
    for gpu in gpus:
        number = f" {gpu}" if len(gpus) > 1 else ""
        memory = _panel(
            f"GPU{number} memory",
            "MiB",
            [
                ("process", series.get(f"vram_process:{gpu}"), "--curve", True),
                ("device", series.get(f"vram:{gpu}"), "--soft", False),
                ("reserved by torch", series.get(f"torch_reserved:{gpu}"), "--third", False),
            ],
        )
        memory["limit"] = None  # the whole card would flatten what matters
        panels.append(memory)
        busy = series.get(f"gpu:{gpu}")
        panels.append(_panel(f"GPU{number} utilisation", "%", [("", busy, "--curve", True)], 100))
    if not gpus:
        panels.append(_panel("GPU", "", []))
        panels[-1]["reason"] = "no GPU was read"
    cores = view.cores or 1
    panels.append(
        _panel(
            "CPU",
            "% of all cores",
            [
                ("system", series.get("cpu_system"), "--soft", True),
                ("program", _divided(series.get("cpu_process"), cores), "--curve", True),
            ],
            100,
        )
    )
    return panels


def _panel(
    title: str,
    unit: str,
    curves: list[tuple[str, Series | None, str, bool]],
    limit: float | None = None,
) -> dict[str, Any]:
    shown = [
        {
            "name": name,
            "colour": colour,
            "filled": filled,
            "high": [_rounded(value) for value in found.high],
            "low": [_rounded(value) for value in found.low],
        }
        for name, found, colour, filled in curves
        if found is not None and _any(found)
    ]
    periods = [f.period_ns for _, f, _, _ in curves if f is not None and f.period_ns]
    reasons = [f.reason for _, f, _, _ in curves if f is not None and f.reason]
    return {
        "title": title,
        "unit": unit,
        "limit": limit,
        "target": None,
        "period": f"{min(periods) / 1e6:,.0f} ms" if periods else None,
        "reason": reasons[0] if reasons else "nothing was read",
        "curves": shown,
    }


def _any(series: Series) -> bool:
    return any(value is not None for value in series.high)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")


def _divided(series: Series | None, by: float) -> Series | None:
    if series is None:
        return None
    return Series(
        name=series.name,
        unit=series.unit,
        high=[None if value is None else value / by for value in series.high],
        low=[None if value is None else value / by for value in series.low],
        period_ns=series.period_ns,
        reason=series.reason,
    )


def _usual_count(summary: Summary) -> int | None:
    """Frames of the commonest emit."""
    counts = {int(count): found.count for count, found in summary.interval_ms_by_count.items()}
    return max(counts, key=lambda count: counts[count]) if counts else None
