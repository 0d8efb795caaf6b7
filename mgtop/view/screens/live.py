"""The live screen, which is the screen of a recorded session as well."""

from __future__ import annotations

import time
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from mgtop.analysis.live import LiveView, TailMark
from mgtop.charts import ASCII, BLOCKS, steps, window_end
from mgtop.charts.bars import Run
from mgtop.view.bindings import LIVE_KEYS, footer
from mgtop.view.canvas import Canvas
from mgtop.view.chart_rows import chart_rows, charts_of
from mgtop.view.feed import Feed
from mgtop.view.layout import SMALLEST_HEIGHT, SMALLEST_WIDTH, lay_out
from mgtop.view.pace import Pace
from mgtop.view.text_rows import (
    Status,
    detail_rows,
    header_rows,
    line,
    readout_rows,
    tail_rows,
    tiny_rows,
)

DEFAULT_STEP = 2
MESSAGE_S = 3.0


class LiveScreen(Screen[None]):
    """Draws a session, live or recorded.

    Args:
        feed: where its records come from.
        fps: drawings per second.
        readonly: no marks, no stopping.
        ascii_only: bars of plain characters.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key.keys, key.action, key.help, show=False, id=f"live.{key.action}.{key.keys}")
        for key in LIVE_KEYS
    ]

    def __init__(self, feed: Feed, fps: float, readonly: bool, ascii_only: bool = False) -> None:
        super().__init__()
        self.feed = feed
        self.readonly = readonly
        self.pace = Pace(fps)
        self.view: LiveView | None = None
        self.selected: TailMark | None = None
        self._glyphs = ASCII if ascii_only else BLOCKS
        self._step = DEFAULT_STEP
        self._fitted = False
        self._end_ns: int | None = None
        """End of the window, where it does not follow the time."""
        self._paused = False
        self._message = ""
        self._message_until = 0.0
        self._due = 0.0
        self._page: list[TailMark] = []
        self._page_top = 0

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield Canvas(id="canvas")

    def on_mount(self) -> None:
        """Read what there is, and begin to tick."""
        self._due = time.monotonic()
        self.call_after_refresh(self._tick)

    # ------------------------------------------------------------------------------ ticks

    def _tick(self) -> None:
        now = time.monotonic()
        interval = self.pace.ticked(now, self._due)
        self.feed.poll()
        self.draw()
        if not self.feed.caught_up:
            interval = 0.01  # a long log is being read: go on as soon as keys had their turn
        self._due = time.monotonic() + interval
        self.set_timer(interval, self._tick)

    def draw(self) -> None:
        """Draw the window of time that is chosen."""
        canvas = self.query_one(Canvas)
        width, height = canvas.size
        if width <= 0 or height <= 0:
            return
        self.view = self._picture(width)
        canvas.show(self._rows(self.view, width, height))

    def _picture(self, width: int) -> LiveView:
        model = self.feed.model
        now_ns = self.feed.now_ns()
        if not self._fitted and self.feed.caught_up:
            self._fitted = True
            self._fit(width)
        step_ns = steps()[self._step]
        start_ns = model.about.start_ns
        end_ns = self._end_ns
        if end_ns is None:
            end_ns = window_end(now_ns, step_ns, start_ns)
        return model.view(now_ns, end_ns - width * step_ns, end_ns, width)

    def _fit(self, width: int) -> None:
        """Show a recorded session whole, if a column of a second is enough for that."""
        about = self.feed.model.about
        if self.feed.live:
            return
        length = about.last_ns - about.start_ns
        fitting = [n for n, step in enumerate(steps()) if step * width >= length]
        self._step = min(fitting[0] if fitting else len(steps()), 4)

    def _rows(self, view: LiveView, width: int, height: int) -> list[list[Run]]:
        if width < SMALLEST_WIDTH or height < SMALLEST_HEIGHT:
            self._page = []
            return tiny_rows(view, width, height)
        charts = charts_of(view)
        layout = lay_out(height, [chart.bars is not None for chart in charts])
        self.selected = self._still_there(view)
        rows = header_rows(view, self._status(), width, layout.header)
        rows += chart_rows(view, charts, layout.charts, width, self._glyphs, self.selected)
        rows += readout_rows(view, width, layout.readouts)
        self._page_top = len(rows) + 1
        tails, self._page = tail_rows(view, layout.tails, width, self.selected)
        rows += tails
        rows += detail_rows(self.selected, width, layout.detail)
        rows.append(line(width, [(" " + footer(self.readonly), "key")]))
        return rows[: height - 1] + rows[-1:]

    def _still_there(self, view: LiveView) -> TailMark | None:
        chosen = self.selected
        if chosen is None:
            return None
        same = (m for m in view.tails if m.t_ns == chosen.t_ns and m.tail.proc == chosen.tail.proc)
        return next(same, chosen)

    def _status(self) -> Status:
        reading = "" if self.feed.caught_up else "reading the log…"
        return Status(
            paused=self._paused or self._end_ns is not None,
            pace=str(self.pace),
            damaged=self.feed.damaged,
            recorder_lost=self.feed.recorder_lost,
            message=self._message if time.monotonic() < self._message_until else reading,
        )

    def say(self, message: str) -> None:
        """Show a message for some seconds."""
        self._message = message
        self._message_until = time.monotonic() + MESSAGE_S
        self.draw()

    # ------------------------------------------------------------------------------- keys

    def action_pause(self) -> None:
        """Hold the window still, or let it follow the time again."""
        if self._end_ns is None and self.view is not None:
            self._end_ns = self.view.end_ns
            self._paused = True
        else:
            self._end_ns = None
            self._paused = False
        self.draw()

    def action_zoom(self, by: int) -> None:
        """A longer or shorter column."""
        self._step = max(0, min(len(steps()) - 1, self._step + by))
        self.draw()

    def action_move(self, by: int) -> None:
        """Move the window by a quarter of its width."""
        if self.view is None:
            return
        width = self.query_one(Canvas).size.width
        step_ns = steps()[self._step]
        start_ns, now_ns = self.view.start_ns, self.feed.now_ns()
        end_ns = (self._end_ns or self.view.end_ns) + by * (width // 4) * step_ns
        last = window_end(now_ns, step_ns, start_ns)
        self._paused = False
        self._end_ns = None if end_ns >= last else max(start_ns + step_ns * width // 4, end_ns)
        self.draw()

    def action_now(self) -> None:
        """Follow the time again."""
        self._end_ns = None
        self._paused = False
        self.draw()

    def go_to(self, t_ns: int) -> None:
        """Put a time into the middle of the window."""
        width = self.query_one(Canvas).size.width
        step_ns = steps()[self._step]
        start_ns = self.feed.model.about.start_ns
        self._end_ns = window_end(t_ns + width * step_ns // 2, step_ns, start_ns)
        self.draw()

    def action_tail(self, by: int) -> None:
        """Select the next late frame in time (1), or the one before (−1)."""
        if self.view is None or not self.view.tails:
            self.say("no late frame in this window")
            return
        marks = self.view.tails
        at = next((n for n, mark in enumerate(marks) if mark == self.selected), None)
        if at is None:
            at = 0 if by > 0 else len(marks) - 1
        else:
            at = max(0, min(len(marks) - 1, at + by))
        self.selected = marks[at]
        self.draw()

    def action_unselect(self) -> None:
        """Select nothing."""
        self.selected = None
        self.draw()

    def action_redraw(self) -> None:
        """Draw everything anew, after something else wrote on the terminal."""
        self.refresh(layout=True)
        self.query_one(Canvas).refresh()

    def on_resize(self) -> None:
        """Another size: other rows."""
        self.call_after_refresh(self.draw)

    def on_click(self, event: events.Click) -> None:
        """Select the late frame that was clicked on, in the list or on the time axis."""
        row = event.screen_y - self._page_top
        if 0 <= row < len(self._page):
            self.selected = self._page[row]
            self.draw()
        elif self.view is not None and self.view.tails:
            width = self.query_one(Canvas).size.width
            length = self.view.end_ns - self.view.begin_ns
            t_ns = self.view.begin_ns + event.screen_x * length // max(1, width)
            nearest = min(self.view.tails, key=lambda mark: abs(mark.t_ns - t_ns))
            if abs(nearest.t_ns - t_ns) <= 2 * steps()[self._step]:
                self.selected = nearest
                self.draw()
