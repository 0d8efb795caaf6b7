"""What a long-tail frame is asked about, and what the answers look like."""

from __future__ import annotations

import msgspec

from mgtop.analysis.summary import CauseShare, Evidence
from mgtop.wire.records import FrameEmit


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
