"""How often to draw: a slow line must not hold the keys up.

Textual's output waits for the terminal; on a slow line the whole event loop then waits with
it, and what shows is that the tick comes late. Two late ticks in a row halve the rate; ten
seconds without one bring it back a little.
"""

from __future__ import annotations

LATE_SHARE = 0.5
RECOVER_S = 10.0
SLOWEST_S = 5.0


class Pace:
    """The time between two drawings.

    Args:
        fps: drawings per second that are wanted.
    """

    def __init__(self, fps: float) -> None:
        self.wanted_s = 1.0 / fps
        self.interval_s = self.wanted_s
        self._late = 0
        self._good_since_s: float | None = None

    def ticked(self, now_s: float, due_s: float) -> float:
        """A tick that was due at ``due_s`` came at ``now_s``; return the time to the next one."""
        if now_s - due_s > max(0.1, LATE_SHARE * self.interval_s):
            self._late += 1
            self._good_since_s = None
            if self._late >= 2:
                self._late = 0
                self.interval_s = min(SLOWEST_S, 2 * self.interval_s)
        else:
            self._late = 0
            if self._good_since_s is None:
                self._good_since_s = now_s
            elif now_s - self._good_since_s >= RECOVER_S and self.interval_s > self.wanted_s:
                self.interval_s = max(self.wanted_s, self.interval_s / 1.5)
                self._good_since_s = now_s
        return self.interval_s

    def __str__(self) -> str:
        """What to show: nothing while all is as wanted."""
        if self.interval_s <= self.wanted_s * 1.01:
            return ""
        return f"slow line: drawn every {self.interval_s:.1f} s"
