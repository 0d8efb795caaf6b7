"""The live screen, which is the screen of a recorded session as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.live import LiveView, TailMark
from mgtop.charts.bars import Run
from mgtop.view.bindings import LIVE_KEYS, Key, bindings_of
from mgtop.view.chart_rows import chart_rows, flags_of, late_columns, marked_columns, title_row
from mgtop.view.cursor import cursor_row
from mgtop.view.lane_panels import gpu_charts, lane_charts, sharers
from mgtop.view.layout import Layout, lay_out
from mgtop.view.panels import Chart, charts_of, own_gpu
from mgtop.view.screens.dialogs import legend
from mgtop.view.screens.time_screen import TimeScreen
from mgtop.view.steady import Steady
from mgtop.view.text_rows import (
    detail_rows,
    header_rows,
    readout_rows,
    state_row,
    tail_rows,
)
from mgtop.view.viewing import Viewing

Rows = list[list[Run]]
LOW, TALL = 20, 30
"""A screen that is lower shows no chart that has nothing to draw."""
FOLDED, FOLDED_TALL = 2, 6
"""Lanes that are shown on a low and on a tall screen, until all are asked for."""


class LiveScreen(TimeScreen):
    """All charts on one time axis, the figures, and the late frames."""

    KEYS: ClassVar[tuple[Key, ...]] = LIVE_KEYS
    PLACE = "live"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(LIVE_KEYS)

    def __init__(self, viewing: Viewing) -> None:
        super().__init__(viewing)
        self.unfolded = False
        self._held: Steady[tuple[Rows, ...]] = Steady()
        self._page: list[TailMark] = []
        self._page_top = 0

    @property
    def has_places(self) -> bool:
        """The row is needed for the program's name."""
        return False

    def forget_places(self) -> None:
        """There is no list to click on."""
        self._page = []

    def rows(self, view: LiveView, width: int, height: int) -> Rows:
        """Header, charts, figures, late frames, keys."""
        viewing = self.viewing
        window = viewing.timeline.window
        assert window is not None
        selected = viewing.renew_selected(view)
        own = next((place for place in view.gpus if place.gpu == own_gpu(view)), None)
        most = 99 if self.unfolded else FOLDED_TALL if height >= TALL else FOLDED
        most = 1 if height < LOW and not self.unfolded else most
        charts = charts_of(
            view,
            width,
            lanes=lane_charts(view, most),
            gpus=gpu_charts(view, most),
            shared="" if own is None or not own.sharers else sharers(own),
            flagged=frozenset(flags_of(view, window)),
            marked=frozenset(marked_columns(view, window)),
            late=late_columns(view, window),
            cursor=self.cursor_column(),
        )
        if height < LOW:
            charts = [chart for chart in charts if chart.bars is not None] or charts
        layout = lay_out(height, [chart.want for chart in charts], selected is not None)
        status = viewing.status()
        header, titles, playout = self._figures(view, charts, layout, width)
        rows = [state_row(view, status, width), *header]
        rows += chart_rows(view, window, charts, titles, layout.charts, viewing.glyphs, selected)
        rows += readout_rows(view, width, layout.readouts)[:1] + playout
        self._page_top = len(rows) + 1
        tails, self._page = tail_rows(view, layout.tails, width, selected)
        rows += tails
        rows += detail_rows(selected, width, layout.detail)
        rows.append(self.footer(view, width))
        return rows[: height - 1] + rows[-1:]

    def footer(self, view: LiveView, width: int) -> list[Run]:
        """The values at the cursor take the place of the keys."""
        column = self.cursor_column()
        timeline = self.viewing.timeline
        if column is None or timeline.cursor_ns is None or self.viewing.status().message:
            return super().footer(view, width)
        return cursor_row(view, column, timeline.cursor_ns, width)

    def _figures(
        self, view: LiveView, charts: list[Chart], layout: Layout, width: int
    ) -> tuple[Rows, ...]:
        """Rows of figures: below the state, above each chart, and of the playout.

        While time passes they are renewed once a second, and at once with a late frame. The
        row of intervals is not among them: it counts each frame as it comes.
        """
        feed, timeline = self.viewing.feed, self.viewing.timeline
        reading = bool(self.viewing.status().reading)
        passing = feed.live and feed.keeps_up and timeline.frozen is None
        shown = [(chart.stale, chart.bars and chart.bars.top) for chart in charts]
        tails = view.summary.tails.count
        key = (width, layout, view.state, tails, timeline.end_ns, shown, self.unfolded, reading)
        return self._held.get(
            view.elapsed_ns if passing else None,
            key,
            lambda: (
                header_rows(view, width, layout.header - 1, reading),
                [title_row(chart, width) for chart in charts],
                readout_rows(view, width, layout.readouts)[1:],
            ),
        )

    def help_text(self) -> Sequence[str]:
        """How to read the charts."""
        return legend()

    # ------------------------------------------------------------------------------- keys

    def action_tail(self, by: int) -> None:
        """Select the next late frame in time (1), or the one before (−1)."""
        if self.view is None:
            return
        was = self.viewing.selected
        if self.viewing.next_tail(self.view, by) is None:
            if was is None:
                self.say("there is no late frame")
            else:
                self.say("that is the newest late frame" if by > 0 else "that is the first one")
        self.draw()

    async def action_open_tail(self) -> None:
        """All about the selected late frame; of none, about the newest."""
        if self.viewing.selected is None and self.view is not None:
            self.viewing.newest_judged(self.view)
        await self.run_action("app.show('tail')")

    def action_unselect(self) -> None:
        """Select nothing."""
        self.viewing.selected = None
        self.viewing.timeline.cursor_ns = None
        self.draw()

    def action_fold(self) -> None:
        """Show all lanes, or fold them."""
        self.unfolded = not self.unfolded
        self.draw()

    async def clicked(self, x: int, y: int) -> None:
        """Select a late frame in the list (again: open it) or on the axis; else set the cursor."""
        row = y - self._page_top
        if 0 <= row < len(self._page):
            again = self.viewing.selected is not None and (
                self._page[row].t_ns == self.viewing.selected.t_ns
            )
            self.viewing.selected = self._page[row]
            self.draw()
            if again:
                await self.run_action("app.show('tail')")
            return
        window = self.viewing.timeline.window
        if self.view is None or window is None or row >= 0:
            return
        t_ns = window.begin_ns + x * window.step_ns + window.step_ns // 2
        nearest = min(self.view.tails, key=lambda mark: abs(mark.t_ns - t_ns), default=None)
        if nearest is not None and abs(nearest.t_ns - t_ns) <= 2 * window.step_ns:
            self.viewing.selected = nearest
        elif t_ns <= self.viewing.timeline.now_ns:
            self.viewing.timeline.cursor_ns = t_ns
        self.draw()
