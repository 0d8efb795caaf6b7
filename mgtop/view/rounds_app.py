"""The Textual app around the Rounds screen: what ``mgtop sweep`` shows in a terminal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.theme import BUILTIN_THEMES

from mgtop.view.celldiff import Repainting, driver_class
from mgtop.view.crash import RaisingApp
from mgtop.view.hangup import leave_on_hangup
from mgtop.view.screens.rounds import RoundsScreen
from mgtop.view.themes import ANSI, DEFAULT, load_all


class RoundsApp(RaisingApp[None]):
    """Shows the rounds of one sweep or fallback.

    Args:
        folder: the sweep's.
    """

    TITLE = "mgtop"
    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", priority=True, show=False),
        Binding("T", "theme", show=False),
        Binding("r,f5,ctrl+l", "redraw", show=False),
    ]

    def __init__(self, folder: Path) -> None:
        self._own_themes = load_all()  # Textual asks for their colours at once
        super().__init__(
            driver_class=driver_class(), ansi_color=True if os.environ.get("NO_COLOR") else None
        )
        self.rounds = RoundsScreen(folder)
        self._interrupted = False

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """What a theme may lack."""
        default = next(theme for theme in self._own_themes if theme.name == DEFAULT)
        return {**BUILTIN_THEMES["ansi-dark"].variables, **default.variables}

    def on_mount(self) -> None:
        """Open the screen."""
        for theme in self._own_themes:
            self.register_theme(theme)
        plain = bool(os.environ.get("NO_COLOR")) or self.console.color_system == "standard"
        wanted = os.environ.get("MGTOP_THEME", "")
        known = wanted in self.available_themes
        self.theme = wanted if known else ANSI if plain else DEFAULT
        leave_on_hangup(self.exit)
        self.push_screen(self.rounds)

    def action_redraw(self) -> None:
        """Draw everything anew, after something else wrote on the terminal."""
        driver = self._driver
        if isinstance(driver, Repainting):
            driver.repaint()
        else:
            self.refresh(layout=True)

    def action_theme(self) -> None:
        """The next theme."""
        names = [theme.name for theme in self._own_themes]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]

    def action_interrupt(self) -> None:
        """Ctrl-C leaves at the second press; the rounds go on."""
        if self._interrupted:
            self.exit()
            return
        self._interrupted = True
        self.set_timer(3.0, self._forget_interrupt)
        self.rounds.say("Ctrl-C again leaves this screen; the rounds go on")

    def _forget_interrupt(self) -> None:
        self._interrupted = False


def run_rounds_view(folder: Path) -> None:
    """Show the rounds of a folder until the user leaves."""
    RoundsApp(folder).show()
