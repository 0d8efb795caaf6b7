"""Memory over the session: stages, the driver's and the framework's curves, and what happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.live import LiveView
from mgtop.view.bindings import MEMORY_KEYS, Key, bindings_of
from mgtop.view.cursor import memory_cursor_row
from mgtop.view.memory_rows import PIN_LETTERS, memory_rows
from mgtop.view.screens.session_screen import Rows
from mgtop.view.screens.time_screen import TimeScreen


class MemoryScreen(TimeScreen):
    """On the same piece of time as the live screen."""

    KEYS: ClassVar[tuple[Key, ...]] = MEMORY_KEYS
    PLACE = "memory"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(MEMORY_KEYS)

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """Shape, readings, stages, curves, pins."""
        window = self.viewing.timeline.window
        assert window is not None
        cursor = self.cursor_column()
        rows = memory_rows(view, window, height, self.viewing.glyphs, cursor)
        if cursor is not None and self.viewing.timeline.cursor_ns is not None:
            at_ns = self.viewing.timeline.cursor_ns
            rows = [*rows[: height - 1], memory_cursor_row(view, cursor, at_ns, width)]
        return rows

    def help_text(self) -> Sequence[str]:
        """How to read the curves."""
        apart = (
            "The driver's curves and the framework's are drawn apart, since they never mean the "
            "same: the driver counts all that the process holds, the framework its own tensors "
            "(allocated) and cache (reserved). A stage with ? was guessed from what could be seen."
        )
        letters = ", ".join(f"{letter} {kind}" for kind, letter in PIN_LETTERS.items())
        return (apart, f"{letters.replace('_', ' ')}, ▾ mark.")

    async def clicked(self, x: int, y: int) -> None:
        """The values of that moment."""
        timeline = self.viewing.timeline
        window = timeline.window
        if window is None:
            return
        t_ns = window.begin_ns + x * window.step_ns + window.step_ns // 2
        timeline.cursor_ns = t_ns if t_ns <= timeline.now_ns else None
        self.draw()
