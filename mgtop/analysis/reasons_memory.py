"""What a verdict on memory rests on, as sentences."""

from __future__ import annotations

from mgtop.analysis.memory_figures import MemorySummary, OomSummary
from mgtop.analysis.memory_text import FEW_FRAMES, until
from mgtop.analysis.summary import Summary

SOON_MINUTES = 24 * 60
"""A rise that meets its limit later than that is told, and does not decide."""
RELEASE = (
    "Find what is kept from frame to frame: append nothing that holds tensors (a list of outputs, "
    "of losses, a cache without a bound), detach and drop what is done with; then measure the "
    "growth per frame again. A smaller resolution only puts it off."
)
_AMOUNTS = {
    "requested": "it asked for {}",
    "allocated": "{} were allocated",
    "reserved": "{} reserved",
    "unallocated": "{} reserved but unallocated",
    "free": "{} free",
    "total": "of {} in all",
    "allowed": "{} allowed",
    "process": "{} in use by the process",
    "others": "{} by other processes",
}


def memory(summary: Summary) -> list[str]:
    """Peak, growth, retries, where the curves differ, and RAM."""
    memory = summary.memory
    reasons = []
    if memory.peak.mib is not None:
        whole = f" of {memory.total_mib:,.0f}" if memory.total_mib is not None else ""
        stage = f" in {memory.peak.stage}" if memory.peak.stage is not None else ""
        whose = "the process's" if memory.peak.source == "process" else "the framework's"
        reasons.append(f"Memory peak: {memory.peak.mib:,.0f}{whole} MiB{stage}, {whose} own.")
    if memory.shape == "rising" and memory.growth_mib_per_frame is not None:
        left = (
            f", {memory.frames_to_limit:,} frames to the limit"
            if memory.frames_to_limit is not None
            else ""
        )
        reasons.append(f"Memory grows by {memory.growth_mib_per_frame:.2f} MiB a frame{left}.")
    if memory.retries:
        reasons.append(f"Allocator retries: {memory.retries}.")
    reasons += [one.text for one in memory.differ if one.kind == "missed"]
    if memory.host.shape == "rising":
        reasons.append(memory.host.text)
    return reasons


def oom(found: OomSummary) -> list[str]:
    """What the program said of an out-of-memory error, and what was in use then."""
    reasons = [f"The program said: {found.message[:160]}"]
    stated = [
        words.format(f"{found.amounts_mib[name]:,.0f} MiB")
        for name, words in _AMOUNTS.items()
        if name in found.amounts_mib
    ]
    if stated:
        reasons.append(f"By its message {', '.join(stated)}.")
    in_use = [
        f"{value:,.0f} MiB {what}"
        for what, value in (
            ("by the process", found.process_mib),
            ("of the whole device", found.device_mib),
            ("allocated", found.allocated_mib),
            ("reserved by the framework", found.reserved_mib),
        )
        if value is not None
    ]
    if in_use:
        reasons.append(f"When it was last read before: {', '.join(in_use)}.")
    return reasons


def spill(memory: MemorySummary) -> str | None:
    """Memory is full, frames are slow, and no error was raised; None: nothing of the kind."""
    if memory.spill is None or memory.ooms:
        return None
    return (
        f"GPU memory is full, and frames take {memory.spill.slower:.1f} times as long as before: "
        "the driver moves it to system memory, without any error."
    )


def runs_out(memory: MemorySummary) -> str | None:
    """That memory rises and will run out within a day; None: it does not, or nobody knows."""
    growth, minutes = memory.growth_mib_per_frame, memory.minutes_to_limit
    if memory.shape == "rising" and growth is not None and memory.frames_to_limit is not None:
        if memory.growth is not None and memory.growth.frames < FEW_FRAMES:
            return None
        if minutes is None or minutes <= SOON_MINUTES:
            left = until(memory.frames_to_limit, minutes).removeprefix("; ")
            return f"GPU memory rises by {growth:.3g} MiB a frame and is not released: {left}."
        return None
    host = memory.host
    if host.shape != "rising" or host.growth is None or host.minutes_to_limit is None:
        return None
    if host.minutes_to_limit > SOON_MINUTES or host.growth.frames < FEW_FRAMES:
        return None
    left = until(host.frames_to_limit, host.minutes_to_limit).removeprefix("; ")
    return (
        f"RAM of the program (no GPU memory) rises by {host.growth.mib_per_frame:.3g} MiB a frame "
        f"and is not released: {left}."
    )
