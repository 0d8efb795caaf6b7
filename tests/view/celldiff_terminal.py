"""A terminal for tests: pyte, with what it leaves out."""

from __future__ import annotations

import random
import re
from typing import Any

import pyte
from pyte.screens import Char

PRIVATE = re.compile(r"\x1b\[[<>=][0-9;]*[a-zA-Z]|\x1b\[\?[0-9;]*\$p|\x1b\]\d+;[^\x07\x1b]*\x07")
"""What pyte would print: it changes no cell."""
LINK = re.compile(r"\x1b\]8;([^\x1b]*)\x1b\\")
SEEN_ON_BLANKS = ("underscore", "strikethrough", "reverse")


class Screen(pyte.Screen):
    """pyte's, with links and the attributes that it ignores (both kept in ``blink``)."""

    link = ""
    extra: frozenset[int] = frozenset()

    def select_graphic_rendition(self, *codes: int, **options: Any) -> None:
        super().select_graphic_rendition(*codes, **options)
        left = iter(codes or (0,))
        for code in left:
            if code in (38, 48):
                for _ in range(3 if next(left, 5) == 2 else 1):
                    next(left, 0)
            elif code == 0:
                self.extra = frozenset()
            elif code in (2, 5, 6, 8, 21, 51, 52, 53):
                self.extra |= {code}
        self.note()

    def note(self) -> None:
        self.cursor.attrs = self.cursor.attrs._replace(blink=(self.link, self.extra))


class Terminal:
    """Takes output, and shows it."""

    def __init__(self, width: int, height: int) -> None:
        self.screen = Screen(width, height)
        self.stream = pyte.Stream(self.screen)
        self.bytes = 0

    def write(self, data: str) -> None:
        self.bytes += len(data.encode())
        parts = LINK.split(PRIVATE.sub("", data).replace("\n", "\r\n"))
        for index, part in enumerate(parts):
            if index % 2:
                self.screen.link = "" if part == ";" else part
                self.screen.note()
            elif part:
                self.stream.feed(part)

    def stop(self) -> None:
        """For Textual, which takes this for its writer thread."""

    def resize(self, width: int, height: int) -> None:
        self.screen.resize(height, width)

    def spoil(self, seed: int = 1) -> None:
        """Something else wrote on the terminal, or it lost what it showed."""
        rng = random.Random(seed)
        for y in range(self.screen.lines):
            for x in range(self.screen.columns):
                self.screen.buffer[y][x] = self.screen.default_char._replace(data=rng.choice("#%&"))

    def cells(self) -> list[list[Char]]:
        """What can be seen: the foreground of a blank cannot."""
        screen = self.screen
        return [
            [_seen(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)
        ]

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def differences(self, other: Terminal) -> list[str]:
        """Where two terminals do not show the same."""
        found = [
            f"({x},{y}) {a} / {b}"
            for y, (one, two) in enumerate(zip(self.cells(), other.cells(), strict=True))
            for x, (a, b) in enumerate(zip(one, two, strict=True))
            if a != b
        ]
        mine, its = self.screen.cursor, other.screen.cursor
        if (mine.x, mine.y) != (its.x, its.y):
            found.append(f"cursor {mine.x},{mine.y} / {its.x},{its.y}")
        return found


def _seen(cell: Char) -> Char:
    link, extra = cell.blink if isinstance(cell.blink, tuple) else ("", frozenset())
    cell = cell._replace(blink=(link, extra))
    if cell.data != " " or any(getattr(cell, name) for name in SEEN_ON_BLANKS) or extra - {2}:
        return cell
    return cell._replace(fg="default", bold=False, italics=False, blink=(link, frozenset()))
