"""The rounds of a sweep or fallback as rows of text: pure, from the state that it keeps."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size

from mgtop.charts import Run
from mgtop.rounds.row import Row
from mgtop.rounds.state import Round, State
from mgtop.rounds.time_left import time_left_s
from mgtop.rounds.variables import label
from mgtop.rounds.wording import about, notes_of, significant
from mgtop.view.figures import clean

Rows = list[list[Run]]

_STATUS = {
    "waiting": ("·", "dim"),
    "running": ("▶", "title"),
    "done": ("✔", "good"),
    "failed": ("✖", "bad"),
    "skipped": ("–", "warn"),
}
_SWEEP_BANDS = {"running": "good", "finished": "strong", "stopped": "warn", "failed": "bad"}
_COLUMNS = (("P50 ms", 8), ("P95", 8), ("late", 6), ("of", 7), ("MiB", 8), ("took", 7))
_LABEL_LEAST, _LABEL_MOST = 14, 32
_BAR = 24


def rounds_rows(
    state: State, width: int, height: int, now_s: float, *, runs: bool, top: int | None = None
) -> Rows:
    """The table of rounds with its head, and below it what they come to.

    Args:
        state: as the sweep wrote it last.
        width: columns.
        height: rows.
        now_s: Unix time.
        runs: whether a process carries it out now.
        top: first round to show; None: so that the one that runs is seen.
    """
    head = [_state_line(state, width, runs), _progress_line(state, width, now_s, runs)]
    foot = _answer(state, width, max(0, height - len(head) - 4))
    room = max(1, height - len(head) - len(foot) - 1)
    first = _first(state.rounds, room, top)
    several = any(found.repeat > 1 for found in state.rounds)
    names = [_name(found, several) for found in state.rounds]
    label_width = min(_LABEL_MOST, max([_LABEL_LEAST, *map(cell_len, names)]), max(8, width - 50))
    table = [_line(width, [(_head(label_width), "title")])]
    table += [
        _round_line(state.rounds[n], names[n], label_width, width, now_s)
        for n in range(first, min(len(state.rounds), first + room))
    ]
    table += [[Run(" " * width, "empty")]] * (room + 1 - len(table))
    return (head + table + foot)[:height]


def scroll_limit(state: State, height: int) -> int:
    """The last useful first round."""
    return max(0, len(state.rounds) - max(1, height - 8))


def _state_line(state: State, width: int, runs: bool) -> list[Run]:
    order = state.order
    status = state.status
    if status == "running" and not runs:
        status = "stopped"
    what = " × ".join(order.vary) if order.vary else "one notch at a time from the baseline"
    pieces = [
        (" mgtop ", "title"),
        (f" {order.kind} {clean(state.name)} ", "strong"),
        (status.upper(), _SWEEP_BANDS[status]),
        (f"  {clean(what)}", "text"),
    ]
    if order.on:
        pieces.append((f"  on {clean(order.on)}", "dim"))
    return _line(width, pieces)


def _progress_line(state: State, width: int, now_s: float, runs: bool) -> list[Run]:
    over = sum(found.is_over for found in state.rounds)
    count = len(state.rounds)
    if state.step:
        return _line(width, [(f" {state.step} …", "warn")])
    filled = round(_BAR * over / count) if count else 0
    pieces = [
        (" ", "text"),
        ("█" * filled, "bar"),
        ("░" * (_BAR - filled), "rest"),
        (f" {over} of {count} rounds", "text"),
    ]
    left = time_left_s(state, now_s)
    if runs and over < count:
        told = f"about {about(left)} left" if left else "time left: n/a yet"
        pieces.append((f"   {told}", "strong"))
    took = (state.ended_s or now_s) - state.began_s if runs or state.ended_s else None
    if took is not None and took >= 1:
        pieces.append((f"   since {about(took)}" if runs else f"   took {about(took)}", "dim"))
    return _line(width, pieces)


def _head(label_width: int) -> str:
    columns = "".join(f"{name:>{size}}" for name, size in _COLUMNS)
    return f"   {'round':<{label_width}}{columns}  OOM, notes"


def _round_line(found: Round, name: str, label_width: int, width: int, now_s: float) -> list[Run]:
    glyph, band = _STATUS[found.status]
    row = found.row or found.live
    pieces = [(f" {glyph} ", band), (set_cell_size(name, label_width), "text")]
    texts = _figures(row, found, now_s)
    figures = "".join(f"{text:>{size}}" for text, (_, size) in zip(texts, _COLUMNS, strict=True))
    pieces.append((figures, "text" if found.row is not None else "dim"))
    if row is not None and row.oom:
        pieces.append((f"  OOM at {row.oom_place}", "bad"))
    if row is not None and (notes := notes_of(row)):
        pieces.append((f"  {clean('; '.join(notes))}", "warn" if found.row is not None else "dim"))
    elif found.status == "running" and row is None:
        pieces.append(("  running", "dim"))
    return _line(width, pieces)


def _figures(row: Row | None, found: Round, now_s: float) -> list[str]:
    took = found.took_s
    if found.status == "running" and found.began_s is not None:
        took = max(0.0, now_s - found.began_s)
    duration = "" if took is None else f"{took:.0f} s" if took < 600 else f"{took / 60:.0f} min"
    if row is None or found.status == "skipped":
        return ["", "", "", "", "", duration]
    return [
        significant(row.p50_frame_ms),
        significant(row.p95_frame_ms),
        "n/a" if row.tails is None else str(row.tails),
        f"{row.counted:,}",
        significant(row.peak_mem_mib),
        duration,
    ]


def _answer(state: State, width: int, most: int) -> Rows:
    """What it comes to; while it runs, what is to be known of it."""
    texts = [*state.result] or [*state.said]
    if state.message:
        texts.insert(0, state.message)
    lines = []
    for text in texts:
        lines += textwrap.wrap(clean(text), max(20, width - 4)) or [""]
    if len(lines) > most:
        lines = [*lines[: max(0, most - 1)], "…"][:most]
    band = "bad" if state.message else "strong" if state.result else "dim"
    return [_line(width, [(f"  {line}", band)]) for line in lines]


def _name(found: Round, several: bool) -> str:
    text = clean(label(found.setting))
    return f"{text} #{found.repeat}" if several else text


def _first(rounds: Sequence[Round], room: int, top: int | None) -> int:
    most = max(0, len(rounds) - room)
    if top is not None:
        return min(max(0, top), most)
    running = next((n for n, found in enumerate(rounds) if found.status == "running"), None)
    if running is None:
        running = sum(found.is_over for found in rounds)
    return min(max(0, running - room // 2), most)


def _line(width: int, pieces: Sequence[tuple[str, str]]) -> list[Run]:
    """Pieces one after another, cut or filled to the width."""
    runs: list[Run] = []
    left = width
    for text, band in pieces:
        size = cell_len(text)
        if size > left:
            text = set_cell_size(text, left)
            size = left
        if size:
            runs.append(Run(text, band))
            left -= size
    return [*runs, Run(" " * left, "empty")] if left else runs
