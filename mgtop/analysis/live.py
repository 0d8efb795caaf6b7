"""The frozen picture of a model that a screen draws. Only ages depend on the time asked for."""

from __future__ import annotations

from typing import Literal

import msgspec

from mgtop.analysis.memory_figures import MemoryPin, StageSpan
from mgtop.analysis.summary import Summary, Tail

State = Literal["waiting", "loading", "warm-up", "steady", "stalled", "ended"]


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Column values of one channel, oldest first; a column is None where there was nothing.

    ``high`` and ``low`` are the extremes inside a column, never interpolated. ``last`` and
    ``age_ns`` are of the newest reading before the window's end (None: never). ``stale``:
    older than three of its own periods.
    """

    name: str
    unit: str
    high: list[float | None]
    low: list[float | None]
    last: float | None = None
    age_ns: int | None = None
    period_ns: int | None = None
    limit: float | None = None
    """The scale's natural top: total memory, 100 %, … None: none."""
    reason: str | None = None
    """Why there is nothing, in one line."""
    stale: bool = False


class TailMark(msgspec.Struct, frozen=True, kw_only=True):
    """A tail on the time axis."""

    t_ns: int
    begin_ns: int
    tail: Tail


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One of several requests that are served at once."""

    key: str
    """Of its curve of intervals."""
    label: str
    """Request; before it the rank or process, where there are several."""
    open: bool
    """False: it has ended, and its lane is free."""
    tails: int
    age_ns: int
    """Since its last frame."""


class Sharer(msgspec.Struct, frozen=True, kw_only=True):
    """A process that is none of the target's, on a GPU."""

    pid: int
    name: str
    user: str
    mib: float | None


class GpuPlace(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: whose it is, and who else is on it, the largest first."""

    gpu: int
    name: str
    mine: bool
    """The target uses it, or it is the only guess."""
    sharers: list[Sharer] = []


class LiveView(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one paint needs."""

    now_ns: int
    start_ns: int
    state: State
    elapsed_ns: int
    last_frame_age_ns: int | None
    """None before the first frame and after the end."""
    slack_ms: float | None
    """Milliseconds of video ahead of the viewer, now."""
    recording: bool
    summary: Summary
    series: dict[str, Series]
    """Keys: ``interval``, ``slack``, ``vram:GPU``, ``vram_process:GPU``, ``gpu:GPU``,
    ``cpu_process``, ``cpu_system``; of memory by the framework, read at each emit,
    ``torch_allocated:GPU``, ``torch_reserved:GPU`` and ``torch_peak:GPU`` (the allocator's own
    peak; GPU below 0 where only its CUDA ordinal is known: −1 − ordinal); of the target's RAM
    ``host_rss``."""
    tails: list[TailMark]
    """Tails whose interval touches the window, oldest first."""
    marks_ns: list[int]
    begin_ns: int
    end_ns: int
    cores: int | None = None
    """Cores of the machine; ``cpu_process`` is in percent of one of them."""
    lanes: list[Lane] = []
    """Of requests that are served at once; empty while there never were two."""
    requests_without_lane: int = 0
    gpus: list[GpuPlace] = []
    """The target's first."""
    stages: list[StageSpan] = []
    """Stages that touch the window, oldest first."""
    pins: list[MemoryPin] = []
    """What happened to memory in the window, oldest first."""
    memory_gpu: int | None = None
    """The GPU that ``summary.memory`` is of: the number in the series' keys."""
