"""Which piece of time the screens show, and whether it moves: followed, held, moved or played.

All screens of a session share one, so that a time found on one is there on the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from mgtop.analysis.live import LiveView
from mgtop.charts import steps, window_end
from mgtop.view.feed import Feed
from mgtop.view.window import Window

DEFAULT_STEP_NS = 500_000_000
COARSEST_FIT_NS = 1_000_000_000
"""A recorded session is shown whole where columns of this duration are enough for that."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)


class Timeline:
    """The window of time, its zoom, and how it moves.

    Args:
        feed: the session, whose time it is.
        clock: seconds that pass while a recorded session is played.

    Attributes:
        window: what is shown; None before the first drawing.
        end_ns: end of the window, where it does not follow the time.
        frozen: the picture of the moment of pausing; None while nothing is held.
        cursor_ns: the moment whose values are told, if one was chosen.
    """

    def __init__(self, feed: Feed, clock: Callable[[], float] = time.monotonic) -> None:
        self.window: Window | None = None
        self.end_ns: int | None = None
        self.frozen: LiveView | None = None
        self.cursor_ns: int | None = None
        self._feed = feed
        self._clock = clock
        self._step = steps().index(DEFAULT_STEP_NS)
        self._fitted = False
        self._head_ns: int | None = None
        """Where playing stands, or would go on."""
        self._head_s: float | None = None
        """When it stood there; None: it is not played."""
        self._speed = SPEEDS.index(1.0)

    # ------------------------------------------------------------------------------ times

    @property
    def now_ns(self) -> int:
        """The moment that is shown as now."""
        if self.frozen is not None:
            return self.frozen.now_ns
        head_ns = self.head_ns
        return self._feed.now_ns() if head_ns is None else head_ns

    @property
    def head_ns(self) -> int | None:
        """Where playing stands; None where all of the session is shown."""
        if self._head_ns is None or self._head_s is None:
            return self._head_ns
        passed_s = max(0.0, self._clock() - self._head_s)
        head_ns = self._head_ns + round(passed_s * 1e9 * self.speed)
        last_ns = self._feed.model.about.last_ns
        if head_ns >= last_ns:
            self._head_ns, self._head_s = last_ns, None  # the end: it stands there
            return last_ns
        return head_ns

    @property
    def playing(self) -> bool:
        """Whether a recorded session is being played."""
        return self.head_ns is not None and self._head_s is not None

    @property
    def speed(self) -> float:
        """How many seconds of the session pass in one."""
        return SPEEDS[self._speed]

    @property
    def follows(self) -> bool:
        """Whether the window goes with the time."""
        return self.end_ns is None and self.frozen is None

    @property
    def still(self) -> bool:
        """Nothing moves by itself."""
        return self.frozen is not None or not (self._feed.live or self.playing)

    def behind_ns(self) -> int | None:
        """How long before now the window ends; None where it does not, or nothing moves."""
        if self.end_ns is None or self.frozen is not None:
            return None
        return max(0, self.now_ns - self.end_ns) or None

    # ----------------------------------------------------------------------------- window

    def choose(self, width: int) -> Window:
        """The columns to show: those up to now, unless somebody moved them.

        While a session fits into the window, it stands at its left; from then on the window
        hops by an eighth of its width. A recorded session ends at the right edge.
        """
        if not self._fitted and self._feed.keeps_up:
            self._fitted = True
            self._fit(width)
        step_ns = steps()[self._step]
        end_ns = self.end_ns
        if end_ns is None:
            hop = max(1, width // 8) if self._feed.live or self.playing else 1
            start_ns = self._feed.model.about.start_ns
            end_ns = max(
                window_end(self.now_ns, step_ns, hop), (start_ns // step_ns + width) * step_ns
            )
        self.window = Window(end_ns, step_ns, width)
        return self.window

    def _fit(self, width: int) -> None:
        """Show a recorded session whole, if a column of a second is enough for that."""
        about = self._feed.model.about
        if self._feed.live:
            return
        length = about.last_ns - about.start_ns
        fitting = [n for n, step in enumerate(steps()) if step * (width - 1) >= length]
        coarsest = steps().index(COARSEST_FIT_NS)
        self._step = min(fitting[0] if fitting else len(steps()), coarsest)

    def zoom(self, by: int, at: float = 0.5) -> None:
        """A longer or shorter column; the place ``at`` (share of the width) keeps its time.

        A window that follows the time goes on doing so.
        """
        step = max(0, min(len(steps()) - 1, self._step + by))
        if self.end_ns is not None and self.window is not None:
            right = round(self.window.width * (1 - at))
            kept_ns = self.window.end_ns - right * self.window.step_ns
            self.end_ns = window_end(kept_ns + right * steps()[step], steps()[step])
        self._step = step

    def move(self, columns: int) -> None:
        """Move the window by so many columns, between the session's start and now."""
        window = self.window
        if window is None:
            return
        step_ns = window.step_ns
        start_ns, now_ns = self._feed.model.about.start_ns, self.now_ns
        newest_ns = window_end(now_ns, step_ns)
        oldest_ns = window_end(start_ns, step_ns) + max(1, window.width // 4) * step_ns
        end_ns = window.end_ns + columns * step_ns
        if end_ns >= newest_ns and columns > 0:
            self.end_ns = None if self.frozen is None else newest_ns
        else:
            self.end_ns = max(min(oldest_ns, newest_ns), end_ns)

    def show(self, t_ns: int) -> None:
        """Put a time into the middle of the window."""
        step_ns = steps()[self._step]
        width = self.window.width if self.window is not None else 0
        self.end_ns = window_end(t_ns + width * step_ns // 2, step_ns)
        if self._head_ns is not None:  # playing goes on from there
            self.end_ns = None
            self._head_ns = t_ns
            self._head_s = None if self._head_s is None else self._clock()

    def follow(self) -> None:
        """Back to now; a recorded session: to its end."""
        self.end_ns = None
        self.frozen = None
        self._head_ns = self._head_s = None

    # ------------------------------------------------------------------ holding and playing

    def hold(self, view: LiveView) -> None:
        """Keep the picture as it is; the recording goes on."""
        self.frozen = view
        if self.window is not None:
            self.end_ns = self.window.end_ns

    def play_or_pause(self) -> None:
        """Play a recorded session on from where it stands, from its start at its end."""
        if self.playing:
            self._head_ns, self._head_s = self.head_ns, None
            return
        about, head_ns = self._feed.model.about, self._head_ns
        if head_ns is None and self.window is not None and self.end_ns is not None:
            head_ns = (self.window.begin_ns + self.window.end_ns) // 2
        if head_ns is None or not about.start_ns <= head_ns < about.last_ns:
            head_ns = about.start_ns
        self.end_ns = None
        self._play_from(head_ns)

    def _play_from(self, t_ns: int) -> None:
        self._head_ns = t_ns
        self._head_s = self._clock()

    def faster(self, by: int) -> None:
        """The next speed up (1) or down (−1)."""
        head_ns, playing = self.head_ns, self.playing
        self._speed = max(0, min(len(SPEEDS) - 1, self._speed + by))
        if playing:
            assert head_ns is not None
            self._play_from(head_ns)
