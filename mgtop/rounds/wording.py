"""Rounds in words: one line each, for the terminal and for logs."""

from __future__ import annotations

from mgtop.report.numbers import NOT_KNOWN, duration, plural
from mgtop.rounds.row import Row


def outcome(row: Row) -> str:
    """What a round showed, in a line."""
    if row.status == "skipped":
        return f"skipped: {row.note}"
    parts = []
    if row.has_figures:
        parts.append(
            f"P50 {significant(row.p50_frame_ms)}, P95 {significant(row.p95_frame_ms)} ms a frame, "
            f"{plural(row.tails or 0, 'late frame')} in {row.counted:,}"
        )
        if row.peak_mem_mib is not None:
            parts.append(f"{significant(row.peak_mem_mib)} MiB")
    elif row.oom:
        parts.append("OUT OF MEMORY")
    else:
        parts.append("no figures")
    if row.took_s is not None:
        parts.append(f"took {duration(1000 * row.took_s)}")
    text = ", ".join(parts)
    return "; ".join([text, *notes_of(row)])


def notes_of(row: Row) -> list[str]:
    """All that is to be known of a round beside its figures."""
    placed = _placed(row)
    return [*([row.note] if row.note else []), *([placed] if placed else []), *row.differs]


def _placed(row: Row) -> str:
    """Where the late frames stand, where that is a pattern."""
    placement = row.placement
    if placement.kind == "fixed" and placement.index is not None:
        return f"late frames stand at frame {placement.index} of every request"
    if placement.kind == "periodic" and placement.period is not None:
        return f"late frames come every {placement.period} emits"
    return "late frames stand at the start alone" if placement.kind == "start" else ""


def significant(value: float | None) -> str:
    """Three digits, so that neighbours can be told apart: ``4.12``, ``16.2``, ``204``."""
    if value is None:
        return NOT_KNOWN
    size = abs(value)
    if size >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def about(seconds: float) -> str:
    """``40 s``, ``3 min``, ``1 h 20 min``: no more precise than a guess can be."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def milliseconds(low: float | None, middle: float | None, high: float | None) -> str:
    """A middle value with its range: ``41.2 (40.8–44.0)``; without it where both are equal."""
    if middle is None:
        return NOT_KNOWN
    if low is None or high is None or significant(low) == significant(high):
        return significant(middle)
    return f"{significant(middle)} ({significant(low)}–{significant(high)})"
