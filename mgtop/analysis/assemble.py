"""The summary of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from mgtop.analysis.judged import Counted, insort_tail
from mgtop.analysis.log_gaps import log_gaps
from mgtop.analysis.memory import memory_summary
from mgtop.analysis.outputs import FROM_SINKS
from mgtop.analysis.placement import Field
from mgtop.analysis.resources import cpu_summary, gpu_summaries, losses, observer_summary
from mgtop.analysis.summary import (
    Losses,
    MarkSummary,
    PlayoutSummary,
    RequestSummary,
    Summary,
    Tails,
)
from mgtop.analysis.verdict import decide

if TYPE_CHECKING:
    from mgtop.analysis.model import Model
    from mgtop.analysis.requests import Request
    from mgtop.wire.records import Mark


def assemble(model: Model) -> Summary:
    """All figures of a session as its report shows them."""
    traffic, channels = model.traffic, model.channels
    totals = traffic.totals
    start_ns = model.about.start_ns
    requests = [
        msgspec.structs.replace(q.summary(start_ns, q.is_warmup), stopped_ms=_stopped_ms(model, q))
        for q in traffic.requests
    ]
    counted = counted_tails(model)
    summary = Summary(
        session=model.about.session(traffic.params()),
        target=msgspec.structs.replace(
            model.about.target_info(channels.devices, traffic.route),
            same_ranks=traffic.same_ranks(),
        ),
        environment=model.about.environment(),
        requests=requests,
        first_frame_ms=traffic.first_frame(),
        interval_ms=totals.intervals(),
        interval_ms_by_count=totals.by_size(),
        frame_interval_ms=totals.per_frame(),
        fps=totals.fps(),
        rtf=totals.pace(),
        playout=_worst([q for q in requests if not q.warmup and q.landed in (None, "live")]),
        tails=_tails(model, counted),
        causes=counted.causes(),
        memory=memory_summary(channels),
        gpu=gpu_summaries(channels),
        cpu=cpu_summary(channels),
        marks=[_mark(model, mark) for mark in _in_order(model.marks)],
        losses=_losses(model),
        observer=observer_summary(channels),
        notices=model.notices.summary(start_ns),
        sinks=model.outputs.summary(traffic.counts_of_sinks) if traffic.route == FROM_SINKS else [],
        action_to_frame_ms=model.actions.summary(),
    )
    return msgspec.structs.replace(summary, verdict=decide(summary, model.settings))


def _stopped_ms(model: Model, request: Request) -> float | None:
    """How long no frame of an open request had come when the program was made to end."""
    about, last, usual = model.about, request.last, request.detector.baseline.median()
    if not about.was_cut_short or request.ended_ns is not None or last is None or usual is None:
        return None
    still_ns = about.cut_ns - last.t_ns
    thresholds = model.settings.thresholds
    stall_ns = max(thresholds.stall_intervals * usual * last.count, thresholds.stall_ms * 1e6)
    return still_ns / 1e6 if still_ns > stall_ns else None


def counted_tails(model: Model) -> Counted:
    """Final tails of the statistics."""
    traffic = model.traffic
    return model.judged.counted(traffic.recounts)


def _tails(model: Model, counted: Counted) -> Tails:
    traffic = model.traffic
    totals = traffic.totals
    frames = list(counted.frames)
    lost_ms, warmup = counted.lost_ns / 1e6, counted.warmup
    for request, in_warmup, tail in model.open_tails():
        if request.landed not in (None, "live"):
            continue
        if in_warmup or request.is_warmup:
            warmup += 1
        else:
            insort_tail(frames, tail)
            lost_ms += tail.excess_ms
    all_lost_ms, time_ms = totals.lost_ns() / 1e6, totals.time_ns() / 1e6
    field = Field(totals.count, traffic.with_intervals, traffic.longest)
    return Tails(
        count=len(frames),
        lost_ms=lost_ms,
        # Each tail's excess is beyond the median of its own time, so that the sum can pass the
        # time lost beyond the overall median by a little.
        share_of_lost=min(1.0, lost_ms / all_lost_ms) if all_lost_ms > 0 else None,
        share_of_time=min(1.0, lost_ms / time_ms) if time_ms > 0 else None,
        level_shifts=sum(request.detector.baseline.shifts for request in traffic.counted()),
        warmup=warmup,
        coincide=counted.coincide(),
        placement=counted.places.judge(field, counted.warmup),
        frames=frames,
    )


def _worst(requests: Sequence[RequestSummary]) -> PlayoutSummary:
    """The request whose viewer stood still longest; then, that needed the largest buffer."""
    known = [q.playout for q in requests if q.playout.smooth_buffer_ms is not None]
    if not known:
        return requests[0].playout if requests else PlayoutSummary()
    return max(known, key=lambda p: (p.stall_ms or 0.0, p.smooth_buffer_ms or 0.0))


def _losses(model: Model) -> Losses:
    found = losses(model.channels)
    return msgspec.structs.replace(
        found,
        events_malformed=found.events_malformed + model.refused,
        log_gaps=log_gaps(model.about.gaps, model.about.start_ns),
    )


def _in_order(marks: Sequence[Mark]) -> list[Mark]:
    """Marks of viewers come from beside the log, at any time."""
    return sorted(marks, key=lambda mark: (mark.t_ns, mark.proc, mark.text))


def _mark(model: Model, mark: Mark) -> MarkSummary:
    """A mark, at the request that ran then: the one that began last, of its own process."""
    id_: str | None = None
    index: int | None = None
    best: tuple[bool, int] | None = None
    for request in model.traffic.requests:
        rank = (request.proc == mark.proc, request.begin_ns)
        over = request.ended_ns is not None and request.ended_ns < mark.t_ns
        if over or request.begin_ns > mark.t_ns or (best is not None and rank < best):
            continue
        found = request.index_at(mark.t_ns)
        if found is not None:
            id_, index, best = request.id, found, rank
    return MarkSummary(
        t_ms=(mark.t_ns - model.about.start_ns) / 1e6, request=id_, index=index, note=mark.text
    )
