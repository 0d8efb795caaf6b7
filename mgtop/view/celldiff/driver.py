"""A driver for Textual that compares each frame with what the terminal shows.

It relies on these habits of Textual, and on nothing private to its compositor:

- A frame comes to :meth:`~textual.driver.Driver.write` as one text that begins with a cursor
  address; synchronised output is switched on and off around it by texts of their own.
- Every styled piece ends with a reset.
- Whatever else is written either changes no cell, or the screen is drawn anew after it.

What it does not understand is passed on unchanged, and what the terminal then shows counts as
unknown. After a distrust the whole screen is drawn anew; after many it stops comparing.
"""

from __future__ import annotations

import asyncio
import re
import signal
from types import FrameType

from textual import events
from textual.message import Message

from mgtop.view.asking import SYNC_BEGIN, SYNC_END, AskingDriver
from mgtop.view.celldiff.cells import ADDRESS
from mgtop.view.celldiff.grid import CellGrid

HARMLESS = re.compile(
    r"(?:\x1b\[\?(?:7|25|100[0-6]|1015|1016|2004|2026|2048)[hl]"  # modes that move nothing
    r"|\x1b\[\?\d+\$p|\x1b\[6n|\x1b\[>?c"  # questions
    r"|\x1b\[[<>=][\d;]*u"  # the keyboard protocol
    r"|\x1b\]\d+;[^\x07\x1b]*(?:\x07|\x1b\\)|\x07)+"  # titles, clipboard, bell
)
"""Output that changes no cell."""
SETTLED_S = 0.25
"""So long after the last change of the terminal's size everything is drawn once more."""
MOST_FAILURES = 20
"""So many frames that do not fit into the terminal in a row, and comparing ends."""


class CellDiffDriver(AskingDriver):
    """Sends the cells that changed."""

    _grid: CellGrid | None = None
    _trusted = False
    _comparing = True
    _in_sync = False
    _synced = ""
    """Output of the frame whose end is not there yet."""
    _failures = 0
    _started = False
    _settling: asyncio.TimerHandle | None = None

    def forget(self) -> None:
        """Take nothing for granted any more: what is drawn from now on is sent in full."""
        self._trusted = False

    def repaint(self) -> None:
        """Draw the whole screen anew, whatever the terminal may show."""
        self.forget()
        self._app.call_later(self._app.refresh)

    # ------------------------------------------------------------------------------ output

    def write(self, data: str) -> None:
        """Take a frame or a command for the terminal; send what it takes."""
        if data == SYNC_BEGIN:
            self._in_sync, self._synced = True, ""
        elif data == SYNC_END:
            self._in_sync = False
            if self._synced:
                super().write(f"{SYNC_BEGIN}{self._synced}{SYNC_END}")
        elif not ADDRESS.match(data):
            if not HARMLESS.fullmatch(data):
                self.forget()
            super().write(data)
        elif self._in_sync:
            self._synced += self._compared(data)
        elif output := self._compared(data):
            super().write(output)

    def _compared(self, frame: str) -> str:
        """What to send for a frame: the frame itself, where it cannot be compared."""
        if not self._comparing:
            return frame
        size, grid = self._get_terminal_size(), self._grid
        if not self._trusted or grid is None or (grid.width, grid.height) != size:
            self._grid = grid = CellGrid(*size)
            self._trusted = True
        try:
            output = grid.frame(frame)
        except Exception:  # whatever is wrong here, the screen must not be
            self._comparing = False
            return frame
        if output is not None:
            self._failures = 0
            return output
        self.forget()
        self._failures += 1
        self._comparing = self._failures < MOST_FAILURES
        return frame

    # ------------------------------------------------------- where the terminal may lose cells

    def start_application_mode(self) -> None:
        """Take the terminal over, at first and after having been suspended."""
        super().start_application_mode()
        self.forget()
        if self._started:
            self._size_changed()  # Textual does not draw after SIGCONT
        self._started = True
        resized = signal.getsignal(signal.SIGWINCH)

        def on_resize(number: int, stack: FrameType | None) -> None:
            self._size_changed()
            if callable(resized):
                resized(number, stack)

        signal.signal(signal.SIGWINCH, on_resize)

    def process_message(self, message: Message) -> None:
        """Watch for a new size that the terminal reports in its input."""
        if isinstance(message, events.Resize):
            self._size_changed()
        super().process_message(message)

    def _size_changed(self) -> None:
        """Terminals crop and reflow, and Textual draws nothing if the size is soon as before."""
        self.forget()
        self._loop.call_soon_threadsafe(self._settle)

    def _settle(self) -> None:
        if self._settling is not None:
            self._settling.cancel()
        self._settling = self._loop.call_later(SETTLED_S, self.repaint)
