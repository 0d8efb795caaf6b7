"""The target's output: searchable, and tied to the time axis both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.live import LiveView
from mgtop.view.bindings import LOG_KEYS, Key, bindings_of
from mgtop.view.log_rows import log_rows, where_row
from mgtop.view.output_text import Line, OutputText
from mgtop.view.screens.dialogs import Ask
from mgtop.view.screens.session_screen import Rows, SessionScreen
from mgtop.view.text_rows import line
from mgtop.view.viewing import Viewing

OUTPUT_FILE = "stdout.log"
SHIFT = 16
WHEEL = 3
SEARCH_S = 0.005


class LogScreen(SessionScreen):
    """Lines of the output; the selected one has a time."""

    KEYS: ClassVar[tuple[Key, ...]] = LOG_KEYS
    PLACE = "log"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(LOG_KEYS)

    def __init__(self, viewing: Viewing) -> None:
        super().__init__(viewing)
        self._text = OutputText(viewing.feed.folder / OUTPUT_FILE)
        self._top: int | None = None
        """Where the first line on the screen begins; None: the end is followed."""
        self._selected: int | None = None
        self._shift = 0
        self._found = ""
        self._search: tuple[int, bool, bool] | None = None
        """From where on it is looked, whether forward, and whether for the second time round."""
        self._page: list[Line] = []
        self._room = 1

    def on_screen_resume(self) -> None:
        """Another screen may have asked for a place."""
        offset = self.viewing.log_offset
        self.viewing.log_offset = None
        if offset is not None:
            self._go_to_offset(max(0, offset - 1))
        super().on_screen_resume()

    def seen(self) -> object:
        """The file grows by itself, too."""
        return super().seen(), self._text.size()

    # ---------------------------------------------------------------------------- drawing

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """A line that says where this is, and as many lines as fit."""
        size = self._text.size()
        if size is None:
            text = f" This session has no {OUTPUT_FILE}: the program was not started by mgtop."
            return [line(width, []), line(width, [(text, "dim")])]
        room = self._room = max(1, height - 1)
        if self._top is None:
            page = self._text.before_place(size, room)
            self._selected = page[-1].begin if page else None
        else:
            page = self._text.from_place(self._top, room)
            if len(page) < room:  # the end: no empty rows below it
                page = self._text.before_place(size, room)
        self._page = page
        if page and not any(one.begin == self._selected for one in page):
            self._selected = page[0].begin
        output = self.viewing.feed.output
        times: list[int | None] = []
        for one in page:
            t_ns = output.time_of(max(one.begin, one.end - 1))
            times.append(None if t_ns is None else t_ns - view.start_ns)
        kinds = {known.offset: known.kind for known in output.lines}
        begin = page[0].begin if page else 0
        rows = log_rows(page, times, kinds, self._selected, self._shift, self._found, width)
        where = where_row(begin, size, self._top is None, self._found, width)
        if not page:
            rows = [line(width, [(" The program has written nothing so far.", "dim")])]
        return [where, *rows]

    def help_text(self) -> Sequence[str]:
        """What the times mean."""
        return (
            (
                "The time of a line is when mgtop first saw all of it: up to 0.1 s after it was "
                "written. Escape codes are never shown raw; of a progress bar its last state is."
            ),
        )

    # ------------------------------------------------------------------------------- keys

    def action_scroll(self, by: int) -> None:
        """The next line, or the one before."""
        places = [one.begin for one in self._page]
        if not places:
            return
        at = places.index(self._selected) if self._selected in places else 0
        if 0 <= at + by < len(places):
            if self._top is None:
                self._top = places[0]
            self._selected = places[at + by]
        elif by > 0:
            self._move(by)
            self._selected = None if self._top is None else self._last_of_page()
        else:
            self._move(by)
            self._selected = self._top
        self.draw()

    def action_page(self, by: int) -> None:
        """A page down or up."""
        self._move(by * max(1, self._room - 1))
        self.draw()

    def action_top(self) -> None:
        """The first line."""
        self._top = self._selected = 0
        self.draw()

    def action_bottom(self) -> None:
        """The last line, following what comes."""
        self._top = None
        self.draw()

    def action_shift(self, by: int) -> None:
        """Long lines to the left or right."""
        self._shift = max(0, self._shift + by * SHIFT)
        self.draw()

    def _move(self, lines: int) -> None:
        if not self._page:
            return
        first = self._page[0].begin
        if lines < 0:
            before = self._text.before_place(first, -lines)
            self._top = before[0].begin if before else 0
        elif self._top is not None:
            after = self._text.from_place(first, lines + self._room)
            size = self._text.size() or 0
            at_end = not after or after[-1].end >= size
            if at_end and len(after) <= self._room:
                self._top = None
            else:
                self._top = after[min(lines, len(after) - 1)].begin

    def _last_of_page(self) -> int | None:
        assert self._top is not None
        page = self._text.from_place(self._top, self._room)
        return page[-1].begin if page else None

    def _go_to_offset(self, offset: int) -> None:
        begin = self._text.begin_of(offset)
        before = self._text.before_place(begin, self._room // 2)
        self._top = before[0].begin if before else begin
        self._selected = begin

    def go_to(self, t_ns: int) -> None:
        """The line that was written last by a time."""
        offset = self.viewing.feed.output.before(t_ns)
        if offset is None:
            self.say("nobody knows what was written when in this session")
            return
        self._go_to_offset(max(0, offset - 1))
        self.draw()

    async def action_to_time(self) -> None:
        """See the selected line's moment on the live screen."""
        chosen = next((one for one in self._page if one.begin == self._selected), None)
        output, timeline = self.viewing.feed.output, self.viewing.timeline
        t_ns = None if chosen is None else output.time_of(max(chosen.begin, chosen.end - 1))
        if t_ns is None:
            self.say("nobody knows when that line was written")
            return
        timeline.show(t_ns)
        timeline.cursor_ns = t_ns
        await self.run_action("app.show('live')")

    # ----------------------------------------------------------------------------- search

    def action_search(self) -> None:
        """Ask what to look for."""
        self.app.push_screen(Ask("Find in the output:"), self._look_for)

    def _look_for(self, text: str | None) -> None:
        if text is None:
            return
        self._found = text
        if text:
            self._search_from(forward=True, here=True)
        else:
            self.draw()

    def action_find(self, by: int) -> None:
        """The next place, or the one before."""
        if self._found:
            self._search_from(forward=by > 0, here=False)
        else:
            self.action_search()

    def _search_from(self, forward: bool, here: bool) -> None:
        at = self._selected or 0
        if forward and not here:
            at = next((one.end for one in self._page if one.begin == at), at)
        self._search = (at, forward, False)
        self._search_on()

    def _search_on(self) -> None:
        """Look through some more; keys have their turn in between."""
        if self._search is None:
            return
        at, forward, again = self._search
        found, until = self._text.find(self._found, at, forward)
        size = self._text.size() or 0
        if found is not None:
            self._search = None
            self._go_to_offset(found)
            self.draw()
        elif until == at or until <= 0 or until >= size:
            if again:
                self._search = None
                self.say(f"{self._found!r} is not in the output")
                return
            self._search = (0 if forward else size, forward, True)
            self._search_on()
        else:
            self._search = (until, forward, again)
            self.say(f"looking for {self._found!r}: {100 * until // max(1, size)} %")
            self.set_timer(SEARCH_S, self._search_on)

    # ------------------------------------------------------------------------------ mouse

    async def clicked(self, x: int, y: int) -> None:
        """Select a line; again: see its moment."""
        row = y - 3
        if not 0 <= row < len(self._page):
            return
        chosen = self._page[row].begin
        if chosen == self._selected and self._top is not None:
            await self.action_to_time()
            return
        if self._top is None:
            self._top = self._page[0].begin
        self._selected = chosen
        self.draw()

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """Some lines down or up."""
        self._move(by * WHEEL)
        self.draw()
