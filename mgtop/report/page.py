"""A page of plain text of fixed width: headings, wrapped sentences, label–value lines, tables.

Widths are terminal cells, so that wide characters stay in their columns. Control characters
of foreign text (commands, request ids, marks) are shown as escapes and never reach a terminal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

NARROWEST = 40
_LABEL = 15


def clean(text: str) -> str:
    """``text`` with everything that a terminal would obey made visible."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def cells(text: str) -> int:
    """Columns that a terminal uses for ``text``."""
    return len(text) if text.isascii() else sum(_cell(char) for char in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """``text``, at most ``width`` cells wide; an ellipsis stands for what was cut."""
    if cells(text) <= width:
        return text
    kept, used = [], 0
    for char in text:
        used += _cell(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + "…" if width > 0 else ""


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` cells, broken between words, or inside one that is longer."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and cells(line) + 1 + cells(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        line = word
        while cells(line) > width:
            head = _head(line, width)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line] if line or not lines else lines


def _head(text: str, width: int) -> str:
    used = 0
    for at, char in enumerate(text):
        used += _cell(char)
        if used > width:
            return text[: max(at, 1)]
    return text


class Page:
    """Collects lines; ``width`` is held for every one of them, and is at least 40."""

    def __init__(self, width: int = 80) -> None:
        self.width = max(width, NARROWEST)
        self._lines: list[str] = []

    def heading(self, name: str, about: str = "") -> None:
        """A section begins; ``about`` stands beside its name."""
        if self._lines:
            self._lines.append("")
        text = f"{name}  {clean(about)}" if about else name
        first, *rest = wrap(text, self.width - 2)
        if about:
            first = first.replace(f"{name} ", f"{name}  ", 1)
        self._lines.append(first)
        self._lines.extend("  " + line for line in rest)

    def text(self, text: str, *, indent: int = 2, bullet: str = "") -> None:
        """A sentence, wrapped; lines after the first stand under the first word."""
        margin = " " * indent
        hang = " " * cells(bullet)
        for number, line in enumerate(wrap(clean(text), self.width - indent - cells(bullet))):
            self._lines.append(margin + (bullet if number == 0 else hang) + line)

    def pair(self, label: str, value: str) -> None:
        """A label and its value, wrapped beside it."""
        space = self.width - 2 - _LABEL
        for number, line in enumerate(wrap(clean(value), space)):
            left = label if number == 0 else ""
            self._lines.append(f"  {left:<{_LABEL}}{line}".rstrip())

    def lines(self, lines: Sequence[str]) -> None:
        """Ready lines, cut at the width."""
        self._lines.extend(cut(line, self.width).rstrip() for line in lines)

    def table(
        self, head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str] = ()
    ) -> None:
        """Rows under a head. Columns are right-aligned, but those named in ``left``.

        Where the table is too wide, the widest left-aligned column gives way; where that is
        not enough, each row becomes a sentence, so that nothing is hidden.
        """
        lines = table_lines(head, rows, left, self.width)
        if max(cells(line) for line in lines) <= self.width:
            self.lines(lines)
            return
        for row in rows:
            named = zip(head, row, strict=True)
            self.text(
                ", ".join(f"{name} {cell}".strip() for name, cell in named if cell), bullet="- "
            )

    def render(self) -> str:
        """The page, ended by a line break."""
        return "\n".join(self._lines) + "\n"


def table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str], width: int
) -> list[str]:
    """The table's lines: head, then rows, indented by two; see :meth:`Page.table`."""
    texts = [[clean(cell) for cell in row] for row in rows]
    widths = [
        max(cells(name), *(cells(row[column]) for row in texts)) if texts else cells(name)
        for column, name in enumerate(head)
    ]
    excess = 2 * len(head) + sum(widths) - width
    lefts = [column for column, name in enumerate(head) if name in left]
    if excess > 0 and lefts:
        widest = max(lefts, key=lambda column: widths[column])
        widths[widest] = max(widths[widest] - excess, min(widths[widest], 6))
    lines = []
    for row in (head, *texts):
        parts = []
        for column, cell in enumerate(row):
            shown = cut(cell, widths[column])
            blank = " " * (widths[column] - cells(shown))
            parts.append(shown + blank if column in lefts else blank + shown)
        lines.append("  " + "  ".join(parts).rstrip())
    return lines
