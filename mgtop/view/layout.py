"""How the rows of a screen are shared out; nothing here draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mgtop.view.panels import Want

SMALLEST_WIDTH, SMALLEST_HEIGHT = 40, 10
"""Below this only the essentials are shown."""


@dataclass(frozen=True)
class Layout:
    """Rows of each part.

    Attributes:
        header: lines above the charts (1–4).
        charts: rows of each chart below its title; 0: the title alone.
        titles: lines of titles, of all charts together.
        readouts: lines of figures.
        tails: lines of the list of late frames.
        detail: lines about the selected one.
    """

    header: int
    charts: tuple[int, ...]
    titles: int
    readouts: int
    tails: int
    detail: int

    @property
    def rows(self) -> int:
        """All rows together: with flags, titles, axis, the heading of the list, and keys."""
        fixed = 1 + self.titles + 1 + 1 + 1
        return self.header + sum(self.charts) + self.readouts + self.tails + self.detail + fixed


def lay_out(height: int, wants: Sequence[Want], selected: bool = False) -> Layout:
    """Share ``height`` rows out to the charts by what they want.

    Evidence of a ``selected`` late frame is always shown; on a small screen, the list and the
    header give their rows for it, and the charts stay as they are. Lanes, which have no title,
    stay as long as anything does.
    """
    charts = [1 if want.weight else 0 for want in wants]
    titles = sum(want.titled for want in wants)
    header, readouts, tails, detail = (4, 2, 2, 0) if height >= 22 else (3, 1, 1, 0)
    if height >= 34:
        header = 5

    def left() -> int:
        return height - Layout(header, tuple(charts), titles, readouts, tails, detail).rows

    if left() < 0:
        header = min(header, 3 if height >= 22 else 2)
    if selected and height < 30:
        header, tails, detail = (3, 1, 2) if header == 4 else (header - 1, 1, 1)
    for number in reversed(range(len(charts))):
        if left() < 0 and wants[number].titled:
            charts[number] = 0
    if left() < 0:
        header = min(header, 2)
    order = [n for n, want in enumerate(wants) for _ in range(want.weight) if charts[n]]
    order = [n for n in order if wants[n].titled]
    if height >= 30 and left() >= 8:
        detail = 3
        tails += 2
    while left() > 0:
        if not order:
            tails += left()
            break
        for number in order:
            if left() > 0:
                charts[number] += 1
        if left() > 0 and height >= 30:
            tails += 1
    return Layout(header, tuple(charts), titles, readouts, tails, detail)
