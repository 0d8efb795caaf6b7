"""A fallback for a person at a terminal: what each notch bought."""

from __future__ import annotations

from mgtop.report.numbers import NOT_KNOWN
from mgtop.report.page import Page
from mgtop.rounds.fallback_result import FallbackResult, Tried
from mgtop.rounds.table import TableRow
from mgtop.rounds.variables import label
from mgtop.rounds.wording import significant

_GONE = {True: "gone", False: "still there", None: "too short to tell"}


def render(result: FallbackResult, width: int = 80) -> str:
    """The result as text of at most ``width`` columns, ended by a line break."""
    page = Page(width)
    answer = "; ".join(result.because) or f"{result.status}, not finished"
    page.heading("FALLBACK", answer)
    for line in result.said:
        page.text(line, bullet="- ")
    _order(page, result)
    if result.baseline is not None:
        _table(page, result, result.baseline)
        _bought(page, result)
    _notes(page, result)
    if result.overlay is not None:
        page.heading("BASELINE", "stages, memory and late frames on one time axis")
        page.lines([f"  {line}" for line in result.overlay.lines()])
        page.text(result.overlay.text)
    if result.found is not None:
        page.heading("TAKE", label(result.found))
        page.text(
            "each notch was tried from the baseline, alone; smaller settings are for finding "
            "the cause, not the final setting"
        )
    if result.path:
        page.heading("KEPT", result.path)
    return page.render()


def _order(page: Page, result: FallbackResult) -> None:
    if result.order:
        page.text(f"order: {', then '.join(result.order)}")
    for sign in result.memory_signs:
        page.text(f"sign of memory trouble: {sign}", bullet="- ")
    if result.memory_signs and result.left_out:
        page.text(f"so not {', '.join(result.left_out)}: that frees no memory", bullet="- ")
    if not result.order:
        page.text("the configuration names nothing that would help (fallback: {NAME: [values]})")


def _table(page: Page, result: FallbackResult, baseline: TableRow) -> None:
    page.heading("ROUNDS", "ms a frame, middle of the repeats")
    rows = [["baseline", *_figures(baseline), ""]]
    rows += [
        [label(tried.params), *_figures(tried.figures), _GONE[tried.gone]]
        for tried in result.notches
    ]
    head = ("notch", "rounds", "first", "P50", "P95", "late %", "MiB", "OOM", "late frames")
    page.table(head, rows, left=("notch", "OOM", "late frames"))


def _figures(row: TableRow) -> list[str]:
    late = NOT_KNOWN if row.late_share is None else f"{100 * row.late_share:.1f}"
    return [
        str(row.repeats),
        significant(row.first_frame_ms[1]),
        significant(row.p50_frame_ms[1]),
        significant(row.p95_frame_ms[1]),
        late,
        significant(row.peak_mem_mib[1]),
        row.oom or "-",
    ]


def _bought(page: Page, result: FallbackResult) -> None:
    if not result.notches:
        return
    page.heading("BOUGHT", "change against the baseline, %")
    rows = [
        [
            label(tried.params),
            _change(tried.bought.first_frame_ms),
            _change(tried.bought.p50_frame_ms),
            _change(tried.bought.p95_frame_ms),
            _change(tried.bought.peak_mem_mib),
            _late(tried),
        ]
        for tried in result.notches
    ]
    page.table(("notch", "first", "P50", "P95", "MiB", "late frames"), rows, left=("notch",))


def _late(tried: Tried) -> str:
    if tried.expected is None:
        return f"{tried.tails} of {tried.counted:,}"
    return f"{tried.tails} for {significant(tried.expected)} expected"


def _change(percent: float | None) -> str:
    return NOT_KNOWN if percent is None else f"{percent:+.0f}"


def _notes(page: Page, result: FallbackResult) -> None:
    noted = [(label(row.params), row.repeat, row.note) for row in result.rounds if row.note]
    if noted:
        page.heading("NOTES", "")
    for name, repeat, note in noted:
        page.text(f"{name} #{repeat}: {note}", bullet="- ")
