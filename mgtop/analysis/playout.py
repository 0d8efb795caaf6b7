"""What the viewer sees of one request: a player that starts after a buffer and never skips.

Frames are played at the target fps from the moment the buffer has arrived. A frame that is
not there at its due time is an *underrun*: the picture stands still until it comes, and play
goes on from there (re-anchored, so that one hiccup is one underrun). Frames that were lost
on the way to the log have an unknown time; they are taken to have come in time, so that all
figures are lower bounds then.
"""

from __future__ import annotations

import math
from array import array

from mgtop.analysis.summary import PlayoutSummary

NS = 1_000_000_000
FEWEST_EMITS = 8
RATE_TOLERANCE = 0.01
"""A source that makes the target rate but for 1 % keeps up: that is the clocks' and the
pacer's scatter, over any session."""
ROUNDING_NS = 1_000
"""A frame that misses its due time by less is on time: rates and clocks are rounded."""
MOST_POINTS = 64


def usable_fps(value: object) -> float | None:
    """A frame rate that can be played at; None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 1e-3 <= value <= 1e6:
        return float(value)
    return None


class Progress:
    """How many frames there were when: at most :data:`MOST_POINTS` points, evenly spread."""

    __slots__ = ("_frames", "_stride", "_times_ns", "emits", "last")

    def __init__(self) -> None:
        self._times_ns, self._frames = array("q"), array("q")
        self._stride = 1
        self.emits = 0
        """Points that were added."""
        self.last = (0, 0)
        """The newest one: its time, and the frames there were by then."""

    def add(self, t_ns: int, frames: int) -> None:
        """``frames`` had come by ``t_ns``."""
        self.last = (t_ns, frames)
        if self.emits % self._stride == 0:
            self._times_ns.append(t_ns)
            self._frames.append(frames)
            if len(self._frames) >= MOST_POINTS:
                del self._times_ns[1::2], self._frames[1::2]
                self._stride *= 2
        self.emits += 1

    def is_slow(self, frame_ns: float) -> bool:
        """Whether frames came slower than one every ``frame_ns``, and still do.

        So over all, and in the third and in the last quarter: a single stall, or a slow
        start, is not a slow source.
        """
        points = list(zip(self._times_ns, self._frames, strict=True))
        if points[-1] != self.last:
            points.append(self.last)
        last = len(points) - 1
        turns = [points[0], points[last // 2], points[3 * last // 4], points[last]]
        return all(
            made_frames - frames < (1 - RATE_TOLERANCE) * (until_ns - t_ns) / frame_ns
            for (t_ns, frames), (until_ns, made_frames) in (
                (turns[0], turns[3]),
                (turns[1], turns[2]),
                (turns[2], turns[3]),
            )
        )


class Playout:
    """The player of one request, fed emit by emit.

    Times are on the viewer's clock: time that the program spent waiting for the viewer is
    not on it.

    Args:
        fps: the target rate.
        buffer_frames: frames that must have arrived before play starts; None: the first block.
    """

    __slots__ = (
        "_anchor_ns",
        "_arrived",
        "_first_index",
        "_first_ns",
        "_frame_ns",
        "_progress",
        "_wanted_buffer",
        "arrival_slack_ns",
        "buffer_frames",
        "fps",
        "slack_min_ns",
        "smooth_delay_ns",
        "stall_ns",
        "underruns",
    )

    def __init__(self, fps: float, buffer_frames: int | None = None) -> None:
        self.fps = fps
        self._frame_ns = NS / fps
        self._wanted_buffer = buffer_frames
        self.buffer_frames: int | None = None
        self.underruns = 0
        self.stall_ns = 0.0
        self.smooth_delay_ns = 0.0
        self.slack_min_ns: float | None = None
        self.arrival_slack_ns: float | None = None
        """Slack when the last emit arrived, without it; below 0: so long it was waited for."""
        self._first_ns: int | None = None
        self._first_index = 0
        self._progress = Progress()
        self._arrived = 0
        self._anchor_ns: float | None = None
        """When the first frame was due, from the first emit on, moved on by every stall;
        None until play starts."""

    def add(self, t_ns: int, index: int, count: int) -> bool | None:
        """Frames ``index`` … ``index + count − 1`` arrived at ``t_ns``.

        Returns whether they came too late for the viewer; None while nothing plays yet.
        """
        if self._first_ns is None:
            self._first_ns, self._first_index = t_ns, index
            self.buffer_frames = count if self._wanted_buffer is None else self._wanted_buffer
        since_ns = t_ns - self._first_ns
        before = index - self._first_index
        ahead_ns = before * self._frame_ns
        if since_ns - ahead_ns > self.smooth_delay_ns:
            self.smooth_delay_ns = since_ns - ahead_ns
        late: bool | None = None
        if self._anchor_ns is not None:
            slack = self._anchor_ns + ahead_ns - since_ns
            self.arrival_slack_ns = slack
            late = slack < -ROUNDING_NS
            if late:
                self.underruns += 1
                self.stall_ns -= slack
                self._anchor_ns -= slack
            lowest = self.slack_min_ns
            if lowest is None or slack < lowest:
                self.slack_min_ns = max(0.0, slack)
        if before + count > self._arrived:
            self._arrived = before + count
        self._progress.add(t_ns, self._arrived)
        if self._anchor_ns is None and self._arrived >= (self.buffer_frames or 0):
            self._anchor_ns = float(since_ns)
        return late

    def slack_ns(self, now_ns: int) -> float | None:
        """Video that lies ahead of the viewer, in ns; 0 while the picture stands still.

        None before play has started.
        """
        if self._anchor_ns is None or self._first_ns is None:
            return None
        played_to_ns = now_ns - self._first_ns - self._anchor_ns
        return max(0.0, self._arrived * self._frame_ns - played_to_ns)

    def keeps_up(self) -> bool | None:
        """Whether frames come at the target rate; None for too few emits.

        Where they do not, no buffer is large enough: the delay only grows.
        """
        if self._progress.emits < FEWEST_EMITS:
            return None
        return not self._progress.is_slow(self._frame_ns)

    def summary(self) -> PlayoutSummary:
        """The figures, ms."""
        if self._first_ns is None:
            return PlayoutSummary(target_fps=self.fps)
        played_ns = self._progress.last[0] - self._first_ns
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
