"""Which setting to take, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mgtop.report.numbers import plural, share
from mgtop.rounds.table import TableRow
from mgtop.rounds.variables import RESOLUTION, label, size_of
from mgtop.rounds.wording import significant

MARGIN = 0.15
"""A setting fits the frame budget where its P95 leaves this share of it free."""
JITTER_SHARE = 0.05
"""It jitters where at least this share of its frames is late."""
CAVEAT = (
    "this holds for what was run, the model alone or as much of the chain as was in it, "
    "until it is measured on the whole chain"
)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The setting to take; ``params`` None: none will do."""

    params: dict[str, Any] | None = None
    because: list[str] = []
    caveat: str = CAVEAT


def choose(table: Sequence[TableRow], target_fps: float | None) -> Choice:
    """Drop what ran out of memory, jitters, misses a gate or the frame budget; take the largest.

    Resolution counts before everything else; then the other variables, the first one first.
    Settings without sizes (names) cannot be called larger: of these, the quickest is taken.

    Args:
        table: all settings.
        target_fps: of all rounds; None: none is known, or they differ.
    """
    budget = 1000.0 / target_fps if target_fps else None
    kept: list[TableRow] = []
    out: dict[str, list[TableRow]] = {}
    for row in table:
        why_not = _why_not(row, budget)
        if why_not is None:
            kept.append(row)
        else:
            out.setdefault(why_not, []).append(row)
    because = [
        f"{', '.join(label(row.params) for row in rows)}: {why}" for why, rows in out.items()
    ]
    if not kept:
        return Choice(because=[*because, "so nothing is left to choose"])
    if budget is None:
        several = any(row.target_fps is not None for row in table)
        why = "the rounds have different target rates" if several else "no target_fps is given"
        because.append(f"{why}, so no frame budget was asked for")
    best, why = _largest(kept)
    because.append(why)
    p50, p95 = significant(best.p50_frame_ms[1]), significant(best.p95_frame_ms[1])
    for_budget = f" for a budget of {significant(budget)} ms" if budget is not None else ""
    because.append(f"P50 {p50}, P95 {p95} ms a frame{for_budget}")
    if best.converged is False:
        because.append("but its repeats did not agree: measure it again")
    if best.converged is None:
        because.append(f"from {plural(best.repeats, 'round')}: too few to say whether they agree")
    return Choice(params=best.params, because=because)


def _why_not(row: TableRow, budget_ms: float | None) -> str | None:
    """The first reason against a setting; None: there is none."""
    if row.oom is not None:
        return "ran out of memory"
    if row.p50_frame_ms[1] is None or row.p95_frame_ms[1] is None:
        return "gave no figures"
    if row.stopped_ms is not None:
        return f"stopped making frames: none came in the last {row.stopped_ms / 1000:.1f} s"
    if (row.late_share or 0.0) >= JITTER_SHARE:
        return f"jitters ({share(JITTER_SHARE)} of the frames or more are late)"
    if row.gates:
        return "misses a gate"
    if budget_ms is not None and row.p95_frame_ms[1] > (1 - MARGIN) * budget_ms:
        budget = significant(budget_ms)
        return f"leaves less than {share(MARGIN)} of the frame budget of {budget} ms free"
    return None


def _largest(kept: Sequence[TableRow]) -> tuple[TableRow, str]:
    names = list(kept[0].params)
    sizes = {id(row): _rank(row.params, names) for row in kept}
    if len(kept) == 1:
        return kept[0], f"{label(kept[0].params)} is what is left"
    if any(rank is None for rank in sizes.values()):
        best = min(kept, key=lambda row: row.p50_frame_ms[1] or 0.0)
        return best, f"{label(best.params)} is the quickest of what is left"
    best = max(kept, key=lambda row: sizes[id(row)] or ())
    what = "the highest resolution" if _is_picture(names) else "the largest setting"
    return best, f"{label(best.params)} is {what} of what is left"


def _rank(params: dict[str, Any], names: Sequence[str]) -> tuple[float, ...] | None:
    """Pixels first, then the variables in their order; None: one has no size."""
    ordered = sorted(names, key=lambda name: not _is_picture([name]))
    area = 1.0
    ranks: list[float] = []
    for name in ordered:
        size = size_of(params[name])
        if size is None:
            return None
        if name in ("width", "height"):
            area *= size
        else:
            ranks.append(size)
    return (area, *ranks) if {"width", "height"} & set(names) else tuple(ranks)


def _is_picture(names: Sequence[str]) -> bool:
    return any(name in (RESOLUTION, "width", "height", "size") for name in names)
