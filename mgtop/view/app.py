"""The Textual app: one live screen, its dialogs, and what leaving means."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.theme import BUILTIN_THEMES

from mgtop.session.marks import append_mark
from mgtop.session.stop import CannotStop, NotLive, request_stop
from mgtop.view.celldiff import Repainting, driver_class
from mgtop.view.feed import Feed
from mgtop.view.hangup import leave_on_hangup, let_the_terminal_go, terminal_is_gone
from mgtop.view.screens.dialogs import Ask, Help, Leave, Leaving, parse_time
from mgtop.view.screens.live import LiveScreen
from mgtop.view.snapshot import save
from mgtop.view.themes import ANSI, DEFAULT, load_all

DEFAULT_FPS = 4.0


class MgtopApp(App[Leaving]):
    """Shows one session.

    Args:
        folder: the session's.
        fps: drawings per second.
        readonly: no marks, no stopping.
        feed: where records come from; the folder's log unless told.
    """

    TITLE = "mgtop"
    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", priority=True, show=False),
    ]

    def __init__(
        self,
        folder: Path,
        fps: float = DEFAULT_FPS,
        readonly: bool = False,
        feed: Feed | None = None,
    ) -> None:
        self._own_themes = load_all()  # Textual asks for their colours at once
        # Without colours Textual draws in true-colour greys, unless colours are the terminal's.
        super().__init__(
            driver_class=driver_class(), ansi_color=True if os.environ.get("NO_COLOR") else None
        )
        self.folder = folder
        self.readonly = readonly
        self.feed = feed or Feed(folder)
        ascii_only = bool(os.environ.get("MGTOP_ASCII"))
        self.live = LiveScreen(self.feed, fps, readonly, ascii_only)
        self._interrupted = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What a theme may lack: the bands, and what Textual wants in terminals' own colours."""
        default = next(theme for theme in self._own_themes if theme.name == DEFAULT)
        return {**BUILTIN_THEMES["ansi-dark"].variables, **default.variables}

    def on_mount(self) -> None:
        """Open the live screen."""
        for theme in self._own_themes:
            self.register_theme(theme)
        plain = bool(os.environ.get("NO_COLOR")) or self.console.color_system == "standard"
        wanted = os.environ.get("MGTOP_THEME") or (ANSI if plain else DEFAULT)
        if wanted not in self.available_themes:
            own = ", ".join(theme.name for theme in self._own_themes)
            said = f"no theme {wanted!r}; there are {own}"
            self.call_after_refresh(self.live.say, said)  # once the screen is there
            wanted = ANSI if plain else DEFAULT
        self.theme = wanted
        leave_on_hangup(self.exit)
        self.set_interval(1.0, self._leave_if_gone)
        self.push_screen(self.live)

    def _leave_if_gone(self) -> None:
        if terminal_is_gone():
            let_the_terminal_go()
            self.exit()

    # ------------------------------------------------------------------------------- keys

    def action_redraw(self) -> None:
        """Draw everything anew, after something else wrote on the terminal."""
        driver = self._driver
        if isinstance(driver, Repainting):
            driver.repaint()
        else:
            self.refresh(layout=True)

    def action_help(self) -> None:
        """All keys."""
        self.push_screen(Help())

    def action_leave(self) -> None:
        """Leave; while the session is live, ask what becomes of it."""
        if not self.feed.live:
            self.exit()
            return
        self.push_screen(Leave(self.readonly), self._leave)

    def _leave(self, choice: Leaving | None) -> None:
        if choice is None:
            return
        if choice != "leave":
            try:
                with contextlib.suppress(NotLive):  # it has ended meanwhile
                    request_stop(self.folder, target=choice == "stop_target")
            except CannotStop as error:
                self.live.say(str(error))
                return
        self.exit(choice)

    def action_interrupt(self) -> None:
        """Ctrl-C leaves at the second press, and never reaches the target."""
        if self._interrupted:
            self.exit()
            return
        self._interrupted = True
        self.set_timer(3.0, self._forget_interrupt)
        self.live.say("Ctrl-C again leaves this view; the target goes on")

    def _forget_interrupt(self) -> None:
        self._interrupted = False

    def action_mark(self) -> None:
        """Mark this moment."""
        self._mark("mark")

    def action_mark_note(self) -> None:
        """Mark this moment, with a note."""
        t_ns = self.feed.now_ns()
        self.push_screen(Ask("Note for this moment:"), lambda text: self._mark(text, t_ns))

    def _mark(self, text: str | None, t_ns: int | None = None) -> None:
        if text is None:
            return
        if self.readonly:
            self.live.say("read-only: no marks")
            return
        try:
            append_mark(self.folder, self.feed.now_ns() if t_ns is None else t_ns, text or "mark")
        except OSError as error:
            self.live.say(f"the mark cannot be written: {error.strerror}")
            return
        self.live.say("marked")

    def action_snapshot(self) -> None:
        """Save the picture, the figures and the last records."""
        if self.readonly:
            self.live.say("read-only: no snapshots")
            return
        try:
            summary = self.feed.model.summary()
            target = save(self.folder, self.export_screenshot(), summary, self.feed.recent())
        except OSError as error:
            self.live.say(f"the snapshot cannot be written: {error.strerror}")
            return
        self.live.say(f"saved snapshots/{target.name}")

    def action_go(self) -> None:
        """Go to a time of the session."""
        self.push_screen(Ask("Go to time (1:02:03, 1:02 or seconds):"), self._go)

    def _go(self, text: str | None) -> None:
        if text is None:
            return
        t_ns = parse_time(text)
        if t_ns is None:
            self.live.say(f"{text!r} is not a time")
            return
        self.live.go_to(self.feed.model.about.start_ns + t_ns)

    def action_theme(self) -> None:
        """The next theme."""
        names = [theme.name for theme in self._own_themes]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.live.say(f"theme {self.theme}")


def run_view(folder: Path, fps: float | None = None, readonly: bool = False) -> Leaving:
    """Show a session until the user leaves; return what was asked for on leaving."""
    return MgtopApp(folder, fps or DEFAULT_FPS, readonly).run() or "leave"
