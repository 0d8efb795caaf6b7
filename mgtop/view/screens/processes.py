"""The target's processes: tree, CPU, threads, memory, GPU memory, environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.live import LiveView
from mgtop.view.bindings import PROCESS_KEYS, Key, bindings_of
from mgtop.view.lane_panels import sharers
from mgtop.view.process_rows import (
    ORDERS,
    detail_rows,
    environment_rows,
    heading_row,
    process_row,
)
from mgtop.view.process_table import Process, ProcessTable, environment_lines
from mgtop.view.screens.session_screen import Rows, SessionScreen
from mgtop.view.signalling import Receiver
from mgtop.view.text_rows import line
from mgtop.view.viewing import Viewing


class ProcessScreen(SessionScreen):
    """One row a process; of the selected one, its environment."""

    KEYS: ClassVar[tuple[Key, ...]] = PROCESS_KEYS
    PLACE = "processes"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(PROCESS_KEYS)

    def __init__(self, viewing: Viewing) -> None:
        super().__init__(viewing)
        self._model = viewing.feed.model
        self._known = ProcessTable(self._model)
        self._tree = True
        self._order = 0
        self._selected: int | None = None
        self._listed: list[Process] = []
        self._page: list[Process] = []
        self._first = 0
        self._environment: list[tuple[str, str]] | None = None
        self._first_variable = 0

    @property
    def _table(self) -> ProcessTable:
        model = self.viewing.feed.model
        if model is not self._model:  # a long log has been read whole meanwhile
            self._model, self._known = model, ProcessTable(model)
        return self._known

    def seen(self) -> object:
        """Processes come and go whatever the log says."""
        return super().seen(), self._table.processes()

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """The processes, or the environment of one; below, who else is on the GPUs."""
        processes = self._table.processes()
        order, key = ORDERS[self._order]
        self._listed = processes if self._tree else sorted(processes, key=key)
        if not self._listed:
            return [line(width, []), line(width, [(" No process is known yet.", "dim")])]
        places = [process.pid for process in self._listed]
        if self._selected not in places:
            self._selected = places[0]
        at = places.index(self._selected)
        self.aside = "" if self._listed[0].alive else "as the log knew them"
        chosen = self._listed[at]
        if self._environment is not None:
            first = self._first_variable
            return environment_rows(self._environment, chosen.pid, first, height, width)
        below = detail_rows(chosen, width)[: height // 3]
        for place in view.gpus:
            if place.sharers and place.mine:
                text = f" also on GPU {place.gpu}: {sharers(place, 8)}"
                below.append(line(width, [(text, "warn")]))
        room = max(1, height - 2 - len(below))
        if at < self._first or at >= self._first + room:
            self._first = max(0, at - room // 2)
        self._first = max(0, min(self._first, len(places) - room))
        self._page = self._listed[self._first : self._first + room]
        rows = [heading_row(None if self._tree else order, width)]
        rows += [process_row(p, p is chosen, self._tree, width) for p in self._page]
        rows += [line(width, [])] * (room - len(self._page) + 1)
        return [*rows, *below]

    def help_text(self) -> Sequence[str]:
        """What the columns mean."""
        return (
            (
                "* tells of frames. CPU is in percent of one core. n/a: not known. Processes of a "
                "recorded session, or of another machine, are shown as the log knew them."
            ),
        )

    def receiver(self) -> Receiver | None:
        """The selected process, if it runs here."""
        chosen = next((p for p in self._listed if p.pid == self._selected), None)
        if chosen is None or not chosen.alive or chosen.proc is None:
            return None
        return Receiver(chosen.pid, chosen.proc, chosen.name)

    # ------------------------------------------------------------------------------- keys

    def action_scroll(self, by: int) -> None:
        """The next process or variable, or the one before."""
        if self._environment is not None:
            last = max(0, len(self._environment) - 1)
            self._first_variable = max(0, min(last, self._first_variable + by))
        else:
            places = [process.pid for process in self._listed]
            if self._selected in places:
                at = max(0, min(len(places) - 1, places.index(self._selected) + by))
                self._selected = places[at]
        self.draw()

    def action_tree(self) -> None:
        """As a tree, or sorted."""
        self._tree = not self._tree
        self.draw()

    def action_order(self) -> None:
        """Sort by the next column."""
        if not self._tree:
            self._order = (self._order + 1) % len(ORDERS)
        self._tree = False
        self.draw()

    def action_environment(self) -> None:
        """The environment of the selected process, or back to the processes."""
        if self._environment is not None or self._selected is None:
            self._environment = None
        elif not self._listed or not self._listed[0].alive:
            self.say("that process does not run here; the session's config.yaml has what was set")
        else:
            self._environment = environment_lines(self._selected)
            self._first_variable = 0
        self.draw()

    async def clicked(self, x: int, y: int) -> None:
        """Select a process; again: its environment."""
        row = y - 3
        if self._environment is not None or not 0 <= row < len(self._page):
            return
        again = self._page[row].pid == self._selected
        self._selected = self._page[row].pid
        if again:
            self.action_environment()
        self.draw()

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """Down and up."""
        self.action_scroll(by)
