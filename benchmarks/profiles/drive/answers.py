"""Somebody at the keyboard, who thinks before each answer."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable


class Answers(io.TextIOBase):
    """Standard input: each line comes after a while. ``waited`` holds (from, to) in ns."""

    def __init__(self, lines: Iterable[str], thinks_s: float) -> None:
        self._lines = iter(lines)
        self._thinks_s = thinks_s
        self.waited: list[tuple[int, int]] = []

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        """The next answer."""
        begun = time.monotonic_ns()
        time.sleep(self._thinks_s)
        self.waited.append((begun, time.monotonic_ns()))
        line = next(self._lines, None)
        return "" if line is None else f"{line}\n"

    def readable(self) -> bool:
        """It can be read from."""
        return True
