"""The rounds of a sweep by setting: middle values with their ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mgtop.rounds.bootstrap import median
from mgtop.rounds.row import Row
from mgtop.rounds.variables import same_setting

CONVERGED_SHARE = 0.10
"""Repeats have converged where their P50 lie within this share of the middle one…"""
FEWEST_REPEATS = 3
"""…and there are so many at least."""

Range = list[float | None]
"""Least, middle and largest value over the repeats; three times None where none is known."""


class TableRow(msgspec.Struct, frozen=True, kw_only=True):
    """One setting.

    Attributes:
        repeats: rounds that gave figures.
        converged: whether their P50 agree; None: too few to say.
        oom: where memory ran out, in words: ``load``, ``first frame``, ``frame 12``.
        late_share: late frames among all counted ones.
        stopped_ms: the longest that frames had stopped when a round was made to end.
        status: ``done``; ``oom``, ``failed`` or ``skipped`` where there are no figures.
        note: what is to be known of its rounds.
    """

    params: dict[str, Any]
    repeats: int
    converged: bool | None
    first_frame_ms: Range
    p50_frame_ms: Range
    p95_frame_ms: Range
    max_frame_ms: Range
    tails: Range
    peak_mem_mib: Range
    oom: str | None = None
    peak_stage: str | None = None
    late_share: float | None = None
    stopped_ms: float | None = None
    target_fps: float | None = None
    status: str = "done"
    gates: list[str] = []
    note: str = ""


def table_of(rows: Sequence[Row]) -> list[TableRow]:
    """One row per setting, in the order in which the settings first appear."""
    return [_table_row(group) for group in groups_of(rows)]


def groups_of(rows: Sequence[Row]) -> list[list[Row]]:
    """Rounds by setting, in the order in which the settings first appear."""
    groups: list[list[Row]] = []
    for row in rows:
        for group in groups:
            if same_setting(group[0].params, row.params):
                group.append(row)
                break
        else:
            groups.append([row])
    return groups


def _table_row(rows: Sequence[Row]) -> TableRow:
    good = [row for row in rows if row.has_figures]
    ooms = [row for row in rows if row.oom]
    counted = sum(row.counted for row in good)
    late = sum(row.tails or 0 for row in good)
    stages = [row.peak_stage for row in good if row.peak_stage is not None]
    status = "done"
    if not good:
        status = "oom" if ooms else "skipped" if rows[0].status == "skipped" else "failed"
    return TableRow(
        params=rows[0].params,
        repeats=len(good),
        converged=_converged([row.p50_frame_ms for row in good if row.p50_frame_ms is not None]),
        first_frame_ms=_range([row.first_frame_ms for row in good]),
        p50_frame_ms=_range([row.p50_frame_ms for row in good]),
        p95_frame_ms=_range([row.p95_frame_ms for row in good]),
        max_frame_ms=_range([row.max_frame_ms for row in good]),
        tails=_range([row.tails for row in good]),
        peak_mem_mib=_range([row.peak_mem_mib for row in rows]),
        oom=ooms[0].oom_place if ooms else None,
        peak_stage=max(stages, key=stages.count) if stages else None,
        late_share=late / counted if counted else None,
        stopped_ms=max(filter(None, (row.stopped_ms for row in good)), default=None),
        target_fps=next((row.target_fps for row in good if row.target_fps is not None), None),
        status=status,
        gates=list(dict.fromkeys(text for row in rows for text in row.gates)),
        note="; ".join(dict.fromkeys(row.note for row in rows if row.note and not row.has_figures)),
    )


def _range(values: Sequence[float | None]) -> Range:
    known = [value for value in values if value is not None]
    return [min(known), median(known), max(known)] if known else [None, None, None]


def _converged(times: Sequence[float]) -> bool | None:
    if len(times) < FEWEST_REPEATS:
        return None
    return max(times) - min(times) <= CONVERGED_SHARE * median(times)
