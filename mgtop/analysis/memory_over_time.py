"""Memory on the time axis: stages, and what happened."""

from __future__ import annotations

from mgtop.analysis.memory_figures import MemoryPin, StageSpan
from mgtop.analysis.memory_log import MIB, MemoryLog


def stage_spans(log: MemoryLog, start_ns: int, begin_ns: int, end_ns: int) -> list[StageSpan]:
    """Stages that touch begin … end, oldest first; the last one lasts."""
    turns = [(turn.t_ns, turn.stage, turn.inferred) for turn in log.stages.turns]
    if not turns or turns[0][0] > start_ns:
        guessed = not turns or turns[0][2] or turns[0][1] != "load"
        turns.insert(0, (start_ns, "load", guessed))
    spans: list[StageSpan] = []
    for i, (t_ns, stage, inferred) in enumerate(turns):
        until = turns[i + 1][0] if i + 1 < len(turns) else None
        if t_ns >= end_ns or (until is not None and until <= begin_ns):
            continue
        if spans and spans[-1].stage == stage and spans[-1].inferred == inferred:
            spans[-1] = StageSpan(
                stage=stage, begin_ns=spans[-1].begin_ns, end_ns=until, inferred=inferred
            )
            continue
        spans.append(StageSpan(stage=stage, begin_ns=t_ns, end_ns=until, inferred=inferred))
    return spans


def memory_pins(log: MemoryLog, begin_ns: int, end_ns: int) -> list[MemoryPin]:
    """Errors, retries, spill and segment maps in begin … end, oldest first."""
    pins = [
        MemoryPin(t_ns=oom.t_ns, kind="oom", stage=oom.stage, frame=oom.frame, text=oom.message)
        for oom in log.ooms.all
    ]
    pins += [
        MemoryPin(
            t_ns=mark.t_ns,
            kind="retry",
            stage=mark.stage,
            frame=mark.frame,
            text="the allocator gave its cache back and asked again"
            + (f" ({mark.count} times)" if mark.count > 1 else ""),
        )
        for mark in log.retry_marks
    ]
    pins += [
        MemoryPin(
            t_ns=taken.t_ns,
            kind="segment_map",
            stage=log.stages.at(taken.t_ns),
            frame=taken.index if taken.index >= 0 else None,
            text=taken.error
            or f"segment map: {taken.segments} segments, {(taken.reserved_bytes or 0) // MIB:,} "
            f"MiB, took {taken.duration_ns / 1e6:.0f} ms",
        )
        for taken in log.segment_maps
    ]
    if not log.ooms.all and log.spill.found(0) is not None:
        since_ns = log.spill.since_ns
        pins.append(
            MemoryPin(
                t_ns=since_ns,
                kind="spill",
                stage=log.stages.at(since_ns),
                frame=None,
                text="memory is full and frames are slow: the driver moves it to system memory",
            )
        )
    return sorted(
        (pin for pin in pins if begin_ns <= pin.t_ns < end_ns), key=lambda pin: (pin.t_ns, pin.kind)
    )
