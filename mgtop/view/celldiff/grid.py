"""What the terminal shows, cell by cell, and the shortest output that leads to the next picture."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from mgtop.view.celldiff.cells import ADDRESS, NARROW, SECOND_HALF, Cells, take_apart
from mgtop.view.celldiff.looks import blank, change

UNKNOWN = "\1"
"""A cell of which it is not known what the terminal shows."""
MOST_SORTED = 400
"""Up to so many runs are put in the order of their looks too, to see which order is shorter."""
LONGEST_BRIDGE = 4
"""Bytes of unchanged text that are not longer than the cursor movement over them."""
_ONE_STEP = re.compile(r"\[1(?=[A-C])")


class Run(NamedTuple):
    """Neighbouring cells of one look that the terminal does not show yet."""

    y: int
    x: int
    look: str
    text: str


class Pen:
    """Writes runs, and knows where the cursor is and what look is set."""

    def __init__(self) -> None:
        self.output: list[str] = []
        self._cursor: tuple[int, int] | None = None
        """Row and column; None: not known."""
        self._look = ""

    def draw(self, runs: Iterable[Run], width: int) -> None:
        """Write runs on a terminal of that width."""
        output = self.output
        for y, x, look, text in runs:
            if (y, x) != self._cursor:
                output.append(self._movement(y, x))
            if look != self._look:
                output.append(change(self._look, look))
                self._look = look
            output.append(text.replace(SECOND_HALF, ""))
            right = x + len(text)
            # Behind the last column, or a wide character, terminals do not agree on it.
            self._cursor = (y, right) if right < width and NARROW.fullmatch(text) else None

    def rest(self, y: int, x: int) -> None:
        """Put the cursor there, with the terminal's own look."""
        self.output.append(change(self._look, ""))
        self._look = ""
        if (y, x) != self._cursor:
            self.output.append(self._movement(y, x))
            self._cursor = (y, x)

    def _movement(self, y: int, x: int) -> str:
        """The shortest way to a place."""
        absolute = f"\x1b[{y + 1};{x + 1}H" if x else f"\x1b[{y + 1}H" if y else "\x1b[H"
        if self._cursor is None:
            return absolute
        down, right = y - self._cursor[0], x - self._cursor[1]
        rows = f"\x1b[{abs(down)}{'B' if down > 0 else 'A'}" if down else ""
        columns = f"\x1b[{right}C" if right > 0 else "\b" * -right
        return min(_ONE_STEP.sub("[", rows + columns), absolute, key=len)


