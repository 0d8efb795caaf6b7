"""What a sweep found: the object of ``mgtop sweep --json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mgtop.report.json_text import json_text
from mgtop.rounds.choice import Choice, choose
from mgtop.rounds.linearity import Linearity, Tier, decide
from mgtop.rounds.row import Row
from mgtop.rounds.state import State
from mgtop.rounds.table import TableRow, table_of
from mgtop.rounds.variables import Variable, same_setting, size_of
from mgtop.rounds.wording import notes_of


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, in the order of the contract; more keys come after.

    Attributes:
        linearity: of the first variable; of a matrix, what all its lines agree on.
        linearity_by: of a matrix, each line: the first variable at one value of the other.
        smoke: how the smoke test before it ended; None: there was none.
    """

    rounds: list[Row]
    table: list[TableRow]
    linearity: Linearity
    choice: Choice
    linearity_by: list[Linearity] = []
    smoke: str | None = None
    status: str = "finished"
    said: list[str] = []
    path: str = ""


def result_of(state: State, variables: Sequence[Variable], path: str = "") -> Result:
    """What the finished rounds of a sweep say, whether it is finished or not."""
    over = [found for found in state.rounds if found.row is not None]
    rows = [found.row for found in over if found.row is not None]
    by_size = table_of(_in_order(rows, variables))
    lines = _lines(rows, variables)
    rates = {row.target_fps for row in by_size if row.target_fps is not None}
    fps = rates.pop() if len(rates) == 1 else None
    return Result(
        rounds=[msgspec.structs.replace(row, note="; ".join(notes_of(row))) for row in rows],
        table=by_size,
        linearity=_beside_load(_common(lines), rows),
        choice=choose(by_size, fps) if by_size else Choice(because=["no round is finished"]),
        linearity_by=lines if len(variables) > 1 else [],
        smoke=state.smoke,
        status=state.status,
        said=state.said,
        path=path,
    )


def render(result: Result) -> str:
    """As indented JSON, ended by a line break."""
    return json_text(result)


def _in_order(rows: Sequence[Row], variables: Sequence[Variable]) -> list[Row]:
    """By setting, from small to large; repeats in their order."""
    from mgtop.rounds.schedule import settings_of

    settings = settings_of(variables)

    def place(row: Row) -> tuple[int, int]:
        for n, setting in enumerate(settings):
            if same_setting(setting, row.params):
                return n, row.repeat
        return len(settings), row.repeat

    return sorted(rows, key=place)


def _lines(rows: Sequence[Row], variables: Sequence[Variable]) -> list[Linearity]:
    """The first variable at each value of the second one."""
    if not variables:
        return []
    first, others = variables[0], variables[1:]
    fixed: list[dict[str, Any]] = (
        [{others[0].name: value} for value in others[0].ordered()] if others else [{}]
    )
    lines = []
    for at in fixed:
        mine = [row for row in rows if all(same_setting({k: row.params[k]}, {k: v})
                                           for k, v in at.items())]  # fmt: skip
        found = _line(mine, first)
        lines.append(msgspec.structs.replace(found, variable=first.name, at=at))
    return lines


def _line(rows: Sequence[Row], variable: Variable) -> Linearity:
    times: dict[float, list[float]] = {}
    for value in variable.ordered():
        size = size_of(value)
        if size is None:
            return Linearity(because=f"the values of {variable.name} are names, not numbers")
        if size in times:
            return Linearity(because=f"several values of {variable.name} have the same size")
        times[size] = [
            row.p50_frame_ms
            for row in rows
            if same_setting({"": row.params[variable.name]}, {"": value})
            and row.p50_frame_ms is not None
        ]
    return decide([Tier(size, found) for size, found in times.items()])


def _beside_load(line: Linearity, rows: Sequence[Row]) -> Linearity:
    """Say how many rounds did not have the machine to themselves."""
    disturbed = sum(bool(row.differs) for row in rows)
    if not disturbed:
        return line
    told = f"{disturbed} of {len(rows)} rounds differ in more than their variable, see their notes"
    return msgspec.structs.replace(line, because=f"{line.because} ({told})")


def _common(lines: Sequence[Linearity]) -> Linearity:
    if not lines:
        return Linearity(because="nothing varies")
    if len(lines) == 1:
        return lines[0]
    kinds = {line.kind for line in lines if line.slopes}
    if len(kinds) == 1:
        longest = max(lines, key=lambda line: len(line.slopes))
        return msgspec.structs.replace(longest, because="all lines of the matrix agree")
    named = ", ".join(
        f"{line.kind} at {', '.join(f'{k}={v}' for k, v in line.at.items())}" for line in lines
    )
    return Linearity(variable=lines[0].variable, because=f"the lines do not agree: {named}")
