"""A finished check as Markdown, for an issue or a model card."""

from __future__ import annotations

from mgtop.preflight.check.requirement import tamed
from mgtop.preflight.check.run import Checked
from mgtop.preflight.check.text import LABELS, MARKS, summary


def render(checked: Checked) -> str:
    """One table, unmet ones first; every statement is in it."""
    checked = tamed(checked)
    lines = [
        summary(checked),
        "",
        "| | verdict | what | strength | stated | where | this machine |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in checked.requirements:
        where = f"{one.file}:{one.line}" if one.file else "asked of this machine"
        scope = f" *({_cell(one.scope)})*" if one.scope else ""
        lines.append(
            f"| {MARKS[one.verdict]} | {one.verdict} | {LABELS[one.kind]} | {one.strength} "
            f"| {_cell(one.quote)}{scope} | {_cell(where)} | {_cell(one.local)} |"
        )
    for conflict in checked.conflicts:
        first, second = conflict.first, conflict.second
        about = (
            f"Contradiction ({LABELS[conflict.kind]}): {conflict.about}. "
            f"`{first.file}:{first.line}` says {_cell(first.quote)}; "
            f"`{second.file}:{second.line}` says {_cell(second.quote)}."
        )
        lines += ["", about]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")
