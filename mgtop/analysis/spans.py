"""What named work stands for, and what a thread was doing at each moment of an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from mgtop.wire.records import Span

Role = Literal["supply", "compute", "output"]

ROLES: dict[str, Role] = {
    "decode": "supply",
    "resize": "supply",
    "h2d": "supply",
    "preprocess": "supply",
    "load": "supply",
    "fetch": "supply",
    "prefetch": "supply",
    "upload": "supply",
    "tokenize": "supply",
    "forward": "compute",
    "vae_decode": "compute",
    "postprocess": "compute",
    "denoise": "compute",
    "sample": "compute",
    "step": "compute",
    "encode": "output",
    "write": "output",
    "mux": "output",
    "send": "output",
    "save": "output",
}
"""Which cause a span's time can prove. Any other name proves nothing by itself: its time is
judged as if the span were not there (what the thread did then is still known)."""


def role_of(name: str) -> Role | None:
    """The role of a span name; only the part after the last dot counts."""
    return ROLES.get(name.rsplit(".", 1)[-1].lower())


class Work(msgspec.Struct, frozen=True):
    """One span, ready for analysis. Times in ns.

    ``cpu_ns`` and ``delay_ns`` are its thread's CPU time and waiting for a core in it;
    ``total_cpu_ns`` and ``total_delay_ns`` the thread's totals at its end. None: not measured
    (short spans).
    """

    begin_ns: int
    end_ns: int
    name: str
    role: Role | None
    tid: int
    request: int
    index: int
    cpu_ns: int | None
    delay_ns: int | None
    total_cpu_ns: int | None = None
    total_delay_ns: int | None = None

    @staticmethod
    def of(span: Span, name: str) -> Work:
        """The work that a span record tells of."""
        return Work(
            span.t_ns - span.duration_ns,
            span.t_ns,
            name,
            role_of(name),
            span.tid,
            span.request,
            span.index,
            span.cpu_ns,
            span.run_delay_ns,
            span.thread_cpu_ns,
            span.thread_delay_ns,
        )


Interval = tuple[int, int]


def merged(intervals: Iterable[Interval], begin_ns: int, end_ns: int) -> list[Interval]:
    """The union of intervals inside [begin, end], disjoint and in order."""
    result: list[Interval] = []
    for begin, end in sorted(intervals):
        begin, end = max(begin, begin_ns), min(end, end_ns)
        if begin >= end:
            continue
        if result and begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((begin, end))
    return result


def length(intervals: Iterable[Interval]) -> int:
    """Total length of disjoint intervals."""
    return sum(end - begin for begin, end in intervals)


def without(intervals: Sequence[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """Disjoint ordered intervals, less other disjoint ordered ones."""
    if not holes:
        return list(intervals)
    result: list[Interval] = []
    at = 0
    for begin, end in intervals:
        while at < len(holes) and holes[at][1] <= begin:
            at += 1
        i = at
        while i < len(holes) and holes[i][0] < end:
            if holes[i][0] > begin:
                result.append((begin, holes[i][0]))
            begin = max(begin, holes[i][1])
            i += 1
        if begin < end:
            result.append((begin, end))
    return result


def overlap(a: Sequence[Interval], b: Sequence[Interval]) -> list[Interval]:
    """What two lists of disjoint ordered intervals share."""
    if not a or not b:
        return []
    result: list[Interval] = []
    i = j = 0
    while i < len(a) and j < len(b):
        begin, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if begin < end:
            result.append((begin, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return result


def innermost(works: Sequence[Work], free: Sequence[Interval]) -> list[tuple[Interval, Work]]:
    """Which work was innermost at each moment of ``free`` (disjoint, ordered).

    Of the spans that are open at a moment, the one begun last counts, provided that it has
    a role: one without passes its time to the span around it. Moments with no such span
    are left out.
    """
    if not works or not free:
        return []
    ranked = sorted(
        (work for work in works if work.role is not None),
        key=lambda work: (work.begin_ns, -work.end_ns),
    )
    pieces: list[tuple[Interval, Work]] = []
    stack: list[Work] = []
    at = 0
    for begin, end in free:
        now = begin
        while now < end:
            while at < len(ranked) and ranked[at].begin_ns <= now:
                stack.append(ranked[at])
                at += 1
            while stack and stack[-1].end_ns <= now:
                stack.pop()
            until = min(end, ranked[at].begin_ns) if at < len(ranked) else end
            if stack:
                until = min(until, stack[-1].end_ns)
                pieces.append(((now, until), stack[-1]))
            now = until
    return pieces
