"""What the viewer sees of one request: a player that starts after a buffer and never skips.

Frames are played at the target fps from the moment the buffer has arrived. A frame that is
not there at its due time is an *underrun*: the picture stands still until it comes, and play
goes on from there (re-anchored, so that one hiccup is one underrun). Frames that were lost
on the way to the log have an unknown time; they are taken to have come in time, so that all
figures are lower bounds then.
"""

from __future__ import annotations

import math

from mgtop.analysis.summary import PlayoutSummary

NS = 1_000_000_000
FEWEST_EMITS = 8
RATE_TOLERANCE = 0.01
"""A source that makes the target rate but for 1 % keeps up: that is the clocks' and the
pacer's scatter, over any session."""


class Playout:
    """The player of one request, fed emit by emit.

    Args:
        fps: the target rate.
        buffer_frames: frames that must have arrived before play starts; None: the first block.
    """

    def __init__(self, fps: float, buffer_frames: int | None = None) -> None:
        self.fps = fps
        self._frame_ns = NS / fps
        self._wanted_buffer = buffer_frames
        self.buffer_frames: int | None = None
        self.underruns = 0
        self.stall_ns = 0.0
        self.smooth_delay_ns = 0.0
        self.slack_min_ns: float | None = None
        self._first_ns: int | None = None
        self._first_frames = 0
        self._last_ns = 0
        self._emits = 0
        self._arrived = 0
        self._anchor_ns: float | None = None
        """When frame 0 was due, moved on by every stall; None until play starts."""

    def add(self, t_ns: int, index: int, count: int) -> bool | None:
        """Frames ``index`` … ``index + count − 1`` arrived at ``t_ns``.

        Returns whether they came too late for the viewer; None while nothing plays yet.
        """
        self._emits += 1
        self._last_ns = t_ns
        if self._first_ns is None:
            self._first_ns = t_ns
            self._first_frames = index + count
            self.buffer_frames = count if self._wanted_buffer is None else self._wanted_buffer
        ahead_ns = index * self._frame_ns
        self.smooth_delay_ns = max(self.smooth_delay_ns, t_ns - self._first_ns - ahead_ns)
        late: bool | None = None
        if self._anchor_ns is not None:
            slack = self._anchor_ns + ahead_ns - t_ns
            late = slack < 0
            if late:
                self.underruns += 1
                self.stall_ns -= slack
                self._anchor_ns -= slack
                slack = 0.0
            lowest = self.slack_min_ns
            self.slack_min_ns = slack if lowest is None else min(lowest, slack)
        self._arrived = max(self._arrived, index + count)
        if self._anchor_ns is None and self._arrived >= (self.buffer_frames or 0):
            self._anchor_ns = float(t_ns)
        return late

    def slack_ns(self, now_ns: int) -> float | None:
        """Video that lies ahead of the viewer, in ns; 0 while the picture stands still.

        None before play has started.
        """
        if self._anchor_ns is None:
            return None
        return max(0.0, self._anchor_ns + self._arrived * self._frame_ns - now_ns)

    def keeps_up(self) -> bool | None:
        """Whether frames come at the target rate in the long run; None for too few emits."""
        if self._emits < FEWEST_EMITS or self._first_ns is None or self._last_ns <= self._first_ns:
            return None
        made = self._arrived - self._first_frames
        wanted = (self._last_ns - self._first_ns) / self._frame_ns
        return made >= (1 - RATE_TOLERANCE) * wanted

    def summary(self) -> PlayoutSummary:
        """The figures, ms."""
        if self._first_ns is None:
            return PlayoutSummary(target_fps=self.fps)
        played_ns = self._last_ns - self._first_ns
        delay = self.smooth_delay_ns
        # A rounding error of the frame's duration must not cost a frame of buffer.
        frames = math.ceil(delay / self._frame_ns - 1e-6)
        return PlayoutSummary(
            target_fps=self.fps,
            buffer_frames=self.buffer_frames,
            keeps_up=self.keeps_up(),
            underruns=self.underruns,
            stall_ms=self.stall_ns / 1e6,
            stall_ms_per_s=1e3 * self.stall_ns / played_ns if played_ns > 0 else None,
            smooth_buffer_ms=delay / 1e6,
            smooth_buffer_frames=frames,
            slack_min_ms=None if self.slack_min_ns is None else self.slack_min_ns / 1e6,
        )
