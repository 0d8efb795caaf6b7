"""The live screen, which is the screen of a recorded session as well."""

from __future__ import annotations

import time
from typing import ClassVar

import msgspec
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from mgtop.analysis.live import LiveView, TailMark
from mgtop.charts import ASCII, BLOCKS, steps, window_end
from mgtop.charts.bars import Run
from mgtop.view.bindings import LIVE_KEYS, footer
from mgtop.view.canvas import Canvas
from mgtop.view.chart_rows import chart_rows, flags_of, late_columns, marked_columns, title_row
from mgtop.view.feed import Feed
from mgtop.view.layout import SMALLEST_HEIGHT, SMALLEST_WIDTH, Layout, lay_out
from mgtop.view.pace import Pace
from mgtop.view.panels import Chart, charts_of
from mgtop.view.steady import Steady
from mgtop.view.text_rows import (
    Status,
    detail_rows,
    header_rows,
    key_row,
    readout_rows,
    state_row,
    tail_rows,
    tiny_rows,
)
from mgtop.view.window import Window

DEFAULT_STEP_NS = 500_000_000
COARSEST_FIT_NS = 1_000_000_000
"""A recorded session is shown whole where columns of this duration are enough for that."""
MESSAGE_S = 3.0
CATCH_UP_S = 0.02
IDLE_S = 1.0
"""How often to look for news where nothing can have changed on the screen."""


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
        self._step = steps().index(DEFAULT_STEP_NS)
        self._fitted = False
        self._window: Window | None = None
        """What is shown."""
        self._end_ns: int | None = None
        """End of the window, where it does not follow the time."""
        self._frozen: LiveView | None = None
        """The picture of the moment of pausing."""
        self._held: Steady[tuple[list[list[Run]], ...]] = Steady()
        self._drawn: object = None
        self._draw_at = 0.0
        self._message = ""
        self._message_until = 0.0
        self._due = 0.0
        self._page: list[TailMark] = []
        self._page_top = 0

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield Canvas(id="canvas")

    def on_mount(self) -> None:
        """Show the screen, and begin to tick."""
        self.draw()
        self._due = time.monotonic()
        self.call_after_refresh(self._tick)

    # ------------------------------------------------------------------------------ ticks

    def _tick(self) -> None:
        now = time.monotonic()
        interval = self.pace.ticked(now, self._due)
        self.feed.poll()
        if not self.feed.caught_up:
            # A long log is being read: draw as often as always, and let keys have their turn.
            if now >= self._draw_at:
                self._draw_at = now + interval
                self.draw()
            interval = CATCH_UP_S
        else:
            still = self._frozen is not None or not self.feed.live
            if not still or self._drawn != self._seen():
                self.draw()
            if still:
                interval = max(interval, IDLE_S)
        self._due = time.monotonic() + interval
        self.set_timer(interval, self._tick)

    def _seen(self) -> object:
        """What can still change on a screen that does not follow the time."""
        records = None if self._frozen is not None else self.feed.records
        return records, self._status()

    def draw(self) -> None:
        """Draw the window of time that is chosen."""
        canvas = self.query_one(Canvas)
        width, height = canvas.size
        if width <= 0 or height <= 0:
            return
        self._drawn = self._seen()
        self.view = self._picture(width)
        canvas.show(self._rows(self.view, width, height))

    def _picture(self, width: int) -> LiveView:
        model = self.feed.model
        if not self._fitted and self.feed.caught_up:
            self._fitted = True
            self._fit(width)
        now_ns = self.feed.now_ns() if self._frozen is None else self._frozen.now_ns
        window = self._window = self._choose(width, now_ns)
        columns = window.past(now_ns)
        end_ns = window.begin_ns + columns * window.step_ns
        view = model.view(now_ns, window.begin_ns, end_ns, columns)
        frozen = self._frozen
        if frozen is None:
            return view
        return msgspec.structs.replace(
            view,
            summary=frozen.summary,
            state=frozen.state,
            elapsed_ns=frozen.elapsed_ns,
            last_frame_age_ns=frozen.last_frame_age_ns,
            slack_ms=frozen.slack_ms,
            recording=frozen.recording,
        )

    def _choose(self, width: int, now_ns: int) -> Window:
        """The columns to show: those up to now, unless somebody moved them.

        While a session fits into the window, it stands at its left; from then on the window
        hops by an eighth of its width. A recorded session ends at the right edge.
        """
        step_ns = steps()[self._step]
        end_ns = self._end_ns
        if end_ns is None:
            hop = max(1, width // 8) if self.feed.live else 1
            start_ns = self.feed.model.about.start_ns
            end_ns = max(window_end(now_ns, step_ns, hop), (start_ns // step_ns + width) * step_ns)
        return Window(end_ns, step_ns, width)

    def _fit(self, width: int) -> None:
        """Show a recorded session whole, if a column of a second is enough for that."""
        about = self.feed.model.about
        if self.feed.live:
            return
        length = about.last_ns - about.start_ns
        fitting = [n for n, step in enumerate(steps()) if step * (width - 1) >= length]
        coarsest = steps().index(COARSEST_FIT_NS)
        self._step = min(fitting[0] if fitting else len(steps()), coarsest)

    def _rows(self, view: LiveView, width: int, height: int) -> list[list[Run]]:
        if width < SMALLEST_WIDTH or height < SMALLEST_HEIGHT:
            self._page = []
            return tiny_rows(view, width, height)
        window = self._window
        assert window is not None
        charts = charts_of(
            view,
            width,
            flagged=frozenset(flags_of(view, window)),
            marked=frozenset(marked_columns(view, window)),
            late=late_columns(view, window),
        )
        self.selected = self._still_there(view)
        layout = lay_out(
            height, [chart.bars is not None for chart in charts], self.selected is not None
        )
        status = self._status()
        header, titles, playout = self._figures(view, charts, layout, width)
        rows = [state_row(view, status, width), *header]
        rows += chart_rows(view, window, charts, titles, layout.charts, self._glyphs, self.selected)
        rows += readout_rows(view, width, layout.readouts)[:1] + playout
        self._page_top = len(rows) + 1
        tails, self._page = tail_rows(view, layout.tails, width, self.selected)
        rows += tails
        rows += detail_rows(self.selected, width, layout.detail)
        rows.append(key_row(view, status, footer(self.readonly), width))
        return rows[: height - 1] + rows[-1:]

    def _figures(
        self, view: LiveView, charts: list[Chart], layout: Layout, width: int
    ) -> tuple[list[list[Run]], ...]:
        """Rows of figures: below the state, above each chart, and of the playout.

        While time passes they are renewed once a second, and at once with a late frame. The
        row of intervals is not among them: it counts each frame as it comes.
        """
        passing = self.feed.live and self.feed.caught_up and self._frozen is None
        shown = [(chart.stale, chart.bars and chart.bars.top) for chart in charts]
        key = (width, layout, view.state, view.summary.tails.count, self._end_ns, shown)
        return self._held.get(
            view.elapsed_ns if passing else None,
            key,
            lambda: (
                header_rows(view, width, layout.header - 1),
                [title_row(chart, width) for chart in charts],
                readout_rows(view, width, layout.readouts)[1:],
            ),
        )

    def _still_there(self, view: LiveView) -> TailMark | None:
        chosen = self.selected
        if chosen is None:
            return None
        same = (m for m in view.tails if m.t_ns == chosen.t_ns and m.tail.proc == chosen.tail.proc)
        return next(same, chosen)

    def _status(self) -> Status:
        reading = "" if self.feed.caught_up else "reading the log…"
        return Status(
            paused=self._frozen is not None,
            behind_ns=self._behind_ns(),
            recording=self.feed.live,
            pace=str(self.pace),
            damaged=self.feed.damaged,
            recorder_lost=self.feed.recorder_lost,
            message=self._message if time.monotonic() < self._message_until else reading,
        )

    def _behind_ns(self) -> int | None:
        """How long before now the window ends; None where it does not, or nothing moves."""
        if self._window is None or self._end_ns is None or self._frozen is not None:
            return None
        return max(0, self.feed.now_ns() - self._end_ns) or None

    def say(self, message: str) -> None:
        """Show a message for some seconds."""
        self._message = message
        self._message_until = time.monotonic() + MESSAGE_S
        self.draw()

    # ------------------------------------------------------------------------------- keys

    def action_pause(self) -> None:
        """Hold the picture still, or let it follow the time again."""
        if self._frozen is None and self.view is not None and self._window is not None:
            self._frozen = self.view
            self._end_ns = self._window.end_ns
            self.draw()
        else:
            self.action_now()

    def action_zoom(self, by: int) -> None:
        """A longer or shorter column; a window that stands still keeps its middle."""
        step = max(0, min(len(steps()) - 1, self._step + by))
        if self._end_ns is not None and self._window is not None:
            half = self._window.width // 2
            middle_ns = self._end_ns - half * steps()[self._step]
            self._end_ns = window_end(middle_ns + half * steps()[step], steps()[step])
        self._step = step
        self.draw()

    def action_move(self, by: int) -> None:
        """Move the window by a quarter of its width."""
        if self.view is None or self._window is None:
            return
        window, now_ns = self._window, self.view.now_ns
        quarter = max(1, window.width // 4)
        end_ns = window.end_ns + by * quarter * window.step_ns
        first_ns = window_end(self.view.start_ns, window.step_ns) + quarter * window.step_ns
        if end_ns >= window_end(now_ns, window.step_ns):
            self._end_ns = None if self._frozen is None else self._frozen_end_ns(window)
        else:
            self._end_ns = max(first_ns, end_ns)
        self.draw()

    def _frozen_end_ns(self, window: Window) -> int:
        assert self._frozen is not None
        return window_end(self._frozen.now_ns, window.step_ns)

    def action_now(self) -> None:
        """Follow the time again."""
        self._end_ns = None
        self._frozen = None
        self.draw()

    def go_to(self, t_ns: int) -> None:
        """Put a time into the middle of the window."""
        width = self.query_one(Canvas).size.width
        step_ns = steps()[self._step]
        self._end_ns = window_end(t_ns + width * step_ns // 2, step_ns)
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

    def on_resize(self) -> None:
        """Another size: other rows."""
        self.call_after_refresh(self.draw)

    def on_click(self, event: events.Click) -> None:
        """Select the late frame that was clicked on, in the list or on the time axis."""
        row = event.screen_y - self._page_top
        if 0 <= row < len(self._page):
            self.selected = self._page[row]
            self.draw()
        elif self.view is not None and self._window is not None and self.view.tails:
            window = self._window
            t_ns = window.begin_ns + event.screen_x * window.step_ns + window.step_ns // 2
            nearest = min(self.view.tails, key=lambda mark: abs(mark.t_ns - t_ns))
            if abs(nearest.t_ns - t_ns) <= 2 * window.step_ns:
                self.selected = nearest
                self.draw()
