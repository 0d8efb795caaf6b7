"""What stands beside the main figures: each GPU by itself, RAM, and what cannot be had."""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.memory_figures import GpuMemorySummary, HostMemorySummary, Stage
from mgtop.analysis.memory_framework import ASYNC
from mgtop.analysis.memory_gpu import GpuLog
from mgtop.analysis.memory_log import MIB, MemoryLog, peaks_of
from mgtop.analysis.memory_shape import Left, left_of_host
from mgtop.analysis.memory_text import host_text

NOT_TOLD = "the driver does not tell the memory of single processes here"
UNIFIED = (
    "this GPU shares the machine's memory: the driver tells no memory of its own, and what is "
    "in use is the whole machine's"
)
NO_RETRIES = f"{ASYNC} does not count retries: the driver's own pool gives memory back"
NO_SEGMENTS = f"{ASYNC} keeps no segments of its own"


def host_summary(log: MemoryLog, start_ns: int) -> HostMemorySummary:
    """RAM of the target's processes, all None where it was not read."""
    host = log.host
    peaks = host.by_stage(log.stages.at)
    if not peaks:
        return HostMemorySummary()
    stage: Stage = max(peaks, key=lambda each: peaks[each][0])
    used, t_ns = peaks[stage]
    growth = host.points.trend(("host",)).growth
    rising = growth is not None and growth.rising
    left = left_of_host(log, growth) if rising else Left()
    limit = host.limit_bytes()
    return HostMemorySummary(
        peak_mib=used / MIB,
        stage=stage,
        t_ms=(t_ns - start_ns) / 1e6,
        limit_mib=None if limit is None else limit / MIB,
        shape="unknown" if growth is None else "rising" if rising else "flat",
        text=host_text(growth, left.frames, left.minutes),
        growth=growth,
        frames_to_limit=left.frames,
        minutes_to_limit=left.minutes,
    )


def of_each_gpu(channels: Channels) -> list[GpuMemorySummary]:
    """Every GPU that the target uses, or that its framework told of."""
    devices = channels.devices
    gpus = {device.gpu for device in devices.of_target()} | set(channels.memory.gpus)
    found = []
    for gpu in sorted(gpus, key=lambda gpu: (gpu < 0, abs(gpu))):
        device, log = devices.by_index.get(gpu), channels.memory.gpus.get(gpu)
        if device is not None and not device.is_target and not _framework(log):
            continue
        found.append(_one(channels, gpu, device, log or GpuLog()))
    return found


def _framework(log: GpuLog | None) -> bool:
    return log is not None and "reserved" in log.in_use


def _one(channels: Channels, gpu: int, device: Device | None, log: GpuLog) -> GpuMemorySummary:
    peaks = peaks_of(channels.memory, log).values()

    def highest(what: str) -> float | None:
        found = [getattr(peak, what)[0] for peak in peaks if getattr(peak, what) is not None]
        return max(found) / MIB if found else None

    about = device.about if device is not None else None
    allocator = channels.memory.framework.allocator(gpu)
    total = about.total_bytes if about is not None else None
    if total is None and device is None and allocator is not None:
        total = allocator.total_bytes
    mine = [] if device is None else [p for p in device.processes.values() if device.of_target(p)]
    return GpuMemorySummary(
        gpu=gpu,
        uuid=about.uuid if about is not None else None,
        name=about.name if about is not None else None,
        total_mib=None if total is None else total / MIB,
        process_mib=highest("process"),
        device_mib=highest("device"),
        allocated_mib=highest("allocated"),
        reserved_mib=highest("reserved"),
        others_mib=None if log.others_peak is None else log.others_peak / MIB,
        processes=len(mine),
        mig=about.mig if about is not None else False,
        unified=about.unified if about is not None else False,
        unavailable=_unavailable(channels, gpu, device, log),
    )


def unavailable(channels: Channels, gpu: int | None) -> dict[str, str]:
    """What cannot be had of the GPU that the summary is of, and why."""
    if gpu is None:
        reason = channels.sources.reason("nvml") or "no GPU's memory was read"
        return {"process": reason, "device": reason}
    log = channels.memory.gpus.get(gpu) or GpuLog()
    return _unavailable(channels, gpu, channels.devices.by_index.get(gpu), log)


def _unavailable(
    channels: Channels, gpu: int, device: Device | None, log: GpuLog
) -> dict[str, str]:
    reasons: dict[str, str] = {}
    about = device.about if device is not None else None
    if about is not None and about.unified:
        reasons["device"] = UNIFIED
    if "process" not in log.in_use:
        reasons["process"] = _why_no_process(channels, gpu, device)
    if "device" not in log.in_use and "device" not in reasons:
        reasons["device"] = channels.sources.reason("nvml") or "the driver was not asked"
    if "reserved" not in log.in_use:
        reasons["framework"] = (
            "no probe in the program told of torch's allocator: use the probe, or run it with "
            "mgtop run"
        )
    allocator = channels.memory.framework.allocator(gpu)
    if allocator is not None and allocator.backend == ASYNC:
        reasons["retries"] = NO_RETRIES
        reasons["segments"] = NO_SEGMENTS
    return reasons


def _why_no_process(channels: Channels, gpu: int, device: Device | None) -> str:
    if device is None:
        return channels.sources.reason("nvml") or "the driver was not asked"
    about = device.about
    if about is not None and about.unified:
        return UNIFIED
    if any(device.of_target(log) for log in device.processes.values()):
        return NOT_TOLD + (" (on a MIG instance)" if about is not None and about.mig else "")
    reason = channels.sources.reason(f"nvml.processes:{gpu}")
    return reason or "none of the program's processes was seen on this GPU"
