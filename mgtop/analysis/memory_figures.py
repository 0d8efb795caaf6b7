"""What the analysis says about memory: the structs behind ``memory`` of ``report --json``.

Memory is MiB, times are milliseconds since the session's start; what is not known is None.
Four kinds of reading stand side by side and are never mixed: ``process`` (GPU memory of the
target's processes, by the driver), ``device`` (all of the GPU that is in use, by the driver;
other programs are in it), ``allocated`` and ``reserved`` (GPU memory by the framework's own
allocator), and ``host`` (RAM of the target's processes, which is no GPU memory).
"""

from __future__ import annotations

from typing import Literal

import msgspec

Stage = Literal["load", "idle", "first_frame", "steady"]
Shape = Literal["load_only", "first_frame", "rising", "sawtooth", "flat", "unknown"]
Source = Literal["process", "framework"]
Curve = Literal["process", "allocated", "reserved", "host"]


class Struct(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the figures."""


class StageMemory(Struct, frozen=True, kw_only=True):
    """Peak readings of one stage, each by its own source and at its own time.

    ``t_ms`` is the time of the one that ``peak`` would take from this stage.
    """

    process_mib: float | None = None
    device_mib: float | None = None
    allocated_mib: float | None = None
    reserved_mib: float | None = None
    t_ms: float | None = None
    process_t_ms: float | None = None
    device_t_ms: float | None = None
    allocated_t_ms: float | None = None
    reserved_t_ms: float | None = None
    host_mib: float | None = None
    host_t_ms: float | None = None
    inferred: bool = False
    """No event tells where this stage begins or ends: it was guessed from what could be seen."""


class PeakMemory(Struct, frozen=True, kw_only=True):
    """The highest reading of the session."""

    mib: float | None = None
    stage: Stage | None = None
    t_ms: float | None = None
    source: Source | None = None


class MemoryReading(Struct, frozen=True, kw_only=True):
    """One of the four readings: what was in use at a moment, by each source."""

    t_ms: float | None = None
    process_mib: float | None = None
    allocated_mib: float | None = None
    reserved_mib: float | None = None
    host_mib: float | None = None


class Growth(Struct, frozen=True, kw_only=True):
    """The slope of one curve over steady frames, with its 95 % interval.

    ``rising``: it passed the test for a lasting rise; else the slope is told for what it is.
    ``frames`` of them were looked at, from frame ``since_frame`` of the session on.
    """

    mib_per_frame: float
    low_mib: float
    high_mib: float
    of: Curve
    rising: bool
    since_frame: int
    frames: int


class Filled(Struct, frozen=True, kw_only=True):
    """A rise that has ended, as of a cache or a key-value window that is full now: no leak."""

    mib: float
    by_frame: int
    """Frame of the session by which it stood within 5 % of where it stayed."""
    level_mib: float
    of: Curve


class OomSummary(Struct, frozen=True, kw_only=True):
    """One out-of-memory error, with what was in use when it was last read before."""

    stage: Stage | None
    frame: int | None
    message: str
    t_ms: float | None = None
    request: str | None = None
    amounts_mib: dict[str, float] = {}
    """What the message states: requested, total, free, allocated, reserved, unallocated,
    private_pools, process, allowed, others."""
    process_mib: float | None = None
    device_mib: float | None = None
    allocated_mib: float | None = None
    reserved_mib: float | None = None
    seen: list[str] = []
    """How it was seen: raised, printed, counted."""


class RetryMark(Struct, frozen=True, kw_only=True):
    """The allocator gave its cache back and asked again, between two readings."""

    t_ms: float
    stage: Stage
    frame: int | None
    count: int


class SpillSummary(Struct, frozen=True, kw_only=True):
    """The driver moved GPU memory to system memory, with no error: frames at the limit are slow.

    ``slower``: median interval at the limit over that below it.
    """

    frames: int
    t_ms: float
    slower: float


class CurvesDiffer(Struct, frozen=True, kw_only=True):
    """Where the driver's polled curve and the framework's own disagree by more than 10 %.

    ``missed``: memory stood higher between polls than any poll saw; by ``mib``, in ``stage``.
    ``outside``: the driver counts more than the framework holds; other libraries have it.
    """

    kind: Literal["missed", "outside"]
    stage: Stage
    mib: float
    share: float
    period_ms: float | None = None
    """What polling did."""
    use_ms: float | None = None
    """The interval to use; None: no polling is fast enough, trust the framework's readings."""
    text: str = ""


class SegmentMapSummary(Struct, frozen=True, kw_only=True):
    """A map of the allocator's segments that was taken in the target (key ``s``)."""

    t_ms: float
    request: str | None
    frame: int | None
    took_ms: float
    segments: int | None
    reserved_mib: float | None
    allocated_mib: float | None
    path: str
    """Within the session's folder; there is none where ``error`` says why."""
    error: str = ""


class AllocatorSummary(Struct, frozen=True, kw_only=True):
    """The framework's allocator, as its process tells it."""

    backend: str | None = None
    """``native`` or ``cudaMallocAsync``."""
    expandable: bool | None = None
    settings: str = ""
    limit_mib: float | None = None
    """Where the program capped itself (``set_per_process_memory_fraction``)."""


class GpuMemorySummary(Struct, frozen=True, kw_only=True):
    """Peaks of one GPU that the target uses."""

    gpu: int
    """Its number in the session; below 0: only its CUDA ordinal is known (−1 − ordinal)."""
    uuid: str | None = None
    name: str | None = None
    total_mib: float | None = None
    process_mib: float | None = None
    device_mib: float | None = None
    allocated_mib: float | None = None
    reserved_mib: float | None = None
    others_mib: float | None = None
    """Most that other programs had on it, as far as the driver tells."""
    processes: int = 0
    """Processes of the target that were seen on it."""
    mig: bool = False
    unified: bool = False
    unavailable: dict[str, str] = {}
    """Reading → why it cannot be had here."""


class HostMemorySummary(Struct, frozen=True, kw_only=True):
    """RAM of the target's processes (resident, summed): no GPU memory, and never counted as it."""

    peak_mib: float | None = None
    stage: Stage | None = None
    t_ms: float | None = None
    limit_mib: float | None = None
    """Of its cgroup, else of the machine."""
    shape: Literal["rising", "flat", "unknown"] = "unknown"
    text: str = ""
    growth: Growth | None = None
    frames_to_limit: int | None = None
    minutes_to_limit: float | None = None


class MemorySummary(Struct, frozen=True, kw_only=True):
    """Memory over the session (docs/memory.md), of the GPU that the target fills most."""

    total_mib: float | None = None
    baseline_mib: float | None = None
    resident_mib: float | None = None
    first_frame_mib: float | None = None
    steady_mib: float | None = None
    peak: PeakMemory = PeakMemory()
    stages: dict[str, StageMemory] = {}
    peak_extra_mib: float | None = None
    shape: Shape = "unknown"
    growth_mib_per_frame: float | None = None
    frames_to_limit: int | None = None
    retries: int | None = None
    ooms: list[OomSummary] = []
    text: str = ""
    """The shape in one sentence, with what follows from it."""
    minutes_to_limit: float | None = None
    growth: Growth | None = None
    filled: Filled | None = None
    readings: dict[str, MemoryReading] = {}
    """``before_load``, ``resident``, ``first_frame``, ``steady``: each by every source."""
    differ: list[CurvesDiffer] = []
    retry_marks: list[RetryMark] = []
    """At most the last 100."""
    spill: SpillSummary | None = None
    allocator: AllocatorSummary = AllocatorSummary()
    gpus: list[GpuMemorySummary] = []
    segment_maps: list[SegmentMapSummary] = []
    host: HostMemorySummary = HostMemorySummary()
    unavailable: dict[str, str] = {}
    """Reading → why it cannot be had in this session, in one line."""


class StageSpan(Struct, frozen=True, kw_only=True):
    """A stage on the time axis. ``end_ns`` None: it lasts."""

    stage: Stage
    begin_ns: int
    end_ns: int | None
    inferred: bool = False


class MemoryPin(Struct, frozen=True, kw_only=True):
    """Something that happened to memory, to be pinned to the time axis."""

    t_ns: int
    kind: Literal["oom", "retry", "spill", "segment_map"]
    stage: Stage | None
    frame: int | None
    text: str
