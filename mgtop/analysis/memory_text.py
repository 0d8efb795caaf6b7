"""The shape of memory as a sentence, with what follows from it."""

from __future__ import annotations

from mgtop.analysis.memory_figures import Growth, MemorySummary

FEW_FRAMES = 100
"""A rise over fewer may be a cache or window that fills."""


def shape_text(memory: MemorySummary, falls: int) -> str:
    """One or two sentences; empty where nothing is known."""
    shape = memory.shape
    growth = memory.growth
    if shape == "rising" and growth is not None:
        return _rising(memory, growth)
    if shape == "sawtooth":
        seen = f"{falls} quick falls" if falls >= (memory.retries or 0) else ""
        seen = seen or f"{memory.retries} retries of the allocator"
        return (
            f"Sawtooth near the limit ({seen}): allocation and reclaim are the first suspects "
            "for stalls; each late frame says whether it was one."
        )
    if shape == "load_only":
        return (
            f"The peak ({_peak(memory)}) is in loading; frames need less. Buffers of loading, no "
            "matter of streaming."
        )
    if shape == "first_frame":
        return (
            f"The peak ({_peak(memory)}) is at the first frame, then lower: caches and "
            "preallocation. Warm up with one request rather than shrink."
        )
    if shape == "flat":
        return _flat(memory)
    if memory.peak.mib is None:
        return ""
    return "Too few steady frames to say which shape memory has."


def _rising(memory: MemorySummary, growth: Growth) -> str:
    whose = {
        "allocated": "tensors (a leak, or a growing state cache)",
        "reserved": "what the allocator keeps (fragmentation: freed, not given back)",
        "process": "memory of the process, in or beside its framework",
        "host": "memory of the process",
    }[growth.of]
    if growth.of == "process" and memory.allocator.backend is not None:
        whose = "memory outside its tensors (fragmentation, or other libraries)"
    left = until(memory.frames_to_limit, memory.minutes_to_limit)
    if growth.frames < FEW_FRAMES:
        return (
            f"Rises by {rate(growth)} since frame {growth.since_frame:,}, so far{left}. A leak, or "
            f"a cache that is not full yet: {growth.frames:,} frames are too few to tell."
        )
    return (
        f"Rises by {rate(growth)} since frame {growth.since_frame:,}{left}. Not released between "
        f"frames: {whose}. The one to fix first."
    )


def _flat(memory: MemorySummary) -> str:
    filled = memory.filled
    if filled is not None:
        return (
            f"Rose by {filled.mib:,.0f} MiB until frame {filled.by_frame:,}, then stayed: a cache "
            f"or key-value window that is full now, no leak. Peak {_peak(memory)}."
        )
    return (
        f"Flat over steady frames: {_peak(memory)} is the true peak; choose the resolution by it."
    )


def host_text(growth: Growth | None, frames: int | None, minutes: float | None) -> str:
    """RAM in a sentence; empty where nothing is known."""
    if growth is None:
        return ""
    if not growth.rising:
        return "RAM of the program is flat over steady frames."
    return (
        f"RAM of the program rises by {rate(growth)} since frame {growth.since_frame:,}"
        f"{until(frames, minutes)}."
    )


def rate(growth: Growth) -> str:
    """The growth with its interval."""
    return (
        f"{growth.mib_per_frame:.3g} MiB a frame "
        f"(95 %: {growth.low_mib:.3g} to {growth.high_mib:.3g})"
    )


def until(frames: int | None, minutes: float | None) -> str:
    """How long it can go on, as the end of a sentence."""
    if frames is None:
        return ""
    if minutes is None:
        return f"; {frames:,} frames to the limit"
    time = f"{minutes:.0f} min" if minutes >= 2 else f"{60 * minutes:.0f} s"
    if minutes >= 120:
        time = f"{minutes / 60:.0f} h"
    return f"; {frames:,} frames or {time} to the limit"


def _peak(memory: MemorySummary) -> str:
    peak = memory.peak
    return "n/a" if peak.mib is None else f"{peak.mib:,.0f} MiB"
