"""What a screen draws of a model: one frozen picture of a window of time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mgtop.analysis.assemble import counted_tails
from mgtop.analysis.charted import MIB
from mgtop.analysis.devices import Device, Devices
from mgtop.analysis.live import GpuPlace, LiveView, Sharer, State, TailMark
from mgtop.analysis.memory import fullest
from mgtop.analysis.memory_over_time import memory_pins, stage_spans
from mgtop.analysis.summary import Tail

if TYPE_CHECKING:
    from mgtop.analysis.model import Model


def picture(model: Model, now_ns: int, begin_ns: int, end_ns: int, columns: int) -> LiveView:
    """The window from ``begin_ns`` to ``end_ns`` in so many columns, as seen at ``now_ns``."""
    about, store = model.about, model.channels.store
    keys = store.keys()
    until_ns = about.last_ns if about.ended else now_ns
    newest = model.traffic.newest
    age_ns = slack = None
    if newest is not None and newest.newest_ns is not None and not about.ended:
        age_ns = max(0, now_ns - newest.newest_ns)
        slack = newest.slack_ns(now_ns)
    summary = model.summary()
    memory = model.channels.memory
    longest_ms = max([counted_tails(model).longest_ms, *_open_ms(summary.tails.frames)])
    lanes, without = model.lanes.seen(until_ns)
    return LiveView(
        now_ns=now_ns,
        start_ns=about.start_ns,
        state=state_of(model, age_ns),
        elapsed_ns=max(0, until_ns - about.start_ns),
        last_frame_age_ns=age_ns,
        slack_ms=None if slack is None else slack / 1e6,
        recording=about.end is None,
        summary=summary,
        series={key: store.columns(key, begin_ns, end_ns, columns, now_ns) for key in keys},
        tails=tails_in(summary.tails.frames, about.start_ns, begin_ns, end_ns, longest_ms),
        marks_ns=sorted(mark.t_ns for mark in model.marks if begin_ns <= mark.t_ns < end_ns),
        begin_ns=begin_ns,
        end_ns=end_ns,
        cores=about.cores,
        stages=stage_spans(memory, about.start_ns, begin_ns, end_ns),
        pins=memory_pins(memory, begin_ns, end_ns),
        memory_gpu=fullest(model.channels),
        lanes=lanes,
        requests_without_lane=without,
        gpus=_places(model.channels.devices),
    )


def _places(devices: Devices) -> list[GpuPlace]:
    """All GPUs, the target's first."""
    known = devices.by_index.values()
    return [_place(d) for d in sorted(known, key=lambda device: (not device.is_target, device.gpu))]


def _place(device: Device) -> GpuPlace:
    readings = (log.last() for log in device.processes.values())
    others = [
        Sharer(
            pid=reading.pid,
            name=reading.name,
            user=reading.user,
            mib=None if reading.used_bytes is None else reading.used_bytes / MIB,
        )
        for reading in readings
        # A process that has left the device is told once with no bytes at all.
        if reading is not None and reading.relation == "neighbour" and reading.used_bytes != 0
    ]
    return GpuPlace(
        gpu=device.gpu,
        name=device.about.name if device.about is not None else "",
        mine=device.is_target,
        sharers=sorted(others, key=lambda sharer: -(sharer.mib or 0.0)),
    )


def _open_ms(tails: Sequence[Tail]) -> list[float]:
    """Intervals of the tails that are not final yet; they are among the last."""
    return [tail.interval_ms for tail in tails[-64:] if not tail.final]


def tails_in(
    tails: Sequence[Tail], start_ns: int, begin_ns: int, end_ns: int, longest_ms: float
) -> list[TailMark]:
    """Those of ``tails`` (in the order of time) whose interval touches begin … end.

    ``longest_ms``: no interval among them is longer.
    """
    first = bisect_left(tails, (begin_ns - start_ns) / 1e6, key=lambda tail: tail.t_ms)
    marks = []
    for tail in tails[first:]:
        if tail.t_ms - longest_ms > (end_ns - start_ns) / 1e6:
            break
        mark = mark_of(tail, start_ns)
        if mark.t_ns >= begin_ns and mark.begin_ns < end_ns:
            marks.append(mark)
    return marks


def mark_of(tail: Tail, start_ns: int) -> TailMark:
    """A tail with its times."""
    return TailMark(
        t_ns=start_ns + round(tail.t_ms * 1e6),
        begin_ns=start_ns + round((tail.t_ms - tail.interval_ms) * 1e6),
        tail=tail,
    )


def state_of(model: Model, age_ns: int | None) -> State:
    """What the target is doing, in a word; ``age_ns``: since its last frame."""
    if model.about.ended:
        return "ended"
    newest = model.traffic.newest
    if age_ns is None or newest is None or newest.ended_ns is not None:
        return "loading" if model.loading else "waiting"
    thresholds = model.settings.thresholds
    usual = newest.detector.baseline.median()
    if usual is not None and newest.last is not None:
        usual_ns = usual * newest.last.count
        if age_ns > max(thresholds.stall_intervals * usual_ns, thresholds.stall_ms * 1e6):
            return "stalled"
    if newest.is_warmup or newest.emits <= model.settings.warmup.emits:
        return "warm-up"
    return "steady"
