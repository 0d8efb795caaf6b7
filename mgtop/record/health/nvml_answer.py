"""What an examination of NVML found; written by one process and read by another, as JSON."""

from __future__ import annotations

import msgspec


class Gpu(msgspec.Struct, kw_only=True):
    """One GPU, or one MIG instance. None: the driver does not tell."""

    gpu: int
    uuid: str
    name: str
    total_mib: int | None = None
    reserved_mib: int | None = None
    used_mib: int | None = None
    mig: bool = False
    unified: bool = False
    gpm: bool = False
    persistence: bool | None = None
    ordinals: list[int] = []
    """CUDA ordinals that this environment gives it."""
    compute_capability: str | None = None


class ReadingCost(msgspec.Struct, kw_only=True):
    """One figure of one GPU, and what reading it costs here.

    Attributes:
        state: ``ok``; ``nothing``: it answers, but has no value at present; ``absent``: it
            cannot be had; ``lost``: it does not answer at present; ``unused``: it can be
            had, and another reading tells the same for less.
        reason: why it is not ``ok``.
        calls: calls into NVML that one reading makes.
        cost_us: median of ``n`` readings.
        wanted_ms: the period that it would have if it cost nothing.
        period_ms: the period that its cost allows.
        ms_per_s: what it costs at that period.
    """

    name: str
    gpu: int
    state: str
    reason: str | None = None
    calls: float | None = None
    n: int = 0
    cost_us: float | None = None
    wanted_ms: float | None = None
    period_ms: float | None = None
    ms_per_s: float | None = None


class GpuProcess(msgspec.Struct, kw_only=True):
    """A process that the driver lists. ``here``: its pid is one of this pid namespace."""

    gpu: int
    pid: int
    here: bool
    used_mib: int | None = None
    name: str = ""
    user: str = ""


class NvmlAnswer(msgspec.Struct, kw_only=True):
    """All of it. ``reason``: why there is nothing; ``hanging``: the call that never came back.

    ``used_gpu``: the GPU that is read as if the program were on it; the others are at rest.
    """

    reason: str | None = None
    hanging: str | None = None
    driver: str | None = None
    cuda: str | None = None
    init_ms: float | None = None
    used_gpu: int | None = None
    gpus: list[Gpu] = []
    readings: list[ReadingCost] = []
    processes: list[GpuProcess] = []
    ms_per_s: float | None = None
    complete: bool = False
