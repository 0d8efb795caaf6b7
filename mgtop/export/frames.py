"""What every export starts from: the frames of a session, as the report counts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from mgtop.analysis.model import Model
from mgtop.analysis.playout import NS
from mgtop.analysis.requests import Request
from mgtop.analysis.summary import Summary
from mgtop.session.marks import read_marks
from mgtop.session.reader import read_all
from mgtop.wire import records as r


@dataclass(frozen=True)
class Frame:
    """One emit: ``count`` frames that left together.

    Attributes:
        t_ns: when, in ``CLOCK_MONOTONIC``.
        interval_ms: since the emit before of the same request; None: not known.
        warmup: it is in no statistic.
        excess_ms, cause: where it was a late frame.
    """

    request: str
    pid: int
    index: int
    emit: int
    count: int
    t_ns: int
    interval_ms: float | None
    warmup: bool
    excess_ms: float | None = None
    cause: str | None = None


@dataclass(frozen=True)
class Told:
    """A session, read.

    Attributes:
        summary: as ``mgtop report`` has it.
        begin_ns, wall_ns: its start in ``CLOCK_MONOTONIC`` and as Unix time (0: not known).
        frames: in the order of time.
        fps: the target rate by request.
    """

    summary: Summary
    begin_ns: int
    wall_ns: int
    frames: list[Frame]
    fps: dict[str, float] = field(default_factory=dict)


def told(folder: Path) -> Told:
    """Read a session."""
    model = Model()
    emits: list[r.FrameEmit] = []
    begin_ns = wall_ns = 0
    for record in read_all(folder):
        model.feed(record)
        begin_ns = begin_ns or record.t_ns
        if isinstance(record, r.FrameEmit):
            emits.append(record)
        elif isinstance(record, r.SessionStart):
            begin_ns, wall_ns = record.t_ns, record.wall_ns
    for mark in read_marks(folder, 0):
        model.feed(mark)
    model.finish()
    summary = model.summary()
    frames = list(_frames(model, summary, emits))
    frames.sort(key=lambda frame: frame.t_ns)
    fps = {q.id: q.fps for q in model.traffic.requests if q.fps is not None}
    return Told(summary, begin_ns, wall_ns, frames, fps)


def _frames(model: Model, summary: Summary, emits: list[r.FrameEmit]) -> Iterator[Frame]:
    late = {(tail.request, tail.emit): tail for tail in summary.tails.frames}
    skipped = model.settings.warmup.emits
    before: dict[Request, r.FrameEmit] = {}
    for emit in emits:
        request = model.traffic.find(emit.proc, emit.request, emit.route)
        if request is None or request.dropped:
            continue  # a better route tells of them
        last = before.get(request)
        before[request] = emit
        follows = last is not None and emit.emit == last.emit + 1 and emit.t_ns > last.t_ns
        interval_ms = None
        if emit.interval_ns is not None:
            interval_ms = emit.interval_ns / 1e6
        elif last is not None and follows:
            interval_ms = (emit.t_ns - last.t_ns) / 1e6
        tail = late.get((request.id, emit.emit))
        yield Frame(
            request=request.id,
            pid=r.pid_of(emit.proc),
            index=emit.index,
            emit=emit.emit,
            count=emit.count,
            t_ns=emit.t_ns,
            interval_ms=interval_ms,
            warmup=request.left_out or emit.emit < skipped,
            excess_ms=None if tail is None else tail.excess_ms,
            cause=None if tail is None else tail.cause,
        )


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
