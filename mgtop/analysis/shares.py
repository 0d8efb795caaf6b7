"""The shares of time and memory that the verdict's rules compare with their thresholds."""

from __future__ import annotations

from statistics import median

from mgtop.analysis.spans import role_of
from mgtop.analysis.summary import Summary
from mgtop.config.structs import Thresholds

SLOWER = 1.02
"""Slower than the target by more than the clock's and the pace's own scatter."""


def too_slow(summary: Summary) -> bool:
    """Whether frames take longer to make than they are shown for; False if not known."""
    if summary.rtf is not None:
        return summary.rtf > SLOWER
    return summary.playout.keeps_up is False


def gpu_idles(summary: Summary, thresholds: Thresholds) -> bool:
    """Whether every GPU that was read had no work for a large share of the time."""
    busy = [gpu.busy_share for gpu in summary.gpu if gpu.busy_share is not None]
    return bool(busy) and max(busy) < 1.0 - thresholds.idle_share


def of_supply(summary: Summary, thresholds: Thresholds) -> float | None:
    """Supply's share of the median interval, if large; None where a GPU tells more."""
    interval = summary.interval_ms.p50
    if any(gpu.busy_share is not None for gpu in summary.gpu) or not interval:
        return None
    sums = [
        sum(value for name, value in request.spans.items() if role_of(name) == "supply")
        for request in summary.requests
        if request.spans
    ]
    share = median(sums) / interval if sums else 0.0
    return min(share, 1.0) if share >= thresholds.supply_share else None


def of_memory(summary: Summary) -> float | None:
    """The peak as a share of the card; what all programs use together counts for the limit."""
    memory = summary.memory
    used = [stage.device_mib for stage in memory.stages.values() if stage.device_mib is not None]
    if memory.peak.mib is not None:
        used.append(memory.peak.mib)
    return max(used) / memory.total_mib if used and memory.total_mib else None
