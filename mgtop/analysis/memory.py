"""Memory over the session: stages, peaks, shape.

Three kinds of reading stand side by side and are never mixed: memory of the target's
processes (driver), of the whole device (driver; other programs are in it) and of the
framework's allocator. Peaks and shape are the process's where the driver tells it, else
the framework's, which ``peak.source`` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from mgtop.analysis.channels import Channels
from mgtop.analysis.memory_log import MIB, GpuLog, Peak, Point
from mgtop.analysis.summary import (
    MemorySummary,
    OomSummary,
    PeakMemory,
    Stage,
    StageMemory,
)
from mgtop.analysis.trend import rises, slope

FEWEST_POINTS = 24
"""Emits in the steady stage, below which no shape is claimed."""
NOTABLE_SHARE = 0.02
NOTABLE_MIB = 16.0
"""A peak stands out, or a rise counts, from this share of the peak and this many MiB on."""
FEWEST_FALLS = 3

Shape = Literal["load_only", "first_frame", "rising", "sawtooth", "flat", "unknown"]
Source = Literal["process", "framework"]


def memory_summary(channels: Channels) -> MemorySummary:
    """The memory part of the report, of the GPU that the target fills most.

    All None where no GPU memory was read.
    """
    log = channels.memory
    ooms = [OomSummary(stage=o.stage, frame=o.frame, message=o.message) for o in log.ooms]
    gpu = _fullest(channels)
    if gpu is None:
        return MemorySummary(retries=log.retries, ooms=ooms)
    mine = log.gpus[gpu]
    peaks = _peaks(channels, mine)
    source = _source(peaks)
    readings = dict(mine.readings)
    for t_ns, name in log.waiting_turns():
        readings[name] = log.in_force(gpu, t_ns)

    def reading(*names: str) -> float | None:
        for name in names:
            found = readings.get(name)
            if found is not None:
                value = found[0] if source == "process" else found[1]
                if value is not None:
                    return value / MIB
        return None

    device = channels.devices.by_index.get(gpu)
    total = device.total_bytes / MIB if device is not None and device.total_bytes else None
    peak = _peak(channels, peaks, source)
    resident = reading("first_request", "load_done") if source == "process" else None
    points = mine.points()
    growth = _growth(points, source)
    shape = _shape(channels, peaks, source, points, mine.falls)
    to_limit = _frames_to_limit(channels, gpu, total, growth)
    return MemorySummary(
        total_mib=total,
        baseline_mib=_baseline(channels, gpu, source, reading("load_begin")),
        resident_mib=resident,
        first_frame_mib=reading("first_emit"),
        steady_mib=reading("tenth_emit"),
        peak=peak,
        stages={stage: _stage(channels, peaks[stage], source) for stage in _in_order(peaks)},
        peak_extra_mib=(
            peak.mib - resident if peak.mib is not None and resident is not None else None
        ),
        shape=shape,
        growth_mib_per_frame=growth,
        frames_to_limit=to_limit if shape == "rising" else None,
        retries=log.retries,
        ooms=ooms,
    )


def _fullest(channels: Channels) -> int | None:
    """The GPU (a key of the memory log) with most in use by the target; device last."""
    mine = {device.gpu for device in channels.devices.of_target()}
    best: tuple[int, float, int] | None = None
    for gpu, log in sorted(channels.memory.gpus.items()):
        peaks = _peaks(channels, log).values()
        known = 0
        value = 0.0
        for rank, what in ((3, "process"), (2, "reserved"), (1, "device")):
            found = [getattr(peak, what)[0] for peak in peaks if getattr(peak, what) is not None]
            if found:
                known, value = rank, max(found)
                break
        if known == 1 and gpu not in mine:
            continue
        if known and (best is None or (known, value) > best[:2]):
            best = (known, value, gpu)
    return best[2] if best is not None else None


def _peaks(channels: Channels, log: GpuLog) -> dict[Stage, Peak]:
    """Peaks by stage, with the readings that still wait for their stage."""
    if not log.pending:
        return log.peaks
    copy = GpuLog()
    copy.peaks = {stage: peak.copy() for stage, peak in log.peaks.items()}
    for sample in log.pending:
        copy.note(channels.memory.stages.at(sample.t_ns), sample)
    return copy.peaks


def _source(peaks: dict[Stage, Peak]) -> Source | None:
    if any(peak.process is not None for peak in peaks.values()):
        return "process"
    if any(peak.reserved is not None for peak in peaks.values()):
        return "framework"
    return None


def _of(peak: Peak, source: Source | None) -> tuple[int, int] | None:
    if source == "process":
        return peak.process
    return peak.reserved if source == "framework" else None


def _in_order(peaks: dict[Stage, Peak]) -> list[Stage]:
    order: tuple[Stage, ...] = get_args(Stage)
    return [stage for stage in order if stage in peaks]


def _mib(found: tuple[int, int] | None) -> float | None:
    return None if found is None else found[0] / MIB


def _ms(channels: Channels, t_ns: int) -> float:
    return (t_ns - (channels.start_ns or 0)) / 1e6


def _stage(channels: Channels, peak: Peak, source: Source | None) -> StageMemory:
    at = _of(peak, source) or peak.device or peak.allocated
    return StageMemory(
        process_mib=_mib(peak.process),
        device_mib=_mib(peak.device),
        allocated_mib=_mib(peak.allocated),
        reserved_mib=_mib(peak.reserved),
        t_ms=None if at is None else _ms(channels, at[1]),
    )


def _peak(channels: Channels, peaks: dict[Stage, Peak], source: Source | None) -> PeakMemory:
    best: tuple[int, int, Stage] | None = None
    for stage in _in_order(peaks):
        found = _of(peaks[stage], source)
        if found is not None and (best is None or found[0] > best[0]):
            best = (*found, stage)
    if best is None:
        return PeakMemory()
    value, t_ns, where = best
    return PeakMemory(mib=value / MIB, stage=where, t_ms=_ms(channels, t_ns), source=source)


def _baseline(
    channels: Channels, gpu: int, source: Source | None, reading: float | None
) -> float | None:
    """Memory of the target's processes before loading.

    0 is known, not assumed: the device was being read when loading began, and none of the
    target's processes was on it yet, while later one was.
    """
    begin = channels.memory.turns.load_begin_ns
    if source != "process" or begin is None:
        return None
    device = channels.devices.by_index.get(gpu)
    if device is None:
        return None
    first: int | None = None
    for log in device.processes.values():
        if device.of_target(log):
            if log.forgotten:
                return reading
            for record in log:
                first = record.t_ns if first is None else min(first, record.t_ns)
                break
    watched = device.memory.at(begin) is not None or device.memory.forgotten > 0
    if first is not None and first > begin and watched:
        return 0.0
    return reading


def _values(points: Sequence[Point], source: Source | None) -> list[tuple[int, int]]:
    """(frames, bytes) at emits: the allocator's, which changes with each tensor, if known."""
    held = [(p.frames, p.reserved) for p in points if p.reserved is not None]
    if source == "process":
        driver = [(p.frames, p.process) for p in points if p.process is not None]
        return driver if len(driver) >= FEWEST_POINTS else held
    return held


