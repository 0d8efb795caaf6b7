"""GPU, CPU, the monitor's own cost and what was lost."""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.summary import CpuSummary, GpuSummary, Losses, ObserverSummary
from mgtop.analysis.usage import GpuShares


def gpu_summaries(channels: Channels) -> list[GpuSummary]:
    """One entry per GPU that was read, in NVML order; shares of time while requests ran.

    ``busy_share`` is the mean utilisation, from 0 to 1: the share of the time in which the
    GPU had any work.
    """
    result: list[GpuSummary] = []
    for gpu, device in sorted(channels.devices.by_index.items()):
        sources = channels.usage.gpus.get(gpu, {})
        best: GpuShares | None = None
        for source in ("gpm", "ring", "poll"):
            if source in sources and sources[source].gpu.mean is not None:
                best = sources[source]
                break
        about = device.about
        if best is None:
            if about is not None:
                result.append(GpuSummary(uuid=about.uuid))
            continue
        memory = best.memory.median()
        if memory is None:  # the source that tells utilisation best may not tell memory's
            polled = sources.get("poll")
            memory = polled.memory.median() if polled is not None else None
        mean = best.gpu.mean
        result.append(
            GpuSummary(
                uuid=about.uuid if about is not None else f"GPU {gpu}",
                util_p50=best.gpu.median(),
                util_min=best.gpu.lowest,
                memory_util_p50=memory,
                busy_share=None if mean is None else mean / 100.0,
                period_ms=None if best.period_ns is None else best.period_ns / 1e6,
            )
        )
    return result


def cpu_summary(channels: Channels) -> CpuSummary:
    """CPU of the target's tree and of the machine, while requests ran.

    ``quota_share`` is the median share of the cgroup's quota that the tree used (1: all of
    it); ``runqueue_ms`` what emitting threads waited for a core over the session.
    """
    usage = channels.usage
    quota = usage.quota.median()
    return CpuSummary(
        process_p50=usage.process.median(),
        system_p50=usage.system.median(),
        quota_share=None if quota is None else quota / 100.0,
        runqueue_ms=None if usage.run_delay_ns is None else usage.run_delay_ns / 1e6,
    )


def observer_summary(channels: Channels) -> ObserverSummary:
    """What mgtop itself cost; a rate needs two of the recorder's accounts."""
    usage = channels.usage
    probe_us: float | None = None
    if usage.pulses and usage.frames:
        cost_ns = sum(pulse.cost_ns for pulse in usage.pulses.values())
        probe_us = cost_ns / 1e3 / usage.frames
    cpu = nvml_ms = nvml_calls = None
    if usage.observers is not None:
        first, last = usage.observers
        time = last.t_ns - first.t_ns
        if time > 0:
            cpu = 100.0 * (last.cpu_ns - first.cpu_ns) / time
            if last.nvml_ns is not None:
                nvml_ms = 1e3 * (last.nvml_ns - (first.nvml_ns or 0)) / time
            if last.nvml_calls is not None:
                nvml_calls = 1e9 * (last.nvml_calls - (first.nvml_calls or 0)) / time
    return ObserverSummary(
        cpu_percent=cpu,
        nvml_ms_per_s=nvml_ms,
        nvml_calls_per_s=nvml_calls,
        probe_us_per_frame=probe_us,
    )


def losses(channels: Channels) -> Losses:
    """What did not arrive.

    An event that the probe dropped is also a gap in its sequence; of the two counts of a
    process the larger one counts, since the newest pulse or gap may not be in yet.
    """
    usage = channels.usage
    dropped = 0
    for proc in usage.losses.keys() | usage.pulses.keys():
        gaps, pulse = usage.losses.get(proc), usage.pulses.get(proc)
        dropped += max(
            gaps.dropped if gaps is not None else 0, pulse.dropped if pulse is not None else 0
        )
    missed = usage.observers[1].samples_missed if usage.observers is not None else 0
    return Losses(
        events_dropped=dropped,
        events_malformed=sum(loss.malformed for loss in usage.losses.values()),
        samples_missed=missed,
    )
