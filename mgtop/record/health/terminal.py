"""What the terminal can show."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mgtop.record.health.finding import Finding, bad, ok

COMFORTABLE = (80, 24)
SMALLEST = (40, 10)
_DUMB = ("", "dumb", "unknown")
_DIRECT = ("truecolor", "24bit")


class Terminal(NamedTuple):
    """What is known of it; ``size`` None: standard output is no terminal."""

    environment: Mapping[str, str]
    size: tuple[int, int] | None
    encoding: str


def this_terminal() -> Terminal:
    """The terminal of this process."""
    size = None
    for stream in (1, 0):
        if os.isatty(stream):
            columns, rows = os.get_terminal_size(stream)
            size = (columns, rows)
            break
    return Terminal(os.environ, size, sys.__stdout__.encoding if sys.__stdout__ else "")


def check_terminal(terminal: Terminal) -> Iterator[Finding]:
    """Kind, colours, letters and size."""
    yield _kind(terminal)
    if terminal.size is not None:
        yield _colours(terminal)
        yield _letters(terminal)
        yield _size(*terminal.size)


def _kind(terminal: Terminal) -> Finding:
    kind = terminal.environment.get("TERM", "")
    if terminal.size is None:
        return bad(
            "terminal.kind",
            "terminal",
            "none: standard output goes elsewhere",
            "the screen needs a terminal",
            "record with --headless, read with mgtop report",
            term=kind or None,
        )
    if kind in _DUMB:
        return bad(
            "terminal.kind",
            "terminal",
            f"TERM={kind or '(not set)'}",
            "such a terminal cannot place text",
            "export TERM=xterm-256color, or what your terminal is",
            state="missing",
            term=kind or None,
        )
    through = [name for name in ("TMUX", "STY", "SSH_CONNECTION") if terminal.environment.get(name)]
    names = {"TMUX": "tmux", "STY": "screen", "SSH_CONNECTION": "ssh"}
    inside = f", through {' and '.join(names[name] for name in through)}" if through else ""
    return ok("terminal.kind", "terminal", kind + inside, term=kind)


def _colours(terminal: Terminal) -> Finding:
    environment = terminal.environment
    kind = environment.get("TERM", "")
    by_ssh = bool(environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"))
    if environment.get("NO_COLOR"):
        return ok("terminal.colours", "colours", "none, as NO_COLOR asks", colours=0)
    if environment.get("COLORTERM", "").lower() in _DIRECT:
        return ok("terminal.colours", "colours", "16.7 million", colours=1 << 24)
    note = "SSH does not pass COLORTERM on" if by_ssh else "COLORTERM is not set"
    if kind.rpartition("-")[2] in ("256color", "kitty", "direct"):
        return ok("terminal.colours", "colours", f"256 ({note})", colours=256)
    inside_tmux = kind.startswith(("screen", "tmux"))
    return bad(
        "terminal.colours",
        "colours",
        "none" if kind in _DUMB else "16",
        f"TERM={kind or '(not set)'} promises no more, and {note}",
        'in tmux.conf: set -g default-terminal "tmux-256color"'
        if inside_tmux
        else "export COLORTERM=truecolor where the terminal can (most can), or TERM=xterm-256color",
        colours=0 if kind in _DUMB else 16,
    )


def _letters(terminal: Terminal) -> Finding:
    encoding = terminal.encoding.lower().replace("-", "").replace("_", "")
    if encoding == "utf8":
        return ok("terminal.letters", "letters", "UTF-8", encoding=terminal.encoding)
    return bad(
        "terminal.letters",
        "letters",
        terminal.encoding or "not known",
        "the charts are drawn with signs of Unicode",
        "export LC_ALL=C.UTF-8",
        encoding=terminal.encoding,
    )


def _size(columns: int, rows: int) -> Finding:
    value = f"{columns}×{rows}"
    measured = {"columns": columns, "rows": rows}
    if columns >= COMFORTABLE[0] and rows >= COMFORTABLE[1]:
        return ok("terminal.size", "size", value, measured=measured)
    small = columns < SMALLEST[0] or rows < SMALLEST[1]
    return bad(
        "terminal.size",
        "size",
        value,
        "only the essentials fit" if small else "not everything fits",
        f"make it {COMFORTABLE[0]}×{COMFORTABLE[1]} or larger",
        measured=measured,
    )
