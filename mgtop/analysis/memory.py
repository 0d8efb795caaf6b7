"""Memory over the session: the part of the summary; docs/memory.md explains it.

Peaks and shape are the process's where the driver tells it, else the framework's, which
``peak.source`` says. Host memory stands apart.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from mgtop.analysis.channels import Channels
from mgtop.analysis.memory_apart import host_summary, of_each_gpu, unavailable
from mgtop.analysis.memory_differ import differences
from mgtop.analysis.memory_figures import (
    AllocatorSummary,
    MemoryReading,
    MemorySummary,
    OomSummary,
    PeakMemory,
    RetryMark,
    SegmentMapSummary,
    Source,
    Stage,
    StageMemory,
)
from mgtop.analysis.memory_gpu import GpuLog, Peak, Reading
from mgtop.analysis.memory_log import MIB, MemoryLog, peaks_of
from mgtop.analysis.memory_ooms import Oom
from mgtop.analysis.memory_points import Trend
from mgtop.analysis.memory_shape import Left, left_of, shape_of
from mgtop.analysis.memory_text import shape_text
from mgtop.wire.records import SegmentMap, pid_of

STAGES: tuple[Stage, ...] = get_args(Stage)
NEAR = 0.99
READINGS = {
    "before_load": ("load_begin",),
    "resident": ("first_request", "load_done"),
    "first_frame": ("first_emit",),
    "steady": ("tenth_emit",),
}
"""The four readings, and the turns at which each is made: the first that happened."""


def memory_summary(channels: Channels) -> MemorySummary:
    """The memory part of the report, of the GPU that the target fills most.

    All None where no GPU memory was read.
    """
    log = channels.memory
    start_ns = channels.start_ns or 0
    gpu = fullest(channels)
    mine = log.gpus[gpu] if gpu is not None else GpuLog()
    peaks = peaks_of(log, mine)
    source = _source(peaks)
    readings = _readings(log, gpu, mine)
    device = channels.devices.by_index.get(gpu) if gpu is not None else None
    total = device.total_bytes if device is not None else None
    allocator = log.framework.allocator(gpu) if gpu is not None else None
    if total is None and allocator is not None and gpu is not None and gpu < 0:
        total = allocator.total_bytes
    trend = mine.points.trend() if source is not None else Trend()
    shape = shape_of(log, peaks, source, mine, trend)
    growth = trend.growth
    left = Left()
    if shape == "rising" and gpu is not None:
        left = left_of(log, gpu, mine, device, allocator, growth)
    baseline = readings["before_load"].value(source)
    if source == "process" and gpu is not None:
        baseline = _baseline(channels, gpu, baseline)
    resident = readings["resident"].value(source) if source == "process" else None
    peak = _peak(peaks, source, start_ns)
    summary = MemorySummary(
        total_mib=_mib(total),
        baseline_mib=_mib(baseline if source == "process" else None),
        resident_mib=_mib(resident),
        first_frame_mib=_mib(readings["first_frame"].value(source)),
        steady_mib=_mib(readings["steady"].value(source)),
        peak=peak,
        stages=_stages(log, peaks, source, start_ns) if gpu is not None else {},
        peak_extra_mib=(
            peak.mib - resident / MIB if peak.mib is not None and resident is not None else None
        ),
        shape=shape,
        growth_mib_per_frame=growth.mib_per_frame if growth is not None else None,
        frames_to_limit=left.frames,
        minutes_to_limit=left.minutes,
        retries=log.framework.retries(),
        ooms=[_oom(oom, start_ns) for oom in log.ooms.all],
        growth=growth,
        filled=trend.filled if shape != "rising" else None,
        readings={name: found.figures(start_ns) for name, found in readings.items() if found},
        differ=differences(channels, gpu, mine, peaks) if gpu is not None else [],
        retry_marks=[
            RetryMark(
                t_ms=(mark.t_ns - start_ns) / 1e6,
                stage=mark.stage,
                frame=mark.frame,
                count=mark.count,
            )
            for mark in log.retry_marks
        ],
        spill=None if log.ooms.all else log.spill.found(start_ns),
        allocator=_allocator(log, gpu),
        gpus=of_each_gpu(channels),
        segment_maps=[_segment_map(log, record, start_ns) for record in log.segment_maps],
        host=host_summary(log, start_ns),
        unavailable=unavailable(channels, gpu),
    )
    return _with_text(summary, mine)


def _with_text(summary: MemorySummary, mine: GpuLog) -> MemorySummary:
    return msgspec.structs.replace(summary, text=shape_text(summary, mine.falls))


class _Found:
    """One of the four readings."""

    def __init__(self, reading: Reading | None, host: int | None) -> None:
        self.reading, self.host = reading, host

    def __bool__(self) -> bool:
        return self.reading is not None or self.host is not None

    def value(self, source: Source | None) -> int | None:
        if self.reading is None:
            return None
        return self.reading.process if source == "process" else self.reading.reserved

    def figures(self, start_ns: int) -> MemoryReading:
        found = self.reading
        return MemoryReading(
            t_ms=None if found is None else (found.t_ns - start_ns) / 1e6,
            process_mib=_mib(found.process if found is not None else None),
            allocated_mib=_mib(found.allocated if found is not None else None),
            reserved_mib=_mib(found.reserved if found is not None else None),
            host_mib=_mib(self.host),
        )


def _readings(log: MemoryLog, gpu: int | None, mine: GpuLog) -> dict[str, _Found]:
    fixed = dict(mine.readings)
    if gpu is not None:
        for t_ns, name in log.waiting_turns():
            fixed[name] = log.in_force(gpu, t_ns)
    return {
        name: _Found(
            next((fixed[turn] for turn in turns if turn in fixed and _says(fixed[turn])), None),
            next((log.host.readings[turn] for turn in turns if turn in log.host.readings), None),
        )
        for name, turns in READINGS.items()
    }


def _says(reading: Reading) -> bool:
    return any(value is not None for value in reading[1:])


def fullest(channels: Channels) -> int | None:
    """The GPU (a key of the memory log) with most in use by the target; device last."""
    mine = {device.gpu for device in channels.devices.of_target()}
    best: tuple[int, float, int] | None = None
    for gpu, log in sorted(channels.memory.gpus.items()):
        peaks = peaks_of(channels.memory, log).values()
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


def _source(peaks: dict[Stage, Peak]) -> Source | None:
    if any(peak.process is not None for peak in peaks.values()):
        return "process"
    if any(peak.reserved is not None for peak in peaks.values()):
        return "framework"
    return None


def of_source(peak: Peak, source: Source | None) -> tuple[int, int] | None:
    """The peak by the source that counts, with its time."""
    if source == "process":
        return peak.process
    return peak.reserved if source == "framework" else None


def _mib(value: int | None) -> float | None:
    return None if value is None else value / MIB


def _stages(
    log: MemoryLog, peaks: dict[Stage, Peak], source: Source | None, start_ns: int
) -> dict[str, StageMemory]:
    host = log.host.by_stage(log.stages.at)
    stages: dict[str, StageMemory] = {}
    for stage in STAGES:
        if stage not in peaks:
            continue
        peak = peaks[stage]
        at = of_source(peak, source) or peak.device or peak.allocated
        ram = host.get(stage)

        def mib(found: tuple[int, int] | None) -> float | None:
            return None if found is None else found[0] / MIB

        def ms(found: tuple[int, int] | None) -> float | None:
            return None if found is None else (found[1] - start_ns) / 1e6

        stages[stage] = StageMemory(
            process_mib=mib(peak.process),
            device_mib=mib(peak.device),
            allocated_mib=mib(peak.allocated),
            reserved_mib=mib(peak.reserved),
            t_ms=ms(at),
            process_t_ms=ms(peak.process),
            device_t_ms=ms(peak.device),
            allocated_t_ms=ms(peak.allocated),
            reserved_t_ms=ms(peak.reserved),
            host_mib=mib(ram),
            host_t_ms=ms(ram),
            inferred=stage in log.stages.inferred,
        )
    return stages


def _peak(peaks: dict[Stage, Peak], source: Source | None, start_ns: int) -> PeakMemory:
    """The highest reading. What is found at rest was reached before: idle is not blamed for it."""
    found: dict[Stage, tuple[int, int]] = {}
    for stage in STAGES:
        reading = of_source(peaks[stage], source) if stage in peaks else None
        if reading is not None:
            found[stage] = reading
    if not found:
        return PeakMemory()
    where = max(found, key=lambda stage: (found[stage][0], stage != "idle"))
    value, t_ns = found[where]
    if where == "idle":
        near = [stage for stage in found if stage != "idle" and found[stage][0] >= NEAR * value]
        where = max(near, key=lambda stage: found[stage][0], default=where)
        t_ns = found[where][1]
    return PeakMemory(mib=value / MIB, stage=where, t_ms=(t_ns - start_ns) / 1e6, source=source)


def _baseline(channels: Channels, gpu: int, reading: int | None) -> int | None:
    """Memory of the target's processes before loading.

    0 is known, not assumed: the device was being read when loading began, and none of the
    target's processes was on it yet, while later one was.
    """
    begin = channels.memory.turns.load_begin_ns
    device = channels.devices.by_index.get(gpu)
    if begin is None or device is None:
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
        return 0
    return reading


def _oom(oom: Oom, start_ns: int) -> OomSummary:
    return OomSummary(
        stage=oom.stage,
        frame=oom.frame,
        message=oom.message,
        t_ms=(oom.t_ns - start_ns) / 1e6,
        request=oom.request,
        amounts_mib={name: value / MIB for name, value in oom.amounts.items()},
        process_mib=_mib(oom.in_use.process),
        device_mib=_mib(oom.in_use.device),
        allocated_mib=_mib(oom.in_use.allocated),
        reserved_mib=_mib(oom.in_use.reserved),
        seen=sorted(oom.seen),
    )


def _allocator(log: MemoryLog, gpu: int | None) -> AllocatorSummary:
    found = log.framework.allocator(gpu) if gpu is not None else None
    if found is None:
        return AllocatorSummary()
    return AllocatorSummary(
        backend=found.backend,
        expandable=found.expandable,
        settings=found.settings,
        limit_mib=_mib(found.limit_bytes),
    )


def _segment_map(log: MemoryLog, record: SegmentMap, start_ns: int) -> SegmentMapSummary:
    return SegmentMapSummary(
        t_ms=(record.t_ns - start_ns) / 1e6,
        request=log.request_id(record.proc, record.request),
        frame=record.index if record.index >= 0 else None,
        took_ms=record.duration_ns / 1e6,
        segments=record.segments,
        reserved_mib=_mib(record.reserved_bytes),
        allocated_mib=_mib(record.allocated_bytes),
        path=f"snapshots/{record.token}/segments-{pid_of(record.proc)}.json",
        error=record.error,
    )
