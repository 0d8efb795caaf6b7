"""The section of the text report about the outputs that frames were seen at."""

from __future__ import annotations

from mgtop.analysis.summary import Summary
from mgtop.report.numbers import number, whole
from mgtop.report.page import Page

_MEANINGS = {
    "live": "they left as they were made; only these are in rate, intervals and late frames.",
    "batch": "they were written after they were made; the times are no frame rate.",
    "undecided": "the calls do not tell which of the two it is; no frame rate is shown.",
}
_MOST = 12


def sinks(page: Page, summary: Summary) -> None:
    """One row for each kind of output, and what the words mean."""
    if not summary.sinks:
        return
    page.heading("OUTPUTS", "where frames were seen to leave the program")
    head = ("output", "frames", "how", "outputs", "ms per frame in its calls")
    rows = [
        (one.name, whole(one.frames), one.landed, whole(one.outputs),
         number(one.inside_ms / one.frames if one.frames else None))
        for one in summary.sinks[:_MOST]
    ]  # fmt: skip
    page.table(head, rows, left=("output", "how"))
    if len(summary.sinks) > _MOST:
        page.text(f"and {len(summary.sinks) - _MOST:,} more (--json lists all)")
    for kind, meaning in _MEANINGS.items():
        if any(one.landed == kind for one in summary.sinks):
            page.text(f"{kind}: {meaning}")
