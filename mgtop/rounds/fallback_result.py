"""What a fallback found: the object of ``mgtop fallback --json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mgtop.report.json_text import json_text
from mgtop.rounds.fallback import are_gone, expected_tails, is_troubled, memory_signs, rows_of
from mgtop.rounds.notches import MEMORY, USUAL, kind_of, notches
from mgtop.rounds.overlay import Overlay, overlay
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.row import Row
from mgtop.rounds.state import State
from mgtop.rounds.table import TableRow, table_of
from mgtop.rounds.wording import notes_of


class Bought(msgspec.Struct, frozen=True, kw_only=True):
    """What a notch changed against the baseline, in percent of it; None: not known."""

    p50_frame_ms: float | None = None
    p95_frame_ms: float | None = None
    first_frame_ms: float | None = None
    peak_mem_mib: float | None = None
    late_share: float | None = None


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """A notch that was tried.

    Attributes:
        gone: whether the late frames are gone; None: its rounds were too short to tell.
        tails, expected: late frames, and how many the baseline's rate lets expect.
    """

    params: dict[str, Any]
    gone: bool | None
    tails: int
    counted: int
    expected: float | None
    figures: TableRow
    bought: Bought
    note: str = ""


class FallbackResult(msgspec.Struct, frozen=True, kw_only=True):
    """All of it.

    Attributes:
        baseline: without any notch; None: it has not run yet.
        memory_signs: signs of memory trouble, which change the order.
        order: parameters in the order of trying; ``left_out``: those that memory trouble rules out.
        found: the notch with which the late frames are gone; None: none.
        overlay: of the baseline, where nothing helped.
    """

    baseline: TableRow | None
    memory_signs: list[str]
    order: list[str]
    left_out: list[str]
    notches: list[Tried]
    found: dict[str, Any] | None
    overlay: Overlay | None
    rounds: list[Row]
    status: str
    because: list[str] = []
    said: list[str] = []
    path: str = ""


def result_of(state: State, prepared: Prepared, path: str = "") -> FallbackResult:
    """What the finished rounds say."""
    baseline = rows_of(state, {})
    signs = memory_signs(state)
    kinds = MEMORY if signs else USUAL
    tried: list[Tried] = []
    for found in state.rounds:
        if found.setting and not any(t.params == found.setting for t in tried):
            rows = rows_of(state, found.setting)
            if rows:
                tried.append(_tried(found.setting, rows, baseline))
    names = [variable.name for variable in prepared.variables]
    helped = next((t.params for t in tried if t.gone), None)
    picture = None
    if state.status == "finished" and helped is None and baseline and is_troubled(baseline):
        session = next((row.session for row in baseline if row.session), None)
        picture = overlay(Path(session)) if session is not None else None
    return FallbackResult(
        baseline=table_of(baseline)[0] if baseline else None,
        memory_signs=signs,
        order=list(
            dict.fromkeys(n.name for n in notches(prepared.variables, prepared.config, bool(signs)))
        ),
        left_out=[name for name in names if kind_of(name) not in kinds],
        notches=tried,
        found=helped,
        overlay=picture,
        rounds=[
            msgspec.structs.replace(found.row, note="; ".join(notes_of(found.row)))
            for found in state.rounds
            if found.row is not None
        ],
        status=state.status,
        because=state.result,
        said=state.said,
        path=path,
    )


def render(result: FallbackResult) -> str:
    """As indented JSON, ended by a line break."""
    return json_text(result)


def _tried(setting: dict[str, Any], rows: Sequence[Row], baseline: Sequence[Row]) -> Tried:
    figures = table_of(rows)[0]
    base = table_of(baseline)[0] if baseline else None
    return Tried(
        params=setting,
        gone=are_gone(rows, baseline),
        tails=sum(row.tails or 0 for row in rows),
        counted=sum(row.counted for row in rows),
        expected=expected_tails(rows, baseline),
        figures=figures,
        bought=_bought(figures, base) if base is not None else Bought(),
        note="; ".join(dict.fromkeys(note for row in rows for note in notes_of(row))),
    )


def _bought(figures: TableRow, base: TableRow) -> Bought:
    changes = {
        key: _percent(getattr(figures, key)[1], getattr(base, key)[1])
        for key in ("p50_frame_ms", "p95_frame_ms", "first_frame_ms", "peak_mem_mib")
    }
    return Bought(**changes, late_share=_percent(figures.late_share, base.late_share))


def _percent(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else 100 * (value / base - 1)
