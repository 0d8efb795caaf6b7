"""One late frame in sentences: what happened, why, and what to do."""

from __future__ import annotations

from mgtop.analysis.causes import find_cause
from mgtop.analysis.summary import CauseShare, Tail
from mgtop.analysis.verdict import MORE_SPANS
from mgtop.charts.axis import clock
from mgtop.view.figures import clean, ms

_BOUNDS = {"exact": "measured", "upper": "at most", "lower": "at least"}
NOTABLE_SHARE = 0.05
"""What is not explained is told from this share of the time lost on."""


def heading(tail: Tail) -> str:
    """Which frame, when, and how late: ``Frame 640 of 7f3a at 0:38.4: 212 ms, usual 62.5``."""
    usual = tail.interval_ms - tail.excess_ms
    times = f", {tail.interval_ms / usual:.1f} × the usual {ms(usual)} ms" if usual > 0 else ""
    last = tail.index + tail.count - 1
    frames = f"Frame {tail.index}" if tail.count == 1 else f"Frames {tail.index}–{last}"
    at = clock(round(tail.t_ms * 1e6), fine=True)
    return f"{frames} of {clean(tail.request)} at {at}: {ms(tail.interval_ms)} ms{times}"


def explanation(tail: Tail) -> str:
    """Why it was late, in a sentence or two."""
    lost = f"{ms(tail.excess_ms)} ms"
    seen = {
        True: " The viewer saw it.",
        False: " Slack absorbed it: the viewer saw nothing.",
        None: "",
    }[tail.visible]
    if tail.cause is None:
        return "Not judged yet: the readings of all sources are waited for, two seconds at most."
    shares = ", ".join(share_text(share) for share in tail.causes)
    rest = tail.excess_ms - sum(share.explained_ms for share in tail.causes)
    cause = find_cause(tail.cause)
    if cause is None:
        but = f", but for {shares}" if shares else ""
        blind = [item.channel for item in tail.evidence if item.state == "not_resolved"]
        could = f" Not resolved, so not excluded: {', '.join(blind)}." if blind else ""
        return f"Nothing that was recorded explains these {lost}{but}.{seen}{could}"
    left = f"; {ms(rest)} ms are not explained" if rest > NOTABLE_SHARE * tail.excess_ms else ""
    return f"Late by {lost}, by {cause.summary}: {shares}{left}.{seen}"


def share_text(share: CauseShare) -> str:
    """``gc 140 ms (measured)``."""
    return f"{share.name} {ms(share.explained_ms)} ms ({_BOUNDS[share.bound]})"


def remedy(tail: Tail) -> str:
    """What to do about it; empty while it is not judged."""
    if tail.cause is None:
        return ""
    cause = find_cause(tail.cause)
    return cause.remedy if cause is not None else MORE_SPANS