class CellGrid:
    """A copy of the terminal's cells.

    Args:
        width: columns.
        height: rows.

    All cells are unknown at first, so that what is drawn is sent in full.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._text = [UNKNOWN * width] * height
        self._looks = [[""] * width for _ in range(height)]
        self._resting = (-1, -1)
        """Where the last frame left the cursor."""
        self._runs: list[Run] = []
        """Queued by this frame."""
        self._reached: dict[int, int] = {}
        """Row → end of what this frame has put there, while it is queued."""
        self._written: list[str] = []

    def frame(self, output: str) -> str | None:
        """What to send for one frame of Textual's: nothing where no cell changes.

        A frame is a sequence of cursor addresses, each followed by what is written from there;
        the last one is where the cursor stays. None: it does not fit into the grid, or it is
        no such sequence, and from now on the grid is not to be trusted.
        """
        self._runs, self._reached, self._written = [], {}, []
        fields = ADDRESS.split(output)
        if fields[0] or len(fields) < 4:
            return None
        y = x = 0
        for row, column, body in zip(fields[1::3], fields[2::3], fields[3::3], strict=True):
            y, x = int(row) - 1, int(column) - 1
            if not (0 <= y < self.height and 0 <= x < self.width):
                return None
            body = body.removesuffix("\n")  # an address follows
            cells = take_apart(body)
            if cells is None:
                self._pass_on(y, x, body)
            elif x + len(cells.text) > self.width:
                return None
            elif cells.text:
                self.put(y, x, cells)
        return self._sent(y, x)

    def put(self, y: int, x: int, cells: Cells) -> None:
        """Take note of cells, and queue those that the terminal does not show yet."""
        text, looks = cells
        end = x + len(text)
        if x < self._reached.get(y, 0):  # over what is queued: the order matters
            self._written += self._pen_at_rest(y, x).output
        self._reached[y] = end
        row, row_looks = self._text[y], self._looks[y]
        old, old_looks = row[x:end], row_looks[x:end]
        if old == text and old_looks == looks:
            return
        self._text[y] = self._without_halves(row, x, end, text)
        row_looks[x:end] = looks
        both = zip(old, text, old_looks, looks, strict=True)
        changed = [i for i, (a, b, c, d) in enumerate(both) if a != b or c != d]
        self._runs += _runs(y, x, text, looks, changed)

    def _without_halves(self, row: str, x: int, end: int, text: str) -> str:
        """The row with new text; what is left of a wide character at its edges is unknown."""
        before, after = row[:x], row[end:]
        if row[x] == SECOND_HALF and before:
            before = before[:-1] + UNKNOWN
        if after.startswith(SECOND_HALF):
            after = UNKNOWN + after[1:]
        return before + text + after

    def _pass_on(self, y: int, x: int, body: str) -> None:
        """Send output as it is; from there on its row is unknown then."""
        self._written += (*self._pen_at_rest(y, x).output, body)
        row = self._text[y]
        self._text[y] = self._without_halves(row, x, self.width, UNKNOWN * (self.width - x))

    def _sent(self, y: int, x: int) -> str:
        """The output of a frame that leaves the cursor there."""
        if not self._runs and not self._written and (y, x) == self._resting:
            return ""
        self._resting = (y, x)
        return "".join((*self._written, *self._pen_at_rest(y, x).output))

    def _pen_at_rest(self, y: int, x: int) -> Pen:
        """A pen that has written what is queued, in the shorter one of two orders."""
        runs, self._runs, self._reached = self._runs, [], {}
        pen = _drawn(runs, self.width)
        if 1 < len(runs) <= MOST_SORTED:
            sorted_pen = _drawn(sorted(runs, key=itemgetter(2)), self.width)
            pen = min(pen, sorted_pen, key=lambda pen: sum(map(len, pen.output)))
        pen.rest(y, x)
        return pen


def _drawn(runs: Sequence[Run], width: int) -> Pen:
    pen = Pen()
    pen.draw(runs, width)
    return pen


def _runs(y: int, x: int, text: str, looks: Sequence[str], changed: Sequence[int]) -> Iterable[Run]:
    """The changed cells as runs, and short unchanged pieces between them if that is shorter."""
    first = end = -1  # of the open run
    look = ""
    is_blank = False
    for i in changed:
        if i < end:
            continue  # went along with the first half of its character
        begin = i - 1 if text[i] == SECOND_HALF else i
        if first >= 0:
            joint = _joint(text, looks, end, i, look, is_blank)
            if joint is None:
                yield Run(y, x + first, look, text[first:end])
                first = -1
            else:
                look = joint
                is_blank = is_blank and text[begin] == " "
        if first < 0:
            first, look, is_blank = begin, looks[begin], text[begin] == " "
        end = i + 1
        if text[end : end + 1] == SECOND_HALF:
            end += 1
    if first >= 0:
        yield Run(y, x + first, look, text[first:end])


def _joint(
    text: str, looks: Sequence[str], begin: int, i: int, look: str, is_blank: bool
) -> str | None:
    """The look that the open run has after taking in the cells from ``begin`` to ``i``.

    None: it cannot, or a movement of the cursor is shorter. ``look`` is the run's;
    ``is_blank``: it consists of blanks, so that its foreground is free.
    """
    if i > begin and (i - begin > LONGEST_BRIDGE or len(text[begin:i].encode()) > LONGEST_BRIDGE):
        return None
    for at in range(begin, i + 1):
        its = looks[at]
        if its == look:
            pass
        elif text[at] == " " and blank(look) == its:
            continue
        elif is_blank and blank(its) == look:
            look = its
        else:
            return None
        is_blank = is_blank and text[at] == " "
    return look
