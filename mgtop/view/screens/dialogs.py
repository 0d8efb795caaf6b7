"""Small questions over the live screen: what to do on leaving, a note, a time."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from mgtop.analysis.causes import all_causes
from mgtop.view.bindings import PLACES, Key, help_lines

HELP_WIDTH = 72
HELP_NAMES = 15
Leaving = Literal["leave", "stop", "stop_target"]


class Leave(ModalScreen[Leaving | None]):
    """What becomes of the recording and of the target?"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("l,enter", "choose('leave')"),
        Binding("s", "choose('stop')"),
        Binding("t", "choose('stop_target')"),
        Binding("escape,q", "choose('')"),
    ]

    def __init__(self, readonly: bool) -> None:
        super().__init__()
        self._readonly = readonly

    def compose(self) -> ComposeResult:
        """The choices."""
        choices = [("l", "leave", "leave: target and recording go on (Enter)")]
        if not self._readonly:
            choices += [
                ("s", "stop", "stop the recording, the target goes on"),
                ("t", "stop_target", "stop the target too (TERM, KILL after 10 s)"),
            ]
        choices.append(("Esc", "", "stay"))
        lines = ["Leave this view?", ""]
        for key, choice, text in choices:
            lines.append(f"[@click=screen.choose('{choice}')][b]{key}[/b]  {text}[/]")
        with Vertical(classes="dialog"):
            yield Static("\n".join(lines))

    def action_choose(self, choice: str) -> None:
        """Close with an answer."""
        if choice == "leave":
            self.dismiss("leave")
        elif choice == "stop" and not self._readonly:
            self.dismiss("stop")
        elif choice == "stop_target" and not self._readonly:
            self.dismiss("stop_target")
        elif not choice:
            self.dismiss(None)


class Ask(ModalScreen[str | None]):
    """A line of text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel")]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """The question and a line to write on."""
        with Vertical(classes="dialog"):
            yield Static(self._question)
            yield Input(max_length=200)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with what was written."""
        self.dismiss(event.value)

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class Help(ModalScreen[None]):
    """All keys of a screen, the screens, and how to read this one.

    Args:
        keys: those of the screen that is shown.
        reading: how to read it, in lines.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1,h,enter", "close"),
        Binding("j", "down"),
        Binding("k", "up"),
    ]

    def __init__(self, keys: Sequence[Key], reading: Sequence[str]) -> None:
        super().__init__()
        self._keys, self._reading = keys, reading

    def compose(self) -> ComposeResult:
        """The list of keys, from the same data that makes them work."""
        width = max(24, min(HELP_WIDTH, self.app.size.width - 10))
        names = [(f"  {n} {place.title}", place.help) for n, place in enumerate(PLACES, 1)]
        lines = [
            line
            for name, text in [*help_lines(self._keys), ("", ""), *names, ("", "")]
            for line in _two_columns(name, text, width)
        ]
        lines += [line for text in self._reading for line in textwrap.wrap(text, width)]
        with VerticalScroll(classes="dialog"):
            yield Static("\n".join(lines).rstrip(), markup=False)

    def on_click(self, event: events.Click) -> None:
        """A click beside the text closes it."""
        if event.widget is self:
            self.dismiss(None)

    def action_down(self) -> None:
        """Further down."""
        self.query_one(VerticalScroll).scroll_down()

    def action_up(self) -> None:
        """Further up."""
        self.query_one(VerticalScroll).scroll_up()

    def action_close(self) -> None:
        """Back to the screen."""
        self.dismiss(None)


def _two_columns(name: str, text: str, width: int) -> list[str]:
    """A name and what it does, wrapped beside it."""
    parts = textwrap.wrap(text, max(8, width - HELP_NAMES)) or [""]
    return [f"{'' if n else name:<{HELP_NAMES}}{part}" for n, part in enumerate(parts)]


def legend() -> list[str]:
    """How to read the charts."""
    by_letter = sorted(all_causes(), key=lambda cause: cause.letter)
    causes = "  ".join(f"{cause.letter} {cause.name}" for cause in by_letter)
    late = "A late frame is a line through all charts, with the letter of its cause:"
    return [
        "A column shows the largest value of its time; a gap is not known.",
        "█ target (GPU %: lowest)  ░ all (GPU %: highest)  ▲ off the scale",
        f"{late} {causes}  ? unexplained  ! not judged yet  ▾ a mark",
    ]


_TIME = re.compile(r"(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d+)?)\s*s?$")


def parse_time(text: str) -> int | None:
    """``1:02:03``, ``1:02`` or ``62.5`` (seconds) as ns; None for anything else."""
    match = _TIME.match(text.strip())
    if match is None:
        return None
    hours, minutes, seconds = match.groups()
    total = int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds)
    return round(total * 1e9)
