"""A driver that asks the terminal whether it has shown what was sent.

What is written to a slow line waits in buffers that no program sees: an SSH server takes 1 MB
before its terminal blocks, which at 64 kbit/s is two minutes of pictures, and every key's answer
queues behind them. So a frame is followed by a question that all terminals answer (where is the
cursor?), one at a time: until the answer is there, the frame is on its way.

A terminal that does not answer is not asked for long, and nothing waits for it.
"""

from __future__ import annotations

import os
import time
from collections import deque
from typing import Any

from textual import events
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from mgtop.view.celldiff.cells import ADDRESS

SYNC_BEGIN, SYNC_END = "\x1b[?2026h", "\x1b[?2026l"
QUESTION = "\x1b[6n"
PATIENCE_S = 10.0
"""An answer that takes longer is not waited for any more."""
MOST_LOST = 2
"""So many questions without any answer so far, and no more are asked."""
LEAVING_S, LEAVING_UNKNOWN_S = 3.0, 0.5
"""How long leaving waits for the last answer, if the terminal has answered before, or not yet."""


class AskingDriver(LinuxDriver):
    """Writes frames as Textual does, and knows how long they take to be shown."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._asked: deque[float] = deque()
        """When the questions were asked that have no answer yet."""
        self._answers: deque[float] = deque()
        self._answered = False
        self._lost = 0
        self._frame_open = False
        self._asks = False

    # ------------------------------------------------------------------------- for the app

    @property
    def busy(self) -> bool:
        """Whether a frame is still on its way to a terminal that tells."""
        while self._asked and time.monotonic() - self._asked[0] > PATIENCE_S:
            self._asked.popleft()
            self._lost += 1
        return bool(self._asked) and self._answered

    def take_answer(self) -> float | None:
        """Seconds that the newest answer took, once; None: there is no new one."""
        latest = None
        while self._answers:
            latest = self._answers.popleft()
        return latest

    # ------------------------------------------------------------------------------ output

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's
        self._asks = self.input_tty

    def write(self, data: str) -> None:
        """Write, and ask after a frame."""
        super().write(data)
        if data == SYNC_BEGIN:
            self._frame_open = True
        elif data.endswith(SYNC_END):
            self._frame_open = False
            self._ask()
        elif not self._frame_open and ADDRESS.match(data):
            self._ask()

    def _ask(self) -> None:
        if self._asks and not self._asked and (self._answered or self._lost < MOST_LOST):
            self._asked.append(time.monotonic())
            super().write(QUESTION)

    # ------------------------------------------------------------------------------- input

    def process_message(self, message: Message) -> None:
        """Take the answers out of what the terminal says."""
        if isinstance(message, events.CursorPosition) and self._asked:
            self._answers.append(time.monotonic() - self._asked.popleft())
            self._answered = True
            return
        super().process_message(message)

    def disable_input(self) -> None:
        """Stop reading, once nothing is under way that the shell would take for typed."""
        if self._asks and os.isatty(self.fileno):
            self._asks = False
            if self._answered:
                self._disable_mouse_support()
                self._asked.append(time.monotonic())
                super().write(QUESTION)
            until = time.monotonic() + (LEAVING_S if self._answered else LEAVING_UNKNOWN_S)
            while self._asked and time.monotonic() < until:
                time.sleep(0.002)
        super().disable_input()
