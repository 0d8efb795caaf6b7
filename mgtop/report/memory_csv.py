"""Memory by stage as CSV: a row for each stage, and one for each out-of-memory error.

Columns: ``timestamp`` (ISO 8601; seconds since the start where the time of the run is not known),
``stage``, ``steps``, ``resolution``, ``weights_resident_mib``, ``peak_extra_mib`` (the stage's peak
above what is resident, not below 0), ``total_used_mib`` (that peak), ``note`` (whose figure it
is, and what else is to be said). What is not known is empty.
"""

from __future__ import annotations

import csv
import io
from datetime import datetime, timedelta
from typing import Any

from mgtop.analysis.memory_figures import MemorySummary, StageMemory
from mgtop.analysis.summary import Summary
from mgtop.report.paths import STAGES

COLUMNS = (
    "timestamp",
    "stage",
    "steps",
    "resolution",
    "weights_resident_mib",
    "peak_extra_mib",
    "total_used_mib",
    "note",
)


def render(summary: Summary) -> str:
    """The rows under their header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows(summary))
    return text.getvalue()


def rows(summary: Summary) -> list[tuple[str, ...]]:
    """The rows, in the order of stages, errors last."""
    memory, params = summary.memory, _params(summary)
    steps, resolution = str(params.get("steps", "")), _resolution(params)
    found: list[tuple[str, ...]] = []
    for name in STAGES:
        stage = memory.stages.get(name)
        if stage is None:
            continue
        used, resident, whose = _used(memory, stage)
        extra = max(0.0, used - resident) if used is not None and resident is not None else None
        notes = [whose] if whose else []
        if stage.inferred:
            notes.append("stage inferred")
        if memory.peak.stage == name:
            notes.append("peak of the session")
        if name == "steady" and memory.text:
            notes.append(memory.text)
        found.append(
            (
                _time(summary, stage.t_ms),
                name,
                steps,
                resolution,
                _mib(resident),
                _mib(extra),
                _mib(used),
                "; ".join(notes),
            )
        )
    for oom in memory.ooms:
        used = oom.process_mib if oom.process_mib is not None else oom.reserved_mib
        frame = "" if oom.frame is None else f" at frame {oom.frame}"
        found.append(
            (
                _time(summary, oom.t_ms),
                oom.stage or "",
                steps,
                resolution,
                _mib(memory.resident_mib),
                "",
                _mib(used),
                f"out of memory{frame}: {oom.message}",
            )
        )
    return found


def _used(memory: MemorySummary, stage: StageMemory) -> tuple[float | None, float | None, str]:
    """The stage's peak, what was resident by the same source, and whose figures these are."""
    reading = memory.readings.get("resident")
    if memory.peak.source == "process" and stage.process_mib is not None:
        return stage.process_mib, memory.resident_mib, "process memory by the driver"
    if stage.reserved_mib is not None:
        resident = reading.reserved_mib if reading is not None else None
        return stage.reserved_mib, resident, "reserved by the framework"
    return None, None, "the process's memory is not known"


def _params(summary: Summary) -> dict[str, Any]:
    for request in summary.requests:
        if request.params:
            return {**summary.session.params, **request.params}
    return dict(summary.session.params)


def _resolution(params: dict[str, Any]) -> str:
    if "resolution" in params:
        return str(params["resolution"])
    width, height = params.get("width", params.get("w")), params.get("height", params.get("h"))
    return f"{width}x{height}" if width is not None and height is not None else ""


def _time(summary: Summary, t_ms: float | None) -> str:
    if t_ms is None:
        return ""
    if summary.session.started is None:
        return f"{t_ms / 1000:.3f}"
    try:
        started = datetime.fromisoformat(summary.session.started)
    except ValueError:
        return f"{t_ms / 1000:.3f}"
    return (started + timedelta(milliseconds=t_ms)).isoformat(timespec="milliseconds")


def _mib(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
