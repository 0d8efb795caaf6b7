"""Sections of the text report about frames: latency, rhythm, playout, requests."""

from __future__ import annotations

from mgtop.analysis.summary import Quantiles, RequestSummary, Summary
from mgtop.report.numbers import NOT_KNOWN, number, plural, whole, with_unit, yes_no
from mgtop.report.page import Page

_MOST_REQUESTS = 12
_HEAD = ("", "P50", "P95", "P99", "max", "n")


def _quantiles(name: str, of: Quantiles) -> tuple[str, ...]:
    return (name, number(of.p50), number(of.p95), number(of.p99), number(of.max), whole(of.count))


def first_frame(page: Page, summary: Summary) -> None:
    """First-frame latency and its split."""
    first = summary.first_frame_ms
    page.heading("FIRST FRAME", "ms from the request to its first frame")
    rows = [
        _quantiles("latency", first),
        ("preprocessing", number(first.preprocess_p50), "", "", "", ""),
        ("first sampling", number(first.sampling_p50), "", "", "", ""),
    ]
    page.table(_HEAD, rows, left=("",))


def intervals(page: Page, summary: Summary) -> None:
    """Intervals between emits by block size, then the pace."""
    page.heading("INTERVALS", "ms between emits, without warm-up and unknown ones")
    sizes = sorted(summary.interval_ms_by_count.items(), key=lambda item: (len(item[0]), item[0]))
    rows = [_quantiles(f"{size} per emit", of) for size, of in sizes]
    page.table(_HEAD, rows or [_quantiles("all emits", summary.interval_ms)], left=("",))
    unknown = sum(request.unknown_intervals for request in summary.requests)
    if unknown:
        page.pair("not known", plural(unknown, "interval"))
    page.pair("frame pace", f"{with_unit(summary.frame_interval_ms.p50, 'ms')} per frame (P50)")
    page.pair("fps", number(summary.fps))
    page.pair("rtf", f"{number(summary.rtf)} (above 1: slower than the target fps)")
    if len(summary.requests) == 1 and summary.requests[0].spans:
        spans = summary.requests[0].spans.items()
        named = ", ".join(f"{name} {with_unit(ms, 'ms')}" for name, ms in spans)
        page.pair("spans, P50", named)


def actions(page: Page, summary: Summary) -> None:
    """From a person's input to a frame that could show it, where input was seen."""
    found = summary.action_to_frame_ms
    if not found.actions:
        return
    page.heading("ACTION TO FRAME", "ms from an input to the first frame begun after it")
    page.table(_HEAD, [_quantiles("latency", found)], left=("",))
    by = {"spans": "its first compute span", "emits": "the emit, request or wait before it"}
    if found.rule is not None:
        page.pair("begun", f"by {by[found.rule]}")
    page.pair("inputs", f"{found.actions:,} ({found.unanswered:,} without such a frame yet)")


def playout(page: Page, summary: Summary) -> None:
    """What a viewer would have seen."""
    seen = summary.playout
    fps = "no target fps" if seen.target_fps is None else f"at {seen.target_fps:g} fps"
    start = (
        ""
        if seen.buffer_frames is None
        else f", starting with {plural(seen.buffer_frames, 'frame')}"
    )
    page.heading("PLAYOUT", f"{fps}{start}; of the worst request")
    page.pair("keeps up", yes_no(seen.keeps_up))
    page.pair("underruns", whole(seen.underruns))
    page.pair(
        "stands still",
        f"{with_unit(seen.stall_ms, 'ms')}, {with_unit(seen.stall_ms_per_s, 'ms per second')}",
    )
    page.pair("least slack", with_unit(seen.slack_min_ms, "ms"))
    frames = seen.smooth_buffer_frames
    in_frames = NOT_KNOWN if frames is None else plural(frames, "frame")
    page.pair("smooth from", f"{with_unit(seen.smooth_buffer_ms, 'ms')} of buffer ({in_frames})")


def requests(page: Page, summary: Summary) -> None:
    """One row a request."""
    if not summary.requests:
        return
    page.heading("REQUESTS", "ms")
    head = ("request", "first", "frames", "emits", "P50", "P95", "max", "tails", "note")
    shown = summary.requests[:_MOST_REQUESTS]
    page.table(head, [_request(one) for one in shown], left=("request", "note"))
    if len(summary.requests) > len(shown):
        page.text(f"and {len(summary.requests) - len(shown):,} more (--json lists all)")


def delivery(page: Page, summary: Summary) -> None:
    """What became of the frames, where the program says."""
    told = [one for one in summary.requests if one.delivered is not None]
    if not told:
        return
    page.heading("DELIVERY", "frames, as the program counts them")
    head = ("request", "produced", "delivered", "dropped", "shown twice")
    rows = [
        (one.id, whole(one.produced), whole(one.delivered), whole(one.dropped),
         whole(one.duplicated))
        for one in told[:_MOST_REQUESTS]
    ]  # fmt: skip
    page.table(head, rows, left=("request",))
    if len(told) > _MOST_REQUESTS:
        page.text(f"and {len(told) - _MOST_REQUESTS:,} more (--json lists all)")


def _request(one: RequestSummary) -> tuple[str, ...]:
    notes = ["warm-up"] if one.warmup else []
    if not one.ended:
        stopped = one.stopped_ms
        last = "" if stopped is None else f", no frame in its last {with_unit(stopped, 'ms')}"
        notes.append("not ended" + last)
    if one.landed in ("batch", "undecided"):
        notes.append(one.landed)
    if one.note:
        notes.append(one.note)
    return (
        one.id,
        number(one.first_frame_ms),
        whole(one.frames),
        whole(one.blocks),
        number(one.interval_ms.p50),
        number(one.interval_ms.p95),
        number(one.interval_ms.max),
        whole(one.tails),
        ", ".join(notes),
    )
