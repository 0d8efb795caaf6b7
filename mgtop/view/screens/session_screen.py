"""What every screen of a session does: one canvas, rows from pure functions, keys as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.css.query import NoMatches
from textual.screen import Screen

from mgtop.analysis.live import LiveView
from mgtop.charts import Run
from mgtop.session.lock import proc_number
from mgtop.view.bindings import Key, footer, footer_action
from mgtop.view.canvas import Canvas
from mgtop.view.layout import SMALLEST_HEIGHT, SMALLEST_WIDTH
from mgtop.view.signalling import Receiver
from mgtop.view.text_rows import key_row, place_at, places_row, state_row, tiny_rows
from mgtop.view.viewing import Viewing

if TYPE_CHECKING:
    from mgtop.view.app import MgtopApp

Rows = list[list[Run]]


class SessionScreen(Screen[None]):
    """Draws one side of a session.

    Args:
        viewing: what all screens have in common.
    """

    KEYS: ClassVar[tuple[Key, ...]] = ()
    PLACE: ClassVar[str] = ""
    """Its name among :data:`~mgtop.view.bindings.PLACES`."""
    AUTO_FOCUS = None

    app: MgtopApp

    def __init__(self, viewing: Viewing) -> None:
        super().__init__()
        self.viewing = viewing
        self.view: LiveView | None = None
        """What was drawn last."""
        self.aside = ""
        """At the right of the row of screens."""
        self._drawn: object = None
        self._pressed: tuple[int, int] | None = None
        """Column at which the mouse moved the picture last, and how far it did in all."""

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield Canvas(self.app.plain)

    def on_screen_resume(self) -> None:
        """It is in front again: other screens may have moved the time."""
        self.draw()

    def on_resize(self) -> None:
        """Another size: other rows."""
        self.call_after_refresh(self.draw)

    # ---------------------------------------------------------------------------- drawing

    def draw(self) -> None:
        """Draw it as it is now."""
        try:
            canvas = self.query_one(Canvas)
        except NoMatches:  # it is not on the screen yet
            return
        width, height = canvas.size
        if width <= 0 or height <= 0:
            return
        self._drawn = self.seen()
        self.view = view = self.viewing.picture(width)
        if width < SMALLEST_WIDTH or height < SMALLEST_HEIGHT:
            self.forget_places()
            canvas.show(tiny_rows(view, width, height))
            return
        rows = self.rows(view, width, height)
        canvas.show(rows[: height - 1] + rows[-1:])

    def draw_if_new(self) -> None:
        """Draw it, unless nothing can have changed."""
        if not self.viewing.timeline.still or self._drawn != self.seen():
            self.draw()

    def seen(self) -> object:
        """What can still change while time stands still."""
        return self.viewing.seen()

    def rows(self, view: LiveView, width: int, height: int) -> Rows:
        """All rows; the last one is that of the keys."""
        status = self.viewing.status()
        body = self.body(view, width, height - 3)[: height - 3]
        body += [[Run(" " * width, "empty")]] * (height - 3 - len(body))
        top = [state_row(view, status, width), places_row(self.PLACE, width, self.aside)]
        return [*top, *body, self.footer(view, width)]

    def footer(self, view: LiveView, width: int) -> list[Run]:
        """The row of keys, or of what was just done."""
        text = footer(self.KEYS, self.viewing.readonly)
        if not self.viewing.feed.live:
            text = text.replace("space pause", "space play ")
        return key_row(view, self.viewing.status(), text, width)

    def body(self, view: LiveView, width: int, height: int) -> Rows:
        """The rows below state and screens."""
        raise NotImplementedError

    def forget_places(self) -> None:
        """Nothing stands where it was: the screen is too small."""

    def help_text(self) -> Sequence[str]:
        """How to read this screen, for the help."""
        return ()

    def receiver(self) -> Receiver | None:
        """The process that a signal would go to: the target; None: it does not run here."""
        target = self.viewing.feed.model.about.target
        if target is None or proc_number(target.pid) != target.proc:
            return None
        return Receiver(target.pid, target.proc, " ".join(target.command))

    def go_to(self, t_ns: int) -> None:
        """Put a time into the middle of the window."""
        self.viewing.timeline.show(t_ns)
        self.draw()

    def say(self, message: str) -> None:
        """Show a message for some seconds."""
        self.viewing.say(message)
        self.draw()

    # ------------------------------------------------------------------------------ mouse

    async def on_click(self, event: events.Click) -> None:
        """A key in the last row, a screen in the second one, or something of its own."""
        if self._pressed is not None and self._pressed[1]:
            self._pressed = None
            return  # that was a drag
        self._pressed = None
        x, y = event.screen_x, event.screen_y
        if y == self.size.height - 1:
            action = footer_action(self.KEYS, self.viewing.readonly, x - 1)
            if action == "app.show('live')":
                action = "app.turn(1)"
            if action is not None:
                await self.run_action(action)
        elif y == 1 and self.has_places and (name := place_at(x)) is not None:
            await self.run_action(f"app.show('{name}')")
        else:
            await self.clicked(x, y)

    @property
    def has_places(self) -> bool:
        """Whether the second row names the screens."""
        return True

    async def clicked(self, x: int, y: int) -> None:
        """Somewhere else."""

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Maybe the beginning of a drag."""
        self._pressed = (event.screen_x, 0)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """A drag takes the picture along."""
        if event.button != 1 or self._pressed is None:
            return
        at, moved = self._pressed
        by = event.screen_x - at
        if by and self.dragged(by):
            self._pressed = (event.screen_x, moved + abs(by))

    def dragged(self, columns: int) -> bool:
        """The mouse pulled so many columns to the right; False: that means nothing here."""
        return False

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        self.wheel(1, event.ctrl, event.screen_x)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        self.wheel(-1, event.ctrl, event.screen_x)

    def wheel(self, by: int, ctrl: bool, x: int) -> None:
        """One notch down (1) or up (−1) at a column."""
