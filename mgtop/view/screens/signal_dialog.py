"""Which signal to send, and whether really."""

from __future__ import annotations

import signal
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from mgtop.view.figures import clean
from mgtop.view.signalling import CHOICES, Choice, Receiver


class SignalDialog(ModalScreen[signal.Signals | None]):
    """Two steps: a signal, then ``y``."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,n", "cancel")]

    def __init__(self, receiver: Receiver) -> None:
        super().__init__()
        self._receiver = receiver
        self._chosen: Choice | None = None

    def compose(self) -> ComposeResult:
        """The signals."""
        with Vertical(classes="dialog"):
            yield Static(self._text(), markup=False)

    def _text(self) -> str:
        who = f"process {self._receiver.pid}, {clean(self._receiver.name)[:48]}"
        if self._chosen is None:
            lines = [f"Send a signal to {who}?", ""]
            lines += [f"{c.key}  {c.number.name.removeprefix('SIG'):<5} {c.does}" for c in CHOICES]
            return "\n".join([*lines, "", "Esc  send none"])
        name = self._chosen.number.name.removeprefix("SIG")
        return f"Send {name} ({self._chosen.does}) to {who}?\n\ny  yes, send it\nEsc  no"

    def on_key(self, event: events.Key) -> None:
        """A signal's letter, then y."""
        if self._chosen is None:
            self._chosen = next((c for c in CHOICES if c.key == event.key), None)
            if self._chosen is not None:
                event.stop()
                self.query_one(Static).update(self._text())
        elif event.key == "y":
            event.stop()
            self.dismiss(self._chosen.number)

    def on_click(self, event: events.Click) -> None:
        """A line of the list, or that one is sure; beside the text: none."""
        if event.widget is self:
            self.dismiss(None)
            return
        if not isinstance(event.widget, Static):
            return
        line = event.y - 2
        if self._chosen is None:
            if 0 <= line < len(CHOICES):
                self._chosen = CHOICES[line]
                self.query_one(Static).update(self._text())
            elif line == len(CHOICES) + 1:
                self.dismiss(None)
        elif line == 0:
            self.dismiss(self._chosen.number)
        elif line == 1:
            self.dismiss(None)

    def action_cancel(self) -> None:
        """Send none."""
        self.dismiss(None)
