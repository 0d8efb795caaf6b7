"""Which shape memory had over the session, and how long a rise can go on."""

from __future__ import annotations

from typing import NamedTuple

from mgtop.analysis.devices import Device
from mgtop.analysis.memory_figures import Growth, Shape, Source, Stage
from mgtop.analysis.memory_gpu import GpuLog, Peak
from mgtop.analysis.memory_log import MIB, MemoryLog
from mgtop.analysis.memory_points import Trend
from mgtop.wire.records import TorchAllocator

NOTABLE_SHARE = 0.02
NOTABLE_MIB = 16.0
"""A peak stands out from this share of the highest reading and this many MiB on."""
FEWEST_FALLS = 3
SEEN_NS = 30_000_000
"""Memory of the device is read every 20 ms."""


class Left(NamedTuple):
    """How long it can go on rising; None where the limit or the pace is not known."""

    frames: int | None = None
    minutes: float | None = None


def shape_of(
    log: MemoryLog,
    peaks: dict[Stage, Peak],
    source: Source | None,
    mine: GpuLog,
    trend: Trend,
) -> Shape:
    """Which of the shapes memory had, by the first that fits.

    rising: by the test of :mod:`mgtop.analysis.trend`. sawtooth: at least three quick falls of
    device memory in the steady stage, from near the limit, or three allocator retries.
    load_only, first_frame: the peak of that stage stands above the steady one by a notable
    amount. flat: none of these (a cache that has filled up and stays is flat).
    """
    if trend.growth is not None and trend.growth.rising:
        return "rising"
    if mine.falls >= FEWEST_FALLS or (log.framework.retries() or 0) >= FEWEST_FALLS:
        return "sawtooth"
    if source is None or trend.growth is None or "steady" not in peaks:
        return "unknown"
    what = "process" if source == "process" else "reserved"
    steady = getattr(peaks["steady"], what)
    if steady is None:
        return "unknown"
    notable = max(NOTABLE_MIB * MIB, NOTABLE_SHARE * steady[0])
    standing: dict[Shape, int] = {}
    of_stage: tuple[tuple[Stage, Shape], ...] = (
        ("load", "load_only"),
        ("first_frame", "first_frame"),
    )
    for stage, shape in of_stage:
        found = getattr(peaks[stage], what) if stage in peaks else None
        if found is not None and found[0] - steady[0] >= notable:
            standing[shape] = found[0]
    if not standing:
        return "flat"
    return max(standing, key=lambda shape: standing[shape])


def left_of(
    log: MemoryLog,
    gpu: int,
    mine: GpuLog,
    device: Device | None,
    allocator: TorchAllocator | None,
    growth: Growth | None,
) -> Left:
    """Frames and minutes until the nearest limit at this growth.

    Limits: the device is full (what other programs use counts as used; what the allocator
    keeps unused can still be filled), or the program's own cap on its allocator.
    """
    if growth is None or growth.mib_per_frame <= 0:
        return Left()
    # As it was at the last frame: after that the program may have given all back.
    at = mine.points.open
    if at is None:
        return Left()
    rooms: list[float] = []
    held = log.framework.at(gpu, at.t_ns)
    allocated = held.allocated if held is not None else None
    reserved = held.reserved if held is not None else None
    slack = 0
    if growth.of == "allocated" and allocated is not None and reserved is not None:
        slack = max(0, reserved - allocated)
    last = None
    if device is not None:
        last = device.memory.at(at.t_ns + SEEN_NS) or device.memory.last()
    if device is not None and device.total_bytes and last is not None:
        rooms.append(device.total_bytes - last.used_bytes + slack)
    if allocator is not None:
        used = allocated if growth.of == "allocated" else reserved
        cap = allocator.limit_bytes
        if device is None and cap is None:
            cap = allocator.total_bytes  # others' use is not known: at most so many
        if cap is not None and used is not None:
            rooms.append(cap - used)
    return _left(rooms, growth, mine.points.frame_ns())


def _left(rooms: list[float], growth: Growth, frame_ns: float | None) -> Left:
    if not rooms:
        return Left()
    frames = max(0, int(min(rooms) / MIB / growth.mib_per_frame))
    return Left(frames, None if frame_ns is None else frames * frame_ns / 60e9)


def left_of_host(log: MemoryLog, growth: Growth | None) -> Left:
    """Frames and minutes until the machine's memory, or the cgroup's share of it, is full."""
    room = log.host.left_bytes()
    if growth is None or growth.mib_per_frame <= 0 or room is None:
        return Left()
    return _left([room], growth, log.host.points.frame_ns())
