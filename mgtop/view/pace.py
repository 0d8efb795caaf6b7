"""How often to draw: a slow line must not hold the keys up.

A terminal that tells when it has shown a frame (:mod:`mgtop.view.asking`) gives what a frame
costs the line: the time beyond that of the quickest frames, which is the way there and back. The
line is to be busy for half of the time at most, so that a key's answer rarely finds it taken.

Where the terminal does not tell: Textual's output waits for it, at last the whole event loop
does, and what shows is that the tick comes late. Two late ticks in a row halve the rate; ten
seconds without one bring it back a little.
"""

from __future__ import annotations

from collections import deque

BUSY_SHARE = 0.5
ANSWERS = 60
"""Answers among which the quickest tells the way there and back."""
LATE_SHARE = 0.5
RECOVER_S, RECOVER_FACTOR = 10.0, 1.5
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
        self._why = ""
        self._good_since_s: float | None = None
        self._answers_s: deque[float] = deque(maxlen=ANSWERS)

    def shown(self, answer_s: float | None) -> float:
        """A frame was shown so long after it was sent (None: no news); return as ticked."""
        if answer_s is not None:
            self._answers_s.append(answer_s)
            # Of the last two the quicker one: one slow answer is a busy machine, or one full page.
            usual_s = min(list(self._answers_s)[-2:])
            wanted_s = (usual_s - min(self._answers_s)) / BUSY_SHARE
            if len(self._answers_s) > 1 and wanted_s > self.interval_s / RECOVER_FACTOR:
                self.interval_s = max(self.interval_s, min(SLOWEST_S, wanted_s))
                self._why = "slow line"
                self._good_since_s = None
        return self.interval_s

    def ticked(self, now_s: float, due_s: float) -> float:
        """A tick that was due at ``due_s`` came at ``now_s``; return the time to the next one."""
        if now_s - due_s > max(0.1, LATE_SHARE * self.interval_s):
            self._late += 1
            self._good_since_s = None
            if self._late >= 2:
                self._late = 0
                self.interval_s = min(SLOWEST_S, 2 * self.interval_s)
                # A terminal that answers would have told of a slow line.
                self._why = "busy machine" if self._answers_s else "slow line or busy machine"
        else:
            self._late = 0
            if self._good_since_s is None:
                self._good_since_s = now_s
            elif now_s - self._good_since_s >= RECOVER_S and self.interval_s > self.wanted_s:
                self.interval_s = max(self.wanted_s, self.interval_s / RECOVER_FACTOR)
                self._good_since_s = now_s
        return self.interval_s

    def __str__(self) -> str:
        """What to show: nothing while all is as wanted."""
        if self.interval_s <= self.wanted_s * 1.01:
            return ""
        return f"{self._why}: drawn every {self.interval_s:.1f} s"
