"""What a long-tail frame is asked about, and what the answers look like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from mgtop.analysis.summary import CauseShare, Evidence, EvidenceState
from mgtop.wire.records import FrameEmit

Bound = Literal["exact", "upper", "lower"]
Part = Literal["compute", "off", "off_compute"]
"""A part of the excess within which a claim must stay: what compute spans took beyond their
usual time; what the thread spent neither running nor waiting for a core beyond its usual
time; and that of it which lies inside compute spans."""


class TailWindow(msgspec.Struct, frozen=True, kw_only=True):
    """One long-tail emit, as the model judged it.

    ``median_ns`` is the interval that was to be expected: n × the median interval per
    frame; ``excess_ns`` is what the interval lasts beyond it.
    """

    proc: int
    tid: int
    request: int
    index: int
    emit: int
    count: int
    begin_ns: int
    end_ns: int
    excess_ns: int
    median_ns: int
    frame: FrameEmit
    previous: FrameEmit | None
    since_ns: int = 0
    """Where the baseline of intervals starts (after a level shift); older emits are not
    what is usual any more."""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: the main cause (None: not judged), all shares and every channel's word."""

    cause: str | None
    causes: list[CauseShare] = []
    evidence: list[Evidence] = []


class Claim(msgspec.Struct, frozen=True):
    """Time (ns) that a cause says it took of the excess.

    ``bound``: ``exact`` where it was measured as such, ``upper`` where the cause is known by
    a counter only and the time is that of the span around it. ``within``: the claim cannot
    be more than what is left of these parts.
    """

    ns: float
    bound: Bound = "exact"
    within: tuple[Part, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one symptom or cause says about one tail.

    ``present``: it was there. ``absent``: a source fine enough was watching and saw
    nothing. ``not_resolved``: no source, or too coarse a one; never to be read as absent.
    """

    state: EvidenceState
    value: float | None = None
    unit: str | None = None
    source: str | None = None
    period_ns: int | None = None
    began_ns: int | None = None
    """When it began; None: not known within the interval."""
    claims: tuple[Claim, ...] = ()

    def evidence(self, channel: str, window: TailWindow) -> Evidence:
        """The finding as a row of the report."""
        lead_ms = None
        if self.began_ns is not None and self.state == "present":
            lead_ms = (window.end_ns - self.began_ns) / 1e6
        return Evidence(
            channel=channel,
            state=self.state,
            value=self.value,
            unit=self.unit,
            source=self.source,
            period_ms=None if self.period_ns is None else self.period_ns / 1e6,
            lead_ms=lead_ms,
        )


def strongest(findings: Iterable[Finding]) -> Finding | None:
    """The finding that says most: presence before doubt, and doubt before absence."""
    order = {"absent": 0, "not_resolved": 1, "present": 2}
    return max(findings, key=lambda f: (order[f.state], f.value or 0.0), default=None)


def matters(ns: float | None, window: TailWindow) -> bool:
    """Whether a time beyond the usual is more than the scatter that every interval has.

    Half of all intervals lie above their median in any quantity. What is less than
    1/10 of the excess, or than 0.5 ms, is not called a cause.
    """
    return ns is not None and ns >= max(500_000, 0.1 * window.excess_ns)
