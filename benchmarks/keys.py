"""How soon does the screen answer a key? Presses keys on a terminal and looks for what they do.

The next output after a key is no answer: the screen draws by itself, too. So each key here has a
text that its effect shows, or takes away; the time told is from the press until an emulated
terminal of the same size shows that. Emulation comes afterwards and disturbs nothing.
"""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.ptyrun import UNKNOWN_TO_PYTE, Line, Options


@dataclass(frozen=True)
class Key:
    """A key, and a text that is there afterwards (or is not)."""

    data: bytes
    text: str
    appears: bool = True


SCREENS = (
    Key(b"4", "stdout.log"),
    Key(b"1", "stdout.log", appears=False),
    Key(b"5", "(tree)"),
    Key(b"1", "(tree)", appears=False),
)
"""Through the screens of a session without output: each is another picture."""
HOLDING = (Key(b" ", "PAUSED"), Key(b" ", "PAUSED", appears=False))
"""Of a session that is being recorded: a word comes and goes."""


@dataclass
class Press:
    """When a key was pressed (seconds since the start), and when it showed."""

    key: Key
    at_s: float
    shown_s: float | None = None

    @property
    def ms(self) -> float | None:
        """From the press to its effect; None: there was none before the next key."""
        return None if self.shown_s is None else (self.shown_s - self.at_s) * 1e3


def press_keys(
    line: Line, master: int, keys: Sequence[Key], number: int, pause_s: float, seed: int = 0
) -> list[Press]:
    """Press so many keys, one after another, and drain the terminal meanwhile.

    Args:
        line: to the program.
        master: the terminal's own end.
        keys: gone through again and again.
        number: of presses.
        pause_s: between two of them, on average; never in step with the drawing.
        seed: of the pauses.
    """
    chance = random.Random(seed)
    presses: list[Press] = []
    due = line.passed_s()
    while line.open:
        due += pause_s * chance.uniform(0.6, 1.4)
        while line.open and line.passed_s() < due:
            line.read(0.002)
        if len(presses) == number or not line.open:
            break
        key = keys[len(presses) % len(keys)]
        presses.append(Press(key, line.passed_s()))
        os.write(master, key.data)
    return presses


def find_effects(
    presses: list[Press], chunks: Sequence[tuple[float, bytes]], options: Options
) -> list[Press]:
    """Fill in when each press showed, from what came over the line."""
    import pyte

    screen = pyte.Screen(options.cols, options.rows)
    stream = pyte.ByteStream(screen)
    waiting = list(presses)
    for when, data in chunks:
        with contextlib.suppress(Exception):  # rare sequences that pyte fails on
            stream.feed(UNKNOWN_TO_PYTE.sub(b"", data))
        while len(waiting) > 1 and when > waiting[1].at_s:
            waiting.pop(0)  # it never showed
        if not waiting or when <= waiting[0].at_s:
            continue
        key = waiting[0].key
        if any(key.text in row for row in screen.display) == key.appears:
            waiting.pop(0).shown_s = when
    return presses


def wait_for_text(line: Line, options: Options, text: str, seconds: float) -> float | None:
    """Drain the terminal until its screen shows a text; when that was, in seconds."""
    import pyte

    screen = pyte.Screen(options.cols, options.rows)
    stream = pyte.ByteStream(screen)
    fed = 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and line.open:
        line.read(0.01)
        for when, data in line.chunks[fed:]:
            with contextlib.suppress(Exception):
                stream.feed(UNKNOWN_TO_PYTE.sub(b"", data))
            if any(text in row for row in screen.display):
                return when
        fed = len(line.chunks)
    return None
