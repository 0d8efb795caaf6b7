"""One late frame: why it was late, the evidence, and all channels around it on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType

from mgtop.analysis.closeup import Frame, Strip, closeup
from mgtop.analysis.live import LiveView, TailMark
from mgtop.view.bindings import TAIL_KEYS, Key, bindings_of
from mgtop.view.screens.session_screen import Rows, SessionScreen
from mgtop.view.tail_rows import (
    evidence_rows,
    plot_width,
    story_rows,
    strip_rows,
    worth_showing,
)
from mgtop.view.text_rows import line
from mgtop.view.viewing import Viewing

HALVES_NS = tuple(round(s * 1e9) for s in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0))
"""Half the time around the frame that is shown; two seconds at first."""
SETTLED_NS = 4_000_000_000
"""So long after the end of the window nothing new comes for it."""
TALL = 30


class TailScreen(SessionScreen):
    """All about the selected late frame; the newest, where none is selected."""

    KEYS: ClassVar[tuple[Key, ...]] = TAIL_KEYS
    PLACE = "tail"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of(TAIL_KEYS)

    def __init__(self, viewing: Viewing) -> None:
        super().__init__(viewing)
        self._half = HALVES_NS.index(2_000_000_000)
        self._top = 0
        self._most = 0
        self._known: tuple[object, list[Strip]] | None = None

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """The story stays; what is below it can be scrolled."""
        mark = self._mark(view)
        if mark is None:
            return [line(width, []), line(width, [(" No late frame so far.", "dim")])]
        tail = mark.tail
        begin_ns, end_ns = self._window(mark)
        strips = self._strips(view, mark, begin_ns, end_ns, plot_width(width))
        story = story_rows(tail, width)[: height // 2 if height < 16 else height // 3]
        present, others = evidence_rows(tail, width)
        glyphs = self.viewing.glyphs
        room = max(1, height - len(story))
        strips = worth_showing(strips, tail.interval_ms, room - len(present) - len(others) - 2)
        drawn = strip_rows(strips, mark, begin_ns, end_ns, width, glyphs, height >= TALL)
        rest = [*present, *drawn, *others]
        self._most = max(0, len(rest) - room)
        self._top = min(self._top, self._most)
        below = self._most - self._top
        self.aside = f"j ↓ {below} more rows" if below else "k ↑" if self._top else ""
        return [*story, *rest[self._top : self._top + room]]

    def _mark(self, view: LiveView) -> TailMark | None:
        chosen = self.viewing.selected
        if chosen is None:
            return self.viewing.newest_judged(view)
        if not chosen.tail.final:  # it may have been judged since
            for tail in reversed(view.summary.tails.frames[-64:]):
                if tail.t_ms == chosen.tail.t_ms and tail.proc == chosen.tail.proc:
                    chosen = TailMark(t_ns=chosen.t_ns, begin_ns=chosen.begin_ns, tail=tail)
                    self.viewing.selected = chosen
        return chosen

    def _window(self, mark: TailMark) -> tuple[int, int]:
        """The late interval in the middle; all of it, however long it was."""
        half_ns = max(HALVES_NS[self._half], (mark.t_ns - mark.begin_ns) * 3 // 4)
        middle_ns = (mark.begin_ns + mark.t_ns) // 2
        return middle_ns - half_ns, middle_ns + half_ns

    def _strips(
        self, view: LiveView, mark: TailMark, begin_ns: int, end_ns: int, columns: int
    ) -> list[Strip]:
        feed = self.viewing.feed
        grows = feed.live and view.now_ns < end_ns + SETTLED_NS
        second = view.now_ns // 1_000_000_000 if grows else None  # reading it takes some time
        key = (mark.t_ns, mark.tail.proc, begin_ns, columns, second)
        if self._known is not None and self._known[0] == key:
            return self._known[1]
        records = feed.between(begin_ns - SETTLED_NS // 2, end_ns)
        names = feed.model.channels.process(mark.tail.proc).names
        frame = Frame(mark.tail.proc, self._number_of(mark), mark.begin_ns, mark.t_ns)
        strips = closeup(records, frame, begin_ns, end_ns, columns, names)
        self._known = (key, strips)
        return strips

    def _number_of(self, mark: TailMark) -> int:
        """The process's own number of the frame's request; 0: nobody knows."""
        tail = mark.tail
        for request in reversed(self.viewing.feed.model.traffic.requests):
            if request.id == tail.request and request.proc == tail.proc:
                return request.number
        return 0

    def help_text(self) -> Sequence[str]:
        """How to read the strips."""
        return (
            (
                "A strip a channel, all on one axis. At its right: what it was inside the late "
                "interval (├──┤): milliseconds that it went on, the highest value, or how far "
                "memory fell."
            ),
            "In the evidence, ↤ is how long before the emit it began. ≤ at most, ≥ at least.",
        )

    # ------------------------------------------------------------------------------- keys

    def action_tail(self, by: int) -> None:
        """The next late frame in time (1), or the one before (−1)."""
        if self.view is not None and self.viewing.next_tail(self.view, by) is None:
            self.say("that is the newest late frame" if by > 0 else "that is the first one")
        self._top = 0
        self.draw()

    def action_zoom(self, by: int) -> None:
        """Less or more time around it."""
        self._half = max(0, min(len(HALVES_NS) - 1, self._half + by))
        self.draw()

    def action_scroll(self, by: int) -> None:
        """Down or up."""
        self._top = max(0, min(self._most, self._top + by))
        self.draw()

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """Down and up; with Ctrl less or more time."""
        if ctrl:
            self.action_zoom(by)
        else:
            self.action_scroll(by)

    async def action_log(self) -> None:
        """The output at this moment."""
        selected = self.viewing.selected
        if selected is not None:
            self.viewing.log_offset = self.viewing.feed.output.before(selected.t_ns)
        await self.run_action("app.show('log')")