def _growth(points: Sequence[Point], source: Source | None) -> float | None:
    values = _values(points, source)
    if len(values) < FEWEST_POINTS:
        return None
    per_frame = slope([(float(frames), float(value)) for frames, value in values])
    return None if per_frame is None else per_frame / MIB


def _shape(
    channels: Channels,
    peaks: dict[Stage, Peak],
    source: Source | None,
    points: Sequence[Point],
    falls: int,
) -> Shape:
    """Which of the shapes memory had, by the first that fits.

    sawtooth: at least three quick falls of device memory in the steady stage, from 80 % of
    the memory threshold on, or three allocator retries. rising: significant by Mann-Kendall
    in the whole steady stage and in its last half (a cache that fills up and then stays is
    no leak), and by a notable amount. load_only, first_frame: the peak of that stage stands
    above the steady one by a notable amount. flat: none of these.
    """
    if falls >= FEWEST_FALLS or (channels.memory.retries or 0) >= FEWEST_FALLS:
        return "sawtooth"
    values = [value for _, value in _values(points, source)]
    if source is None or len(values) < FEWEST_POINTS or "steady" not in peaks:
        return "unknown"
    highest = max(values)
    notable = max(NOTABLE_MIB * MIB, NOTABLE_SHARE * highest)
    half = values[len(values) // 2 :]
    if (
        rises([float(v) for v in values])
        and rises([float(v) for v in half])
        and half[-1] - values[0] >= min(notable, 64 * MIB)
    ):
        return "rising"
    steady = _of(peaks["steady"], source)
    if steady is None:
        return "unknown"
    standing: dict[Stage, int] = {}
    for stage in ("load", "first_frame"):
        found = _of(peaks[stage], source) if stage in peaks else None
        if found is not None and found[0] - steady[0] >= notable:
            standing[stage] = found[0]
    if not standing:
        return "flat"
    where = max(standing, key=lambda stage: standing[stage])
    return "load_only" if where == "load" else "first_frame"


def _frames_to_limit(
    channels: Channels, gpu: int, total: float | None, growth: float | None
) -> int | None:
    """Frames until the device is full at this growth; other programs' memory counts as used."""
    device = channels.devices.by_index.get(gpu)
    if device is None or total is None or growth is None or growth <= 0:
        return None
    last = device.memory.last()
    if last is None:
        return None
    return max(0, int((total - last.used_bytes / MIB) / growth))
