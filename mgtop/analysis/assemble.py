"""The summary of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from mgtop.analysis.memory import memory_summary
from mgtop.analysis.placement import Place, place
from mgtop.analysis.requests import Request
from mgtop.analysis.resources import cpu_summary, gpu_summaries, losses, observer_summary
from mgtop.analysis.statistics import Samples
from mgtop.analysis.summary import (
    CauseTotal,
    Coincide,
    FirstFrame,
    MarkSummary,
    PlayoutSummary,
    Summary,
    Tail,
    Tails,
)
from mgtop.analysis.totals import Combined
from mgtop.analysis.verdict import decide

if TYPE_CHECKING:
    from mgtop.analysis.model import Model

SYMPTOMS = ("vram_drop", "gpu_idle")


def assemble(model: Model) -> Summary:
    """All figures of a session as its report shows them."""
    traffic = model.traffic
    combined = traffic.combined()
    counted = traffic.counted()
    start_ns = model.about.start_ns
    tails, warmup_tails = _counted_tails(model)
    summary = Summary(
        session=model.about.session(traffic.params()),
        target=model.about.target_info(model.channels.devices, traffic.route),
        environment=model.about.environment(),
        requests=[q.summary(start_ns, traffic.is_warmup(q)) for q in traffic.requests],
        first_frame_ms=_first_frame(counted),
        interval_ms=combined.intervals(),
        interval_ms_by_count=combined.by_size(),
        frame_interval_ms=combined.per_frame(),
        fps=combined.fps(),
        rtf=combined.pace(),
        playout=_worst([request.playout() for request in counted]),
        tails=_tails(counted, combined, tails, warmup_tails),
        causes=_causes([tail for _, tail in tails]),
        memory=memory_summary(model.channels),
        gpu=gpu_summaries(model.channels),
        cpu=cpu_summary(model.channels),
        marks=_marks(model),
        losses=losses(model.channels),
        observer=observer_summary(model.channels),
    )
    return msgspec.structs.replace(summary, verdict=decide(summary, model.settings))


def _counted_tails(model: Model) -> tuple[list[tuple[Request, Tail]], int]:
    """Tails outside the warm-up in the order of time, and how many are inside."""
    counted: list[tuple[Request, Tail]] = []
    warmup = 0
    for request, in_warmup, tail in [*model.tails, *model.open_tails()]:
        if in_warmup or model.traffic.is_warmup(request):
            warmup += 1
        else:
            counted.append((request, tail))
    counted.sort(key=lambda item: item[1].t_ms)
    return counted, warmup


def _tails(
    counted: Sequence[Request],
    combined: Combined,
    tails: Sequence[tuple[Request, Tail]],
    warmup_tails: int,
) -> Tails:
    frames = [tail for _, tail in tails]
    lost_ms = sum(tail.excess_ms for tail in frames)
    all_lost_ms = combined.lost_ns() / 1e6
    time_ms = combined.time_ns() / 1e6
    places = [Place(q.ordinal, tail.emit, tail.index) for q, tail in tails]
    emits = {request.ordinal: request.counted for request in counted}
    return Tails(
        count=len(frames),
        lost_ms=lost_ms,
        # Each tail's excess is beyond the median of its own time, so that the sum can pass the
        # time lost beyond the overall median by a little.
        share_of_lost=min(1.0, lost_ms / all_lost_ms) if all_lost_ms > 0 else None,
        share_of_time=min(1.0, lost_ms / time_ms) if time_ms > 0 else None,
        level_shifts=sum(request.detector.baseline.shifts for request in counted),
        warmup=warmup_tails,
        coincide=Coincide(**{name: _present(name, frames) for name in SYMPTOMS}),
        placement=place(places, emits, warmup_tails),
        frames=frames,
    )


def _present(symptom: str, tails: Sequence[Tail]) -> int | None:
    """Tails that show a symptom; None where no source could tell for any of them."""
    states = [e.state for tail in tails for e in tail.evidence if e.channel == symptom]
    if all(state == "not_resolved" for state in states):
        return None
    return sum(state == "present" for state in states)


def _causes(tails: Sequence[Tail]) -> dict[str, CauseTotal]:
    """Final tails by their main cause, the most time lost first."""
    frames: dict[str, int] = {}
    lost: dict[str, float] = {}
    for tail in tails:
        if tail.cause is not None:
            frames[tail.cause] = frames.get(tail.cause, 0) + 1
            lost[tail.cause] = lost.get(tail.cause, 0.0) + tail.excess_ms
    order = sorted(frames, key=lambda name: (-lost[name], name))
    return {name: CauseTotal(frames=frames[name], lost_ms=lost[name]) for name in order}


def _first_frame(counted: Sequence[Request]) -> FirstFrame:
    latencies = Samples(q.first_frame_ms for q in counted if q.first_frame_ms is not None)
    found = latencies.quantiles()
    return FirstFrame(
        count=found.count,
        p50=found.p50,
        p95=found.p95,
        p99=found.p99,
        max=found.max,
        preprocess_p50=_median(q.preprocess_ms for q in counted),
        sampling_p50=_median(q.sampling_ms for q in counted),
    )


def _median(values: Iterable[float | None]) -> float | None:
    return Samples(v for v in values if v is not None).median()


def _worst(playouts: Sequence[PlayoutSummary]) -> PlayoutSummary:
    """The request whose viewer stood still longest; then, that needed the largest buffer."""
    known = [playout for playout in playouts if playout.smooth_buffer_ms is not None]
    if not known:
        return playouts[0] if playouts else PlayoutSummary()
    return max(known, key=lambda p: (p.stall_ms or 0.0, p.smooth_buffer_ms or 0.0))


def _marks(model: Model) -> list[MarkSummary]:
    marks = []
    for mark in sorted(model.marks, key=lambda mark: (mark.t_ns, mark.text)):
        request = index = None
        newest = -1
        for candidate in model.traffic.requests:
            found = candidate.index_at(mark.t_ns)
            over = candidate.ended_ns is not None and candidate.ended_ns < mark.t_ns
            if found is not None and not over and candidate.begin_ns > newest:
                request, index, newest = candidate.id, found, candidate.begin_ns
        marks.append(
            MarkSummary(
                t_ms=(mark.t_ns - model.about.start_ns) / 1e6,
                request=request,
                index=index,
                note=mark.text,
            )
        )
    return marks
