"""Six of Textual's own ``Sparkline`` at four updates a second, for comparison in one run.

    python benchmarks/sparkline.py

Each has a line of text above it and 120 values that step every half second, as the charts of
``mgtop view`` do; nothing is read from anywhere.
"""

from __future__ import annotations

import random

from textual.app import App, ComposeResult
from textual.widgets import Sparkline, Static

UPDATES_PER_S = 4
COLUMN_S = 0.5
VALUES = 120


class Sparklines(App[None]):
    """The charts, and a tick that renews them."""

    CSS = "Sparkline { height: 4; }"

    def compose(self) -> ComposeResult:
        """A title and a chart, six times."""
        for number in range(6):
            yield Static(f"interval {number}", id=f"title{number}")
            yield Sparkline([random.random() for _ in range(VALUES)], id=f"chart{number}")

    def on_mount(self) -> None:
        """Begin to tick."""
        self.ticks = 0
        self.set_interval(1 / UPDATES_PER_S, self.tick)

    def tick(self) -> None:
        """The newest column changes; every half second all of them move on."""
        self.ticks += 1
        for number in range(6):
            chart = self.query_one(f"#chart{number}", Sparkline)
            values = list(chart.data or ())
            if self.ticks % round(COLUMN_S * UPDATES_PER_S) == 0:
                values = [*values[1:], 0.0]
            values[-1] = max(values[-1], random.random())
            chart.data = values
            title = self.query_one(f"#title{number}", Static)
            title.update(f"interval {number}  last {values[-1]:.2f}", layout=False)


if __name__ == "__main__":
    Sparklines().run()
