"""A sweep for a person at a terminal: the table, what it says, and what to take."""

from __future__ import annotations

from collections.abc import Sequence

from mgtop.report.numbers import NOT_KNOWN, plural, whole
from mgtop.report.page import Page
from mgtop.rounds.linearity import Linearity
from mgtop.rounds.results import Result
from mgtop.rounds.row import Row
from mgtop.rounds.table import Range, TableRow
from mgtop.rounds.variables import label, shown
from mgtop.rounds.wording import milliseconds, significant

_FIGURES = ("first", "P50", "P95", "max", "late", "MiB")
_CONVERGED = {True: "yes", False: "NO", None: NOT_KNOWN}


def render(result: Result, width: int = 80) -> str:
    """The result as text of at most ``width`` columns, ended by a line break."""
    page = Page(width)
    page.heading("SWEEP", f"ms a frame, middle of the repeats{_unfinished(result)}")
    for line in result.said:
        page.text(line, bullet="- ")
    if result.table:
        _table(page, result.table)
        _ranges(page, result.table)
    _notes(page, result)
    _linearity(page, result)
    _choice(page, result)
    if result.path:
        page.heading("KEPT", result.path)
    return page.render()


def short(result: Result) -> list[str]:
    """What it comes to, in two lines."""
    line = result.linearity
    by = f" in {line.variable}" if line.variable else ""
    choice = result.choice
    taken = label(choice.params) if choice.params is not None else "none"
    return [
        f"{line.kind}{by}: {line.because}",
        f"choice: {taken} ({'; '.join(choice.because)})",
    ]


def _unfinished(result: Result) -> str:
    return "" if result.status == "finished" else f"; {result.status}, not finished"


def _table(page: Page, table: Sequence[TableRow]) -> None:
    names = list(table[0].params)
    head = [*names, "rounds", *_FIGURES, "agree", "OOM"]
    rows = [
        [
            *(shown(row.params[name]) for name in names),
            str(row.repeats),
            *(_middle(getattr(row, key)) for key in ("first_frame_ms", "p50_frame_ms")),
            *(_middle(getattr(row, key)) for key in ("p95_frame_ms", "max_frame_ms")),
            _count(row.tails),
            _middle(row.peak_mem_mib),
            _CONVERGED[row.converged],
            row.oom or ("skipped" if row.status == "skipped" else "-"),
        ]
        for row in table
    ]
    page.table(head, rows, left=(*names, "OOM"))


def _ranges(page: Page, table: Sequence[TableRow]) -> None:
    """Where repeats lie apart, their range."""
    several = [row for row in table if row.repeats > 1]
    if not several:
        return
    page.heading("RANGES", "middle (least–largest of the repeats)")
    rows = [
        [
            label(row.params),
            milliseconds(*row.p50_frame_ms),
            milliseconds(*row.p95_frame_ms),
            milliseconds(*row.peak_mem_mib),
        ]
        for row in several
    ]
    page.table(("setting", "P50", "P95", "MiB"), rows, left=("setting", "P50", "P95", "MiB"))


def _notes(page: Page, result: Result) -> None:
    """What is to be known of single rounds; the same note of several rounds once."""
    noted: dict[str, list[Row]] = {}
    for row in result.rounds:
        if row.note:
            noted.setdefault(row.note, []).append(row)
    if not noted:
        return
    page.heading("NOTES", "")
    for note, rows in noted.items():
        named = ", ".join(_round_name(row, result.rounds) for row in rows)
        page.text(f"{named}: {note}", bullet="- ")


def _round_name(row: Row, rows: Sequence[Row]) -> str:
    several = any(other.repeat > 1 for other in rows)
    return f"{label(row.params)} #{row.repeat}" if several else label(row.params)


def _linearity(page: Page, result: Result) -> None:
    lines = result.linearity_by or [result.linearity]
    variable = result.linearity.variable
    page.heading("GROWTH", f"of the frame time with {variable}" if variable else "")
    if result.linearity_by:
        page.text(f"{result.linearity.kind}: {result.linearity.because}")
    for line in lines:
        at = f"at {label(line.at)}: " if line.at else ""
        page.text(f"{at}{line.kind}: {line.because}", bullet="- " if line.at else "")
        if line.slopes:
            page.text(f"slopes, ms per unit: {_slopes(line)}", indent=4)


def _slopes(line: Linearity) -> str:
    return ", ".join(
        significant(slope)
        if low is None
        else f"{significant(slope)} ({significant(low)} to {significant(high)})"
        for slope, low, high in zip(line.slopes, line.low, line.high, strict=True)
    )


def _choice(page: Page, result: Result) -> None:
    choice = result.choice
    page.heading("CHOICE", label(choice.params) if choice.params is not None else "none will do")
    for reason in choice.because:
        page.text(reason, bullet="- ")
    if choice.params is not None:
        page.text(choice.caveat, bullet="- ")


def _middle(values: Range) -> str:
    return significant(values[1])


def _count(values: Range) -> str:
    return NOT_KNOWN if values[1] is None else whole(round(values[1]))


def summary_line(result: Result) -> str:
    """How many rounds there were, and what became of them."""
    done = sum(row.status == "done" for row in result.rounds)
    failed = sum(row.status == "failed" for row in result.rounds)
    skipped = sum(row.status == "skipped" for row in result.rounds)
    parts = [plural(done, "round")]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{skipped} skipped"] if skipped else []
    return ", ".join(parts)
