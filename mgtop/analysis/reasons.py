"""The figures that a verdict rests on, as sentences."""

from __future__ import annotations

from statistics import median

from mgtop.analysis.landing import FEW
from mgtop.analysis.reasons_memory import memory as memory
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
    stopped = stopped_ms(summary)
    if stopped is not None:
        reasons.append(
            f"No frame came in the last {ms(stopped)}, and no end of the request: it stood still, "
            "waited for somebody, or was done without saying so."
        )
    return reasons


def stopped_ms(summary: Summary) -> float | None:
    """How long no more frames had come at the end, where they had stopped."""
    stopped = [request.stopped_ms for request in summary.requests if request.stopped_ms is not None]
    return max(stopped, default=None)


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


def failed(summary: Summary) -> str | None:
    """How the program ended badly; None: it has not ended, or ended well."""
    target = summary.target
    if target.exit_signal is not None:
        return f"was ended by signal {target.exit_signal}"
    return f"ended with exit code {target.exit_code}" if target.exit_code else None


def landed(summary: Summary) -> str | None:
    """Why frames that came have no rhythm: by how they left their outputs; None: another reason."""
    for kind in ("undecided", "batch"):
        found = [sink for sink in summary.sinks if sink.landed == kind]
        frames = sum(sink.frames for sink in found)
        if not frames or (kind == "undecided" and frames < FEW):
            continue
        names = ", ".join(sink.name for sink in found[:3])
        if kind == "undecided":
            return (
                f"Whether {plural(frames, 'frame')} left {names} as they were made, or afterwards, "
                "cannot be told from the calls; so there is no rhythm to judge."
            )
        return (
            f"{plural(frames, 'frame')} were written after they were made ({names}): the times "
            "say how fast they were written, not how fast they were made."
        )
    return None


def source_of_frames(summary: Summary) -> str | None:
    """The route that tells of frames; of sinks also which, and how their frames left them."""
    route = summary.target.route
    names = [f"{sink.name}, {sink.landed}" for sink in summary.sinks[:2]]
    if len(summary.sinks) > 2:
        names.append("…")
    return f"{route}: {'; '.join(names)}" if route is not None and names else route
