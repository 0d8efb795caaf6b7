"""A screen with a time axis over its whole width: moving, zooming, holding, playing."""

from __future__ import annotations

from mgtop.charts import window_end
from mgtop.view.screens.session_screen import SessionScreen

WHEEL_SHARE = 12
"""A notch of the wheel moves by this part of the width."""


class TimeScreen(SessionScreen):
    """Its columns are the timeline's."""

    def cursor_column(self) -> int | None:
        """Where the moment whose values are told stands; None: nowhere."""
        timeline = self.viewing.timeline
        if timeline.window is None or timeline.cursor_ns is None:
            return None
        return timeline.window.column(timeline.cursor_ns)

    def action_pause(self) -> None:
        """Hold the picture still, or follow the time again; play a recorded session."""
        timeline = self.viewing.timeline
        if not self.viewing.feed.live and timeline.frozen is None:
            timeline.play_or_pause()
        elif timeline.frozen is None and self.view is not None:
            timeline.hold(self.view)
        else:
            timeline.follow()
            self.app.look_again()
        self.draw()

    def action_faster(self, by: int) -> None:
        """Play faster or slower."""
        timeline = self.viewing.timeline
        if self.viewing.feed.live:
            self.say("a session that is being recorded passes at ×1; space holds it")
            return
        timeline.faster(by)
        if not timeline.playing:
            timeline.play_or_pause()
        self.draw()

    def action_zoom(self, by: int) -> None:
        """A longer or shorter column; a window that stands still keeps its middle."""
        self.viewing.timeline.zoom(by)
        self.draw()

    def action_move(self, by: int) -> None:
        """Move the window by a quarter of its width."""
        timeline = self.viewing.timeline
        if timeline.window is not None:
            timeline.move(by * max(1, timeline.window.width // 4))
        self.draw()

    def action_cursor(self, by: int) -> None:
        """Tell the values of a moment; of the next column or the one before."""
        timeline = self.viewing.timeline
        window = timeline.window
        if window is None:
            return
        now_ns = timeline.now_ns
        column = None if timeline.cursor_ns is None else window.column(timeline.cursor_ns)
        if column is None:
            column = window.past(now_ns) - 1
        else:
            column = max(0, min(window.past(now_ns) - 1, column + by))
        timeline.cursor_ns = window.begin_ns + column * window.step_ns + window.step_ns // 2
        self.draw()

    def action_begin(self) -> None:
        """The start of the session at the left edge."""
        timeline = self.viewing.timeline
        window = timeline.window
        if window is not None:
            start_ns = self.viewing.feed.model.about.start_ns
            end_ns = start_ns + window.width * window.step_ns
            timeline.end_ns = window_end(end_ns, window.step_ns)
        self.draw()

    def action_now(self) -> None:
        """Follow the time again."""
        self.viewing.timeline.follow()
        self.app.look_again()
        self.draw()

    async def action_log(self) -> None:
        """The output at the moment of the cursor, of the selected late frame, or shown last."""
        timeline, selected = self.viewing.timeline, self.viewing.selected
        window = timeline.window
        t_ns = timeline.cursor_ns
        if t_ns is None and selected is not None:
            t_ns = selected.t_ns
        if t_ns is None and window is not None and timeline.end_ns is not None:
            t_ns = min(window.end_ns, timeline.now_ns)
        self.viewing.log_offset = None if t_ns is None else self.viewing.feed.output.before(t_ns)
        await self.run_action("app.show('log')")

    def dragged(self, columns: int) -> bool:
        """Time goes with the mouse."""
        self.viewing.timeline.move(-columns)
        self.draw()
        return True

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """Forward or back in time; with Ctrl a longer or shorter window around the mouse."""
        timeline = self.viewing.timeline
        window = timeline.window
        if window is None:
            return
        if ctrl:
            timeline.zoom(by, x / max(1, window.width))
        else:
            timeline.move(by * max(1, window.width // WHEEL_SHARE))
        self.draw()
