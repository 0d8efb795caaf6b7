"""Symptoms of a long-tail frame: flagged and counted, never its cause.

A fall of GPU memory or an idle GPU says that something happened, not what.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.evidence import Finding, TailWindow, matters, strongest
from mgtop.analysis.memory_log import MIB, QUICK_NS
from mgtop.analysis.summary import EvidenceState
from mgtop.wire.records import GpuMemory, GpuUtilisation

COARSEST_NS = 50_000_000
"""Memory read less often than 20 times a second cannot show a quick fall."""
BUSY_PERCENT = 95.0
"""From this utilisation on a reading says that the GPU was never idle for long."""


def vram_drop(window: TailWindow, channels: Channels) -> Finding:
    """Memory of a device fell quickly, by max(64 MiB, 0.5 % of its total) as configured.

    Looked for in the interval widened by one period of the source on both sides; quickly
    means within 250 ms. The value is the fall in MiB.
    """
    found = [_drop(window, channels, device) for device in channels.devices.of_target()]
    return strongest(f for f in found if f is not None) or Finding(state="not_resolved")


def _drop(window: TailWindow, channels: Channels, device: Device) -> Finding | None:
    readings = device.memory
    if not len(readings):
        return None
    period = memory_period_ns(channels, device)
    if period is None:
        return Finding(state="not_resolved", source="nvml memory")
    begin, end = window.begin_ns - period, window.end_ns + period
    before = readings.at(begin)
    inside = readings.between(begin, end)
    fall, began_ns = _largest_fall([*([before] if before is not None else []), *inside])
    thresholds = channels.settings.thresholds
    least = max(
        thresholds.vram_drop_mib * MIB, thresholds.vram_drop_share * (device.total_bytes or 0)
    )
    if fall >= least:
        return Finding(
            state="present",
            value=fall / MIB,
            unit="MiB",
            source="nvml memory",
            period_ns=period,
            began_ns=began_ns,
        )
    silent = (
        channels.sources.silent_in("nvml", begin, end) is not None
        or before is None
        or not _is_covered(channels, end - period)
    )
    coarse = period > COARSEST_NS
    return Finding(
        state="not_resolved" if silent or coarse else "absent",
        value=fall / MIB,
        unit="MiB",
        source="nvml memory",
        period_ns=period,
    )


def memory_period_ns(channels: Channels, device: Device) -> int | None:
    """How often the device's memory is read: by the source's word, else by its readings."""
    state = channels.sources.last("nvml")
    if state is not None and state.period_ns is not None:
        return state.period_ns
    times = [reading.t_ns for reading in device.memory.since(0)[-64:]]
    steps = sorted(b - a for a, b in pairwise(times) if b > a)
    return steps[len(steps) // 2] if steps else None


def _is_covered(channels: Channels, t_ns: int) -> bool:
    """Whether readings are in up to a time; a source without heartbeats is taken to be."""
    state = channels.sources.last("nvml")
    if state is None:
        return True
    return channels.covered_ns().get("nvml", -1) >= t_ns


def _largest_fall(readings: Sequence[GpuMemory]) -> tuple[int, int | None]:
    """The largest fall within :data:`QUICK_NS`, in bytes, and when it was first seen.

    A reading holds until the next one, so a fall begins where the high one's hold ends.
    """
    most, began_ns = 0, None
    highs: deque[tuple[int, int]] = deque()
    for i, low in enumerate(readings):
        while highs and highs[0][1] < low.t_ns - QUICK_NS:
            highs.popleft()
        if highs and highs[0][0] - low.used_bytes > most:
            most, began_ns = highs[0][0] - low.used_bytes, highs[0][1]
        while highs and highs[-1][0] <= low.used_bytes:
            highs.pop()
        if i + 1 < len(readings):
            highs.append((low.used_bytes, readings[i + 1].t_ns))
    return most, began_ns


def gpu_idle(window: TailWindow, channels: Channels) -> Finding:
    """The GPU had no work for part of the interval. The value is that part in ms.

    By CUDA events in the process where it sends them: gaps on the GPU's own time line,
    beyond what is usual; a lower bound, since idle time inside a span is not seen. Else by
    NVML's utilisation, where the interval is longer than its period.
    """
    profile = channels.profile(window)
    gap = profile.get("gpu_gap")
    if gap is not None:
        beyond = profile.beyond("gpu_gap")
        state: EvidenceState = "absent"
        if beyond is None:
            state = "not_resolved"
        elif matters(beyond, window):
            state = "present"
        return Finding(state=state, value=gap / 1e6, unit="ms", source="CUDA events")
    idle_below = 100.0 * (1.0 - channels.settings.thresholds.idle_share)
    found = [_idle_by_nvml(window, device, idle_below) for device in channels.devices.of_target()]
    return strongest(f for f in found if f is not None) or Finding(state="not_resolved")


def _idle_by_nvml(window: TailWindow, device: Device, idle_below: float) -> Finding | None:
    log = device.best_utilisation()
    last = log.last() if log is not None else None
    if log is None or last is None:
        return None
    around = log.between(window.begin_ns, window.end_ns + 2 * last.period_ns)
    inside = [reading for reading in around if _lies_inside(reading, window)]
    period = around[0].period_ns if around else last.period_ns
    source = f"nvml utilisation ({last.source})"
    if not inside:
        return Finding(state="not_resolved", source=source, period_ns=period)
    idle = [reading for reading in inside if reading.percent < idle_below]
    idle_ns = sum((100.0 - reading.percent) / 100.0 * reading.period_ns for reading in inside)
    told_ns = sum(reading.period_ns for reading in inside)
    state: EvidenceState = "not_resolved"
    if idle:
        state = "present"
    elif (
        min(reading.percent for reading in inside) >= BUSY_PERCENT
        and 2 * told_ns >= window.end_ns - window.begin_ns
    ):
        state = "absent"
    return Finding(
        state=state,
        value=idle_ns / 1e6,
        unit="ms",
        source=source,
        period_ns=period,
        began_ns=idle[0].t_ns - idle[0].period_ns if idle else None,
    )


def _lies_inside(reading: GpuUtilisation, window: TailWindow) -> bool:
    """Whether all that a reading may speak of lies in the interval.

    A polled value is up to a period old and tells of the period before that.
    """
    reach = 2 * reading.period_ns if reading.source == "poll" else reading.period_ns
    return reading.t_ns - reach >= window.begin_ns and reading.t_ns <= window.end_ns


SYMPTOMS: tuple[tuple[str, Callable[[TailWindow, Channels], Finding]], ...] = (
    ("vram_drop", vram_drop),
    ("gpu_idle", gpu_idle),
)
