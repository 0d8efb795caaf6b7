"""Every key as a command that can be found by its name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from mgtop.view.bindings import PLACES, Key, shown
from mgtop.view.screens.session_screen import SessionScreen

if TYPE_CHECKING:
    from mgtop.view.app import MgtopApp


class Commands(Provider):
    """The keys of the screen below, and the themes."""

    async def discover(self) -> Hits:
        """All of them, before anything is typed."""
        for name, action in self._commands():
            yield DiscoveryHit(name, partial(self._run, action))

    async def search(self, query: str) -> Hits:
        """Those that match."""
        matcher = self.matcher(query)
        for name, action in self._commands():
            score = matcher.match(name)
            if score > 0:
                yield Hit(score, matcher.highlight(name), partial(self._run, action))

    def _commands(self) -> Iterator[tuple[str, str]]:
        keys: tuple[Key, ...] = self.screen.KEYS if isinstance(self.screen, SessionScreen) else ()
        app = cast("MgtopApp", self.app)
        for key in keys:
            if key.help and not key.action.startswith(("app.show(", "app.command_palette")):
                text = key.help[0].upper() + key.help[1:]
                if not (key.writes and app.readonly):
                    yield f"{text} ({shown(key.keys.split(',')[0])})", key.action
        for number, place in enumerate(PLACES, 1):
            yield f"Screen {place.title}: {place.help} ({number})", f"app.show('{place.name}')"
        for theme in app.theme_names:
            yield f"Theme {theme}", f"app.use_theme('{theme}')"

    async def _run(self, action: str) -> None:
        await self.screen.run_action(action)
