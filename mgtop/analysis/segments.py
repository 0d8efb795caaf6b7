"""What a map of the allocator's segments says: largest blocks, fragmentation, cost of a reclaim.

A *segment* is a piece of memory that the allocator had from the driver; it is cut into *blocks*.
Free blocks are kept for later. When memory runs short the allocator gives back the segments that
are wholly free (a *reclaim*), waits for the GPU meanwhile, and asks the driver anew.
"""

from __future__ import annotations

from typing import Any

import msgspec

MIB = 1 << 20
SMALL_MS, LARGE_MS = 0.06, 0.8
"""What giving one segment back took on an H200: 118 ms for 1,982 of 20 MiB and 21 ms for 382, but
24 ms for 30 of 2 GiB and 5.3 ms for 7 of 400 MiB."""
SMALL_BYTES, LARGE_BYTES = 32 * MIB, 256 * MIB
"""Up to here the small figure holds, from there the large one; between, either may."""
MOST_LARGEST = 10


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One segment as the target wrote it down; ``blocks``: size, size asked for, state."""

    device: int | None = None
    address: int | None = None
    total: int = 0
    allocated: int = 0
    active: int = 0
    stream: int | None = None
    kind: str | None = None
    pool: Any = None
    expandable: bool = False
    blocks: list[tuple[int, int | None, str | None]] = []


class SegmentFile(msgspec.Struct, frozen=True, kw_only=True):
    """``segments-PID.json`` of a snapshot."""

    schema: int
    token: str = ""
    pid: int = 0
    t_ns: int = 0
    torch: str = ""
    backend: str = ""
    settings: dict[str, Any] = {}
    segments: list[Segment] = []


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block in use, and the segment that it lies in."""

    mib: float
    segment_mib: float
    device: int | None


class DeviceSegments(msgspec.Struct, frozen=True, kw_only=True):
    """The segments of one device, in MiB.

    ``fragmentation`` is the share of free memory that lies outside the largest free block: 0
    where all of it is in one piece. ``stranded_mib`` is free but in segments that also hold
    something in use: no reclaim frees it. ``releasable``: segments that a reclaim would give
    back, ``releasable_mib`` in them, in ``reclaim_low_ms`` to ``reclaim_high_ms``.
    """

    device: int | None
    segments: int
    expandable: int
    reserved_mib: float
    allocated_mib: float
    free_mib: float
    largest_free_mib: float
    fragmentation: float | None
    stranded_mib: float
    releasable: int
    releasable_mib: float
    reclaim_low_ms: float
    reclaim_high_ms: float
    largest: list[Block]
    """Blocks in use, the largest first."""


def read_segments(data: bytes) -> SegmentFile:
    """A file of segments.

    Raises:
        msgspec.DecodeError, msgspec.ValidationError: it is none.
    """
    return msgspec.json.decode(data, type=SegmentFile)


def by_device(found: SegmentFile) -> list[DeviceSegments]:
    """The figures of each device, by its CUDA ordinal."""
    devices: dict[int | None, list[Segment]] = {}
    for segment in found.segments:
        devices.setdefault(segment.device, []).append(segment)
    ordered = sorted(devices, key=lambda device: -1 if device is None else device)
    return [_device(device, devices[device]) for device in ordered]


def _device(device: int | None, segments: list[Segment]) -> DeviceSegments:
    reserved = sum(segment.total for segment in segments)
    allocated = sum(segment.allocated for segment in segments)
    free = [
        size for segment in segments for size, _, state in segment.blocks if state == "inactive"
    ]
    whole = [s for s in segments if not s.allocated and not s.active and not s.expandable]
    stranded = sum(
        size
        for segment in segments
        if segment.allocated or segment.active
        for size, _, state in segment.blocks
        if state == "inactive"
    )
    low, high = _cost_ms(whole)
    in_use = sorted(
        (
            (size, segment.total)
            for segment in segments
            for size, _, state in segment.blocks
            if state == "active_allocated"
        ),
        reverse=True,
    )
    largest_free = max(free, default=0)
    return DeviceSegments(
        device=device,
        segments=len(segments),
        expandable=sum(segment.expandable for segment in segments),
        reserved_mib=reserved / MIB,
        allocated_mib=allocated / MIB,
        free_mib=sum(free) / MIB,
        largest_free_mib=largest_free / MIB,
        fragmentation=1 - largest_free / sum(free) if free else None,
        stranded_mib=stranded / MIB,
        releasable=len(whole),
        releasable_mib=sum(segment.total for segment in whole) / MIB,
        reclaim_low_ms=low,
        reclaim_high_ms=high,
        largest=[
            Block(mib=size / MIB, segment_mib=total / MIB, device=device)
            for size, total in in_use[:MOST_LARGEST]
        ],
    )


def _cost_ms(segments: list[Segment]) -> tuple[float, float]:
    low = high = 0.0
    for segment in segments:
        low += LARGE_MS if segment.total >= LARGE_BYTES else SMALL_MS
        high += SMALL_MS if segment.total <= SMALL_BYTES else LARGE_MS
    return low, high
