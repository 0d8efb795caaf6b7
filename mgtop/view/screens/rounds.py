"""The Rounds screen: the rounds of a sweep or fallback, as they come."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from mgtop.charts import Run
from mgtop.rounds.runner import touch_watched
from mgtop.rounds.state import State, read_state, runner_pid
from mgtop.view.canvas import Canvas
from mgtop.view.rounds_rows import rounds_rows, scroll_limit

TICK_S = 0.5
MESSAGE_S = 4.0
Answer = Literal["leave", "stop"]

KEYS: tuple[tuple[str, str, str, str], ...] = (
    ("q", "leave", "q leave", "leave; asks what becomes of the rounds while they run"),
    ("down,j", "scroll(1)", "↓↑ scroll", "down or up the table"),
    ("up,k", "scroll(-1)", "", ""),
    ("pagedown", "scroll(10)", "", ""),
    ("pageup", "scroll(-10)", "", ""),
    ("end,escape", "follow", "End follow", "follow the round that runs"),
)
"""Keys, action, text in the footer, and what the key does."""


class StopRounds(ModalScreen[Answer | None]):
    """What becomes of the rounds?"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,enter", "choose('leave')"),
        Binding("t", "choose('stop')"),
        Binding("escape,q", "choose('')"),
    ]

    def compose(self) -> ComposeResult:
        """The choices."""
        lines = [
            "Leave this screen?",
            "",
            "[b]l[/b]  leave: the rounds go on (Enter)",
            "[b]t[/b]  stop: the round that runs is ended, finished ones are kept",
            "[b]Esc[/b]  stay",
        ]
        with Vertical(classes="dialog"):
            yield Static("\n".join(lines))

    def action_choose(self, choice: str) -> None:
        """Close with an answer."""
        answers: dict[str, Answer] = {"leave": "leave", "stop": "stop"}
        self.dismiss(answers.get(choice))


class RoundsScreen(Screen[None]):
    """Draws the state file of a sweep's folder, again whenever it has changed.

    Args:
        folder: of the sweep (:func:`mgtop.rounds.state.read_state`).
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(keys, action, text, show=False) for keys, action, _, text in KEYS
    ]

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.state: State | None = None
        self.runs = False
        """Whether a process carries the rounds out now."""
        self._top: int | None = None
        self._message = ""
        self._message_until = 0.0

    def compose(self) -> ComposeResult:
        """One canvas."""
        yield Canvas()

    def on_mount(self) -> None:
        """Show what there is, and begin to tick."""
        self.tick()
        self.set_interval(TICK_S, self.tick)

    def on_resize(self) -> None:
        """Another size, the first one included: other rows."""
        self.call_after_refresh(self.draw)

    def tick(self) -> None:
        """Read the state again and draw it; say that somebody looks."""
        self.state = read_state(self.folder) or self.state
        self.runs = runner_pid(self.folder) is not None
        if self.runs:
            touch_watched(self.folder)
        self.draw()

    def draw(self) -> None:
        """Draw the state that was read last."""
        try:
            canvas = self.query_one(Canvas)
        except NoMatches:
            return
        width, height = canvas.size
        if width <= 0 or height <= 1:
            return
        if self.state is None:
            rows = [[Run(f" {self.folder} holds no rounds"[:width], "bad")]]
        else:
            rows = rounds_rows(
                self.state, width, height - 1, time.time(), runs=self.runs, top=self._top
            )
        rows += [[Run(" " * width, "empty")]] * (height - 1 - len(rows))
        canvas.show([*rows[: height - 1], self._footer(width)])

    def _footer(self, width: int) -> list[Run]:
        message = self._message if time.monotonic() < self._message_until else ""
        text = message or "  ".join(label for _, _, label, _ in KEYS if label)
        return [Run(f" {text}"[:width].ljust(width), "strong" if message else "key")]

    def say(self, message: str) -> None:
        """Show a message for some seconds."""
        self._message, self._message_until = message, time.monotonic() + MESSAGE_S
        self.draw()

    # ------------------------------------------------------------------------------- keys

    def action_scroll(self, by: int) -> None:
        """Move the table."""
        if self.state is None:
            return
        limit = scroll_limit(self.state, self.size.height)
        before = self._top if self._top is not None else self._first_running()
        self._top = max(0, min(limit, before + by))
        self.draw()

    def _first_running(self) -> int:
        rounds = self.state.rounds if self.state is not None else []
        return next((n for n, found in enumerate(rounds) if found.status == "running"), 0)

    def action_follow(self) -> None:
        """Follow the round that runs."""
        self._top = None
        self.draw()

    def action_leave(self) -> None:
        """Leave; while rounds run, ask what becomes of them."""
        if not self.runs:
            self.app.exit()
            return
        self.app.push_screen(StopRounds(), self._left)

    def _left(self, answer: Answer | None) -> None:
        if answer == "stop":
            pid = runner_pid(self.folder)
            if pid is not None:
                try:
                    os.kill(pid, signal.SIGTERM)
                except OSError as error:
                    self.say(f"the rounds cannot be stopped: {error.strerror}")
                    return
            self.say("the round that runs is being ended …")
            self.set_interval(0.1, self._exit_when_stopped)
        elif answer == "leave":
            self.app.exit()

    def _exit_when_stopped(self) -> None:
        if runner_pid(self.folder) is None:
            self.app.exit()
