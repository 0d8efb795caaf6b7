"""Processes as rows: a tree or a sorted list, with what each one uses."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from mgtop.charts import Run
from mgtop.view.figures import clean, fit
from mgtop.view.process_table import Process
from mgtop.view.text_rows import line

ORDERS: tuple[tuple[str, Callable[[Process], float]], ...] = (
    ("CPU", lambda process: -(process.cpu or 0.0)),
    ("RAM", lambda process: -(process.rss_mib or 0.0)),
    ("GPU memory", lambda process: -(process.gpu_total_mib or 0.0)),
    ("threads", lambda process: -(process.threads or 0)),
    ("pid", lambda process: process.pid),
)
COMMAND_LINES = 3
"""Of the selected process's command; the rest is cut."""
HEADING = "     pid user       CPU%  thr   RAM MiB  GPU MiB  S  command"


def heading_row(order: str | None, width: int) -> list[Run]:
    """Names of the columns, and how it is sorted."""
    how = "tree" if order is None else f"by {order}"
    text = f"{HEADING}  ({how})"
    return line(width, [(fit(text, width), "title_dim")])


def process_row(process: Process, selected: bool, tree: bool, width: int) -> list[Run]:
    """One process; ``*``: it tells of frames."""
    branch = "  " * max(0, process.depth - 1) + ("└ " if process.depth else "") if tree else ""
    figures = (
        f"{'▸' if selected else ' '}{process.pid:>7} {fit(process.user or 'n/a', 8)}"
        f" {_number(process.cpu, 6)} {_number(process.threads, 4)}"
        f" {_number(process.rss_mib, 9)} {_number(process.gpu_total_mib, 8)}"
        f"  {process.state or '?'}  "
    )
    star = "* " if process.emits else ""
    name = clean(process.name) or "n/a"
    band = "selected" if selected else "text"
    its = "selected" if selected else "strong" if process.emits else "text"
    return line(width, [(figures, band), (f"{branch}{star}{name}", its)])


def _number(value: float | None, width: int) -> str:
    return "n/a".rjust(width) if value is None else f"{value:,.0f}".rjust(width)


def detail_rows(process: Process, width: int) -> list[list[Run]]:
    """The selected process: its whole command, and its memory on each GPU."""
    lines = textwrap.wrap(clean(process.name) or "n/a", max(8, width - 12))
    if len(lines) > COMMAND_LINES:
        lines = [*lines[: COMMAND_LINES - 1], " ".join(lines[COMMAND_LINES - 1 :])]
    rows = [
        line(width, [(fit("" if n else f" {process.pid}", 10), "strong"), (part, "text")])
        for n, part in enumerate(lines)
    ]
    gpus = [
        f"GPU {gpu} {'n/a' if mib is None else f'{mib:,.0f} MiB'}"
        for gpu, mib in sorted(process.gpu_mib.items())
    ]
    if gpus:
        how = "  (inferred: the driver knows it by another pid)" if process.gpu_inferred else ""
        rows.append(line(width, [("  memory: ", "dim"), (", ".join(gpus), "text"), (how, "dim")]))
    return rows


def environment_rows(
    lines: Sequence[tuple[str, str]], pid: int, first: int, height: int, width: int
) -> list[list[Run]]:
    """Variables, a row each, from the ``first`` on."""
    if not lines:
        return [line(width, [(f" The environment of {pid} cannot be read.", "dim")])]
    head = f" environment of {pid}, {len(lines)} variables, secrets masked (e: processes)"
    rows = [line(width, [(fit(head, width), "title_dim")])]
    for name, value in lines[first : first + height - 1]:
        rows.append(
            line(width, [(f" {clean(name)}", "title"), ("=", "dim"), (clean(value), "text")])
        )
    return rows
