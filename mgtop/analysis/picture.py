"""What a screen draws of a model: one frozen picture of a window of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mgtop.analysis.live import LiveView, State, TailMark

if TYPE_CHECKING:
    from mgtop.analysis.model import Model


def picture(model: Model, now_ns: int, begin_ns: int, end_ns: int, columns: int) -> LiveView:
    """The window from ``begin_ns`` to ``end_ns`` in so many columns, as seen at ``now_ns``."""
    start_ns = model.about.start_ns
    until_ns = model.about.last_ns if model.about.ended else now_ns
    newest = model.traffic.newest()
    age_ns = None
    slack = None
    if newest is not None and not model.about.ended:
        age_ns = max(0, now_ns - newest.times[-1])
        if newest.player is not None:
            slack = newest.player.slack_ns(now_ns)
    summary = model.summary()
    tails = [
        TailMark(
            t_ns=start_ns + round(tail.t_ms * 1e6),
            begin_ns=start_ns + round((tail.t_ms - tail.interval_ms) * 1e6),
            tail=tail,
        )
        for tail in summary.tails.frames
    ]
    store = model.channels.store
    keys = store.keys()
    return LiveView(
        now_ns=now_ns,
        start_ns=start_ns,
        state=state_of(model, age_ns),
        elapsed_ns=max(0, until_ns - start_ns),
        last_frame_age_ns=age_ns,
        slack_ms=None if slack is None else slack / 1e6,
        recording=model.about.end is None,
        summary=summary,
        series={key: store.columns(key, begin_ns, end_ns, columns, now_ns) for key in keys},
        tails=[mark for mark in tails if mark.t_ns >= begin_ns and mark.begin_ns < end_ns],
        marks_ns=sorted(mark.t_ns for mark in model.marks if begin_ns <= mark.t_ns < end_ns),
        begin_ns=begin_ns,
        end_ns=end_ns,
        cores=model.about.cores,
    )


def state_of(model: Model, age_ns: int | None) -> State:
    """What the target is doing, in a word; ``age_ns``: since its last frame."""
    if model.about.ended:
        return "ended"
    traffic = model.traffic
    if age_ns is None:
        return "loading" if model.loading else "waiting"
    if all(request.ended_ns is not None for request in traffic.requests):
        return "waiting"
    newest = traffic.newest()
    assert newest is not None
    thresholds = model.settings.thresholds
    usual = newest.detector.baseline.median()
    if usual is not None and newest.last is not None:
        usual_ns = usual * newest.last.count
        limit_ns = max(thresholds.stall_intervals * usual_ns, thresholds.stall_ms * 1e6)
        if age_ns > limit_ns:
            return "stalled"
    if traffic.is_warmup(newest) or newest.emits <= model.settings.warmup.emits:
        return "warm-up"
    return "steady"
