"""A comparison for a person at a terminal."""

from __future__ import annotations

from mgtop.report.numbers import NOT_KNOWN
from mgtop.report.page import Page
from mgtop.rounds.compare import Comparison, Metric
from mgtop.rounds.compare_plot import draw
from mgtop.rounds.variables import shown
from mgtop.rounds.wording import significant

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORDS = {True: "CHANGED", False: "within noise", None: NOT_KNOWN}
_UNKNOWN = (
    "CHANGED: the 95 % interval leaves out 0, by what happened within these runs. How much runs "
    "of the same settings differ is not known of them: compare rounds of one mgtop sweep"
)


def render(comparison: Comparison, width: int = 80) -> str:
    """The comparison as text of at most ``width`` columns, ended by a line break."""
    page = Page(width)
    _sessions(page, comparison)
    _differs(page, comparison)
    for n in range(1, len(comparison.sessions)):
        page.heading(f"{LETTERS[n % 26]} AGAINST A", "change with its 95 % interval, percent")
        _metrics(page, comparison, n)
    page.text(_between(comparison))
    page.lines(draw(comparison.quantiles, page.width))
    return page.render()


def _between(comparison: Comparison) -> str:
    known = comparison.between_runs
    if known is None:
        return _UNKNOWN
    return (
        f"CHANGED: the 95 % interval leaves out 0. {known.repeats} repeats are known, whose P50 "
        f"differ by {significant(known.p50_percent)} % (standard deviation): that is in the "
        "intervals of change, memory apart"
    )


def _sessions(page: Page, comparison: Comparison) -> None:
    page.heading("SESSIONS", "")
    for letter, session in zip(LETTERS, comparison.sessions, strict=False):
        page.text(f"{session.name}, {session.intervals:,} intervals", bullet=f"{letter}  ")
    for note in comparison.notes:
        page.text(note, bullet="- ")


def _differs(page: Page, comparison: Comparison) -> None:
    count = len(comparison.differs)
    if count == 0:
        known = ": these are repeats of the same settings" if comparison.settings_known else ""
        page.heading("DIFFER", f"in no parameter{known}")
    elif count == 1:
        page.heading("DIFFER", "in one parameter")
    else:
        page.heading(
            "WARNING",
            f"they differ in {count} things, so a change cannot be put down to one of them",
        )
    for found in comparison.differs:
        page.text(f"{found.name}: {' → '.join(_value(v) for v in found.values)}", bullet="- ")
    for letter, notes in zip(LETTERS, comparison.circumstances, strict=False):
        for note in notes:
            page.text(f"{letter}: {note}", bullet="- ")


def _value(value: object) -> str:
    text = "not given" if value is None else shown(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _metrics(page: Page, comparison: Comparison, n: int) -> None:
    rows = []
    for name, metric in comparison.metrics.items():
        if metric.values[0] is None and metric.values[n] is None:
            continue
        rows.append(
            [
                name,
                significant(metric.values[0]),
                significant(metric.values[n]),
                _change(metric, n),
                _WORDS[metric.changed[n]],
            ]
        )
    if not rows:
        page.text("no figure is known of both")
        return
    page.table(("figure", "A", LETTERS[n % 26], "change", ""), rows, left=("figure", "change", ""))


def _change(metric: Metric, n: int) -> str:
    change, low, high = metric.change_percent[n], metric.low[n], metric.high[n]
    if change is None:
        return NOT_KNOWN
    if low is None or high is None:
        return _percent(change)
    return f"{_percent(change)} ({_percent(low)} to {_percent(high)})"


def _percent(value: float) -> str:
    return f"{value:+.1f}" if abs(value) < 10 else f"{value:+,.0f}"
