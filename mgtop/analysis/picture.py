"""What a screen draws of a model: one frozen picture of a window of time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mgtop.analysis.assemble import counted_tails
from mgtop.analysis.live import LiveView, State, TailMark
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
    longest_ms = max([counted_tails(model).longest_ms, *_open_ms(summary.tails.frames)])
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
        mark = TailMark(
            t_ns=start_ns + round(tail.t_ms * 1e6),
            begin_ns=start_ns + round((tail.t_ms - tail.interval_ms) * 1e6),
            tail=tail,
        )
        if mark.t_ns >= begin_ns and mark.begin_ns < end_ns:
            marks.append(mark)
    return marks


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
    if newest.left_out or newest.emits <= model.settings.warmup.emits:
        return "warm-up"
    return "steady"
