"""What every export starts from: the frames of a session, as the report counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from mgtop.analysis.model import Model
from mgtop.analysis.playout import NS
from mgtop.analysis.summary import Summary
from mgtop.analysis.traffic import Traffic
from mgtop.export.emits import Emits, Frame, late_frames
from mgtop.report.follow import Follower
from mgtop.report.load import summarise


@dataclass(frozen=True)
class Told:
    """A session, read.

    Attributes:
        summary: as ``mgtop report`` has it.
        begin_ns, wall_ns: its start in ``CLOCK_MONOTONIC`` and as Unix time (0: not known).
        frames: in the order of time.
        fps: the target rate by request.
        traffic: its requests, with the names of spans.
    """

    summary: Summary
    begin_ns: int
    wall_ns: int
    frames: list[Frame]
    fps: dict[str, float]
    traffic: Traffic


def told(folder: Path, share: Callable[[float], None] | None = None) -> Told:
    """Read a session.

    Args:
        folder: the session's.
        share: is called now and then with the share that is read, 0 to 1, of its report, where that
            has to be made, and then of its frames.
    """
    summary = summarise(folder, share)
    follower = Follower(folder, Model(judge=False))
    emits = Emits(follower.model)
    for _ in follower.rest():
        if share is not None:
            share(follower.share_read)
    about = follower.model.about
    frames = list(emits.frames(about.start_ns, late_frames(summary)))
    fps = {q.id: q.fps for q in follower.model.traffic.requests if q.fps is not None}
    wall_ns = 0 if about.start is None else about.start.wall_ns
    return Told(summary, about.start_ns, wall_ns, frames, fps, follower.model.traffic)


@dataclass(frozen=True)
class Shown:
    """One frame as the viewer saw it: when it came onto the screen, and for how long it stayed."""

    request: str
    pid: int
    index: int
    at_ms: float
    ms: float


def shown(session: Told) -> Iterator[Shown]:
    """The playout of each request, frame by frame: a stall makes one long frame.

    Played at the target rate, from when the first block has arrived; where no rate is known, at
    the mean rate of the request. The last frame of a request has no end and is left out.
    """
    by_request: dict[tuple[int, str], list[Frame]] = {}
    for frame in session.frames:
        by_request.setdefault((frame.pid, frame.request), []).append(frame)
    for (pid, request), frames in by_request.items():
        times = list(_shown_at(frames, session.fps.get(request) or _mean_fps(frames)))
        for (index, at_ns), (_, until_ns) in pairwise(times):
            at_ms = (at_ns - session.begin_ns) / 1e6
            yield Shown(request, pid, index, at_ms, (until_ns - at_ns) / 1e6)


def _shown_at(frames: list[Frame], fps: float | None) -> Iterator[tuple[int, float]]:
    if fps is None:
        return
    step_ns = NS / fps
    due_ns: float | None = None
    for frame in frames:
        for n in range(frame.count):
            due_ns = float(frame.t_ns) if due_ns is None else max(due_ns, float(frame.t_ns))
            yield frame.index + n, due_ns
            due_ns += step_ns


def _mean_fps(frames: list[Frame]) -> float | None:
    if len(frames) < 2 or frames[-1].t_ns <= frames[0].t_ns:
        return None
    return sum(f.count for f in frames[1:]) * NS / (frames[-1].t_ns - frames[0].t_ns)
