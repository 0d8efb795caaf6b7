"""The figures that a verdict rests on, as sentences."""

from __future__ import annotations

from statistics import median

from mgtop.analysis.summary import Summary
from mgtop.analysis.wording import ms, of, percent, plural


def rhythm(summary: Summary) -> list[str]:
    """The pace: percentiles, against the time a frame is shown for, and its shifts."""
    interval = summary.interval_ms
    if interval.p50 is None:
        return []
    p50, p95, most = ms(interval.p50), ms(interval.p95), ms(interval.max)
    reasons = [f"Intervals: P50 {p50}, P95 {p95}, max {most} over {interval.count}."]
    if summary.rtf is not None:
        reasons.append(f"A frame takes {percent(summary.rtf)} of the time that it is shown for.")
    if summary.tails.level_shifts:
        shifts = plural(summary.tails.level_shifts, "time")
        reasons.append(f"The pace itself changed {shifts} (a level shift, no stall).")
    return reasons


def tails(summary: Summary) -> list[str]:
    """Late frames: what they cost, by which cause, and where they stand."""
    tails = summary.tails
    reasons = []
    if tails.count:
        of_time = (
            f", {percent(tails.share_of_time)} of all time"
            if tails.share_of_time is not None
            else ""
        )
        reasons.append(f"{plural(tails.count, 'late frame')} lost {ms(tails.lost_ms)}{of_time}.")
    for name, total in sorted(summary.causes.items(), key=lambda item: (-item[1].lost_ms, item[0])):
        reasons.append(f"{name}: {plural(total.frames, 'frame')}, {ms(total.lost_ms)}.")
    placement = tails.placement
    if placement.kind == "fixed" and placement.index is not None:
        reasons.append(f"They stand at the same frame of each request: {placement.index}.")
    elif placement.kind == "periodic" and placement.period is not None:
        reasons.append(f"They come every {placement.period} emits.")
    if tails.coincide.vram_drop:
        reasons.append(f"GPU memory fell in {of(tails.coincide.vram_drop, tails.count, '')}.")
    if tails.coincide.gpu_idle:
        reasons.append(f"The GPU was idle in {of(tails.coincide.gpu_idle, tails.count, '')}.")
    return reasons


def first_frame(summary: Summary) -> list[str]:
    """First-frame latency and its two parts."""
    first = summary.first_frame_ms
    if first.p50 is None:
        return []
    split = ""
    if first.preprocess_p50 is not None and first.sampling_p50 is not None:
        split = f" (preprocessing {ms(first.preprocess_p50)}, sampling {ms(first.sampling_p50)})"
    return [f"First frame: {ms(first.p50)}{split}."]


def memory(summary: Summary) -> list[str]:
    """Peak, growth and retries."""
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
    return reasons


def resources(summary: Summary) -> list[str]:
    """How busy GPU and CPU were."""
    reasons = [
        f"{gpu.uuid}: busy {percent(gpu.busy_share)} of the time."
        for gpu in summary.gpu
        if gpu.busy_share is not None
    ]
    if summary.cpu.process_p50 is not None:
        reasons.append(f"CPU of the program: {summary.cpu.process_p50:.0f} % of a core.")
    return reasons


def spans(summary: Summary) -> list[str]:
    """The three longest spans per emit."""
    time: dict[str, list[float]] = {}
    for request in summary.requests:
        for name, value in request.spans.items():
            time.setdefault(name, []).append(value)
    ranked = sorted(((median(v), name) for name, v in time.items()), reverse=True)[:3]
    if not ranked:
        return []
    return [f"Longest spans per emit: {', '.join(f'{name} {ms(v)}' for v, name in ranked)}."]


def playout(summary: Summary) -> list[str]:
    """The buffer that would have been enough."""
    playout = summary.playout
    if playout.smooth_buffer_ms is None:
        return []
    return [f"A buffer of {ms(playout.smooth_buffer_ms)} would have played without a stop."]
