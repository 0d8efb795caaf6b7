"""The findings as a table for people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import groupby

from mgtop.record.health.examine import Examined
from mgtop.record.health.finding import Finding, State

TITLES = {
    "recording": "RECORDING",
    "gpu": "GPU",
    "processor": "PROCESSOR",
    "kernel": "KERNEL",
    "terminal": "TERMINAL",
    "software": "SOFTWARE",
    "machine": "MACHINE",
}
SIGNS: dict[State, str] = {"ok": "ok", "weak": "weak", "missing": "MISSING"}
"""Words, so that no colour and no special letter is needed to tell them apart."""
NARROWEST = 40

Paint = Callable[[State, str], str]


def render(examined: Examined, width: int, paint: Paint = lambda _state, text: text) -> str:
    """The whole table.

    Args:
        examined: what was found.
        width: columns to fill.
        paint: colours a sign; what it returns takes as many columns as what it was given.
    """
    width = max(width, NARROWEST)
    lines: list[str] = []
    for area, group in groupby(examined.findings, key=lambda finding: finding.area):
        findings = list(group)
        lines += [TITLES.get(area, area.upper())]
        column = max(len(finding.name) for finding in findings)
        for finding in findings:
            lines += _finding(finding, column, width, paint)
        lines.append("")
    lines += textwrap.wrap(_summary(examined), width)
    return "\n".join(lines)


def _finding(finding: Finding, column: int, width: int, paint: Paint) -> list[str]:
    sign = f"{SIGNS[finding.state]:<7}"
    indent = 2 + len(sign) + 2 + column + 2
    head = f"  {paint(finding.state, sign)}  {finding.name:<{column}}  "
    values = _wrapped(finding.value, "", indent, width)
    lines = [head + values[0].lstrip(), *values[1:]] if values else [head.rstrip()]
    inner = 4 + len(sign)
    for label, text in (("why: ", finding.reason), ("do:  ", finding.remedy)):
        if text is not None and finding.state != "ok":
            lines += _wrapped(text, label, inner, width)
    return lines


def _wrapped(text: str, label: str, indent: int, width: int) -> Sequence[str]:
    """Text that starts at a column; on a narrow terminal long words stick out, uncut."""
    return textwrap.wrap(
        text,
        max(width, indent + NARROWEST // 2),
        initial_indent=" " * indent + label,
        subsequent_indent=" " * (indent + len(label)),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(examined: Examined) -> str:
    counts = examined.counts
    numbers = f"{counts['ok']} ok, {counts['weak']} weak, {counts['missing']} missing"
    if examined.works:
        return f"Recording works here: {numbers}."
    first = next(f for f in examined.findings if f.essential and f.state == "missing")
    return f"Recording does not work here ({first.name}: {first.reason}): {numbers}."
