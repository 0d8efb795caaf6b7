"""The rounds that the session is one of: those of its sweep, as they come."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.live import LiveView
from mgtop.rounds.state import State, find_sweep_of, read_state, runner_pid
from mgtop.view.bindings import ROUNDS_KEYS, Key, bindings_of
from mgtop.view.rounds_rows import rounds_rows, scroll_limit
from mgtop.view.screens.session_screen import Rows, SessionScreen
from mgtop.view.text_rows import line
from mgtop.view.viewing import Viewing

EVERY_S = 0.5
"""How often the sweep's state is read."""


class SessionRoundsScreen(SessionScreen):
    """The table of the sweep that the session belongs to."""

    KEYS: ClassVar[tuple[Key, ...]] = ROUNDS_KEYS
    PLACE = "rounds"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(ROUNDS_KEYS)

    def __init__(self, viewing: Viewing) -> None:
        super().__init__(viewing)
        self._sweep = find_sweep_of(viewing.feed.folder)
        self._known: tuple[State | None, bool] = (None, False)
        self._read_s = float("-inf")
        self._top: int | None = None

    def _state(self) -> tuple[State | None, bool]:
        """What the sweep wrote last, and whether a process carries it out."""
        now_s = time.monotonic()
        if self._sweep is not None and now_s - self._read_s >= EVERY_S:
            self._read_s = now_s
            state = read_state(self._sweep) or self._known[0]
            self._known = (state, runner_pid(self._sweep) is not None)
        return self._known

    def seen(self) -> object:
        """While rounds run, their time passes, however still this session is."""
        state, runs = self._state()
        return super().seen(), state, int(time.time()) if runs else None

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """The table, or how to get one."""
        state, runs = self._state()
        if state is None:
            texts = (
                "This session is no round of a sweep.",
                "mgtop sweep CONFIG --vary steps=8,16,24 runs one round for each value, and",
                "compares them; mgtop fallback CONFIG goes down until no frame is late.",
            )
            return [line(width, []), *(line(width, [(f" {text}", "dim")]) for text in texts)]
        return rounds_rows(state, width, height, time.time(), runs=runs, top=self._top)

    def action_scroll(self, by: int) -> None:
        """Down or up the table."""
        state, _ = self._state()
        if state is not None:
            limit = scroll_limit(state, self.size.height)
            self._top = max(0, min(limit, (self._top or 0) + by))
        self.draw()

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """Down and up."""
        self.action_scroll(by)
