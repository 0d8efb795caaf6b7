"""Where the driver's polled curve and the framework's own disagree, and what to do about it."""

from __future__ import annotations

from statistics import median

from mgtop.analysis.channels import Channels
from mgtop.analysis.memory_figures import CurvesDiffer, Stage
from mgtop.analysis.memory_gpu import GpuLog, Peak
from mgtop.analysis.memory_log import MIB

SHARE = 0.10
FASTEST_MS = 50.0
"""Process memory is polled at 10 to 20 Hz as a rule: its call can be dear."""
STAGES: tuple[Stage, ...] = ("load", "first_frame", "steady")
ORDER: tuple[Stage, ...] = ("load", "idle", "first_frame", "steady")


def differences(
    channels: Channels, gpu: int, mine: GpuLog, peaks: dict[Stage, Peak]
) -> list[CurvesDiffer]:
    """Disagreements of more than 10 %, none where only one of the two curves is known.

    What the driver counts beyond what the framework holds (its context, code, libraries) is
    the same nearly all the time: the least of it, where both are known, is added to the
    framework's peak of each stage before that is compared with the highest that polling saw.
    """
    both = [
        (point.process, point.reserved)
        for point in mine.points.all()
        if point.process is not None and point.reserved is not None
    ]
    outside = median(process - reserved for process, reserved in both) if both else None
    least = min((process - reserved for process, reserved in both), default=0)
    for reading in mine.readings.values():
        if reading.process is not None and reading.reserved is not None:
            least = min(least, reading.process - reading.reserved)
    period = channels.sources.last(f"nvml.processes:{gpu}")
    period_ms = period.period_ns / 1e6 if period is not None and period.period_ns else None
    found: list[CurvesDiffer] = []
    for stage in STAGES:
        peak = peaks.get(stage)
        if peak is None or peak.process is None or peak.reserved is None:
            continue
        held = peak.reserved[0] + max(0, least)
        missed = held - _polled(peaks, stage, peak.process[0], peak.reserved[0])
        if missed > SHARE * held:
            found.append(_missed(channels, mine, stage, missed, missed / held, period_ms))
    if outside is not None:
        whole = median(process for process, _ in both)
        if whole and outside > SHARE * whole:
            found.append(
                CurvesDiffer(
                    kind="outside",
                    stage="steady",
                    mib=outside / MIB,
                    share=outside / whole,
                    text=f"The driver counts {outside / MIB:,.0f} MiB "
                    f"({100 * outside / whole:.0f} %) more for the program than its framework "
                    "holds: CUDA's context, code and libraries, which no setting of the "
                    "allocator changes.",
                )
            )
    return found


def _polled(peaks: dict[Stage, Peak], stage: Stage, process: int, reserved: int) -> int:
    """The highest that polling saw of what was reserved in a stage.

    What was reserved at its end and stayed is seen by the first poll after it.
    """
    after = ORDER[ORDER.index(stage) + 1 :]
    following = next((peaks[each] for each in after if each in peaks), None)
    if following is None or following.process is None or following.reserved is None:
        return process
    stayed = following.reserved[0] >= (1 - SHARE) * reserved
    return max(process, following.process[0]) if stayed else process


def _missed(
    channels: Channels,
    mine: GpuLog,
    stage: Stage,
    missed: float,
    share: float,
    period_ms: float | None,
) -> CurvesDiffer:
    emit_ns = mine.points.emit_ns()
    use_ms: float | None = None
    advice = "the framework's own readings at each emit are the ones to trust."
    if emit_ns is not None:
        # Two polls for each emit see whatever lasts for half of it.
        wanted = emit_ns / 2e6
        if wanted >= FASTEST_MS and (period_ms is None or wanted < period_ms):
            use_ms = 10.0 * int(wanted / 10.0)
            advice = f"poll process memory every {use_ms:.0f} ms to see them."
        else:
            advice = (
                f"emits come every {emit_ns / 1e6:.0f} ms, which no polling of process memory "
                f"resolves ({FASTEST_MS:.0f} ms at best): {advice}"
            )
    polled = "Polling" if period_ms is None else f"Polling every {period_ms:.0f} ms"
    return CurvesDiffer(
        kind="missed",
        stage=stage,
        mib=missed / MIB,
        share=share,
        period_ms=period_ms,
        use_ms=use_ms,
        text=f"{polled} missed {missed / MIB:,.0f} MiB ({100 * share:.0f} %) of the peak in "
        f"{stage}, which the framework saw; {advice}",
    )
