"""The caching allocator gave its cache back and asked again, or asked the driver anew.

Its counters step in the very frame. They tell that it happened, not how long it took: that
is bounded by the compute spans around it, and by what so many driver calls can cost. Which
spans: the counters are read at emits, and at the end of spans that took long, so that the
step lies between two readings. On an
H200 releasing 30 segments took 24 ms and 1,982 small ones 118 ms, so 0.05 to 0.8 ms a call;
a reclaim of a few segments cost 1 ms and does not explain a stall of 200.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow, strongest
from mgtop.analysis.profile import Profile
from mgtop.analysis.recent import Recent
from mgtop.wire.records import TorchMemory

NAME = "alloc_retry"
LETTER = "A"
SUMMARY = "the GPU allocator releasing its cache"
REMEDY = (
    "Set PYTORCH_ALLOC_CONF=expandable_segments:True, keep tensor sizes the same from frame "
    "to frame, and leave memory free: lower the resolution by one notch."
)
ORDER = 50

CALL_NS = 2_000_000
"""The longest that one allocation or release of the driver is believed to take."""
RETRY_NS = 10_000_000
"""And a retry on top: it waits for the GPU before it releases anything."""
SLACK_NS = 5_000_000
"""How far outside the interval (or a quarter of it) a reading may lie and still be its own."""
HISTORY = 240


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Counter steps between the reading before the interval and the one at its end."""
    profile = channels.profile(window)
    # These calls hold up the host; on the GPU's own time line they are no work.
    around_ns = profile.over("compute") if profile.has_spans("compute") else None
    if around_ns is None:
        around_ns = float(window.excess_ns)
    return strongest(
        _device(window, profile, around_ns, log) for log in profile.log.torch.values()
    ) or Finding(state="not_resolved")


def _device(
    window: TailWindow, profile: Profile, around_ns: float, log: Recent[TorchMemory]
) -> Finding:
    source = "torch allocator counters"
    after = log.after(window.end_ns)
    before = log.at(window.begin_ns)
    if after is None or before is None:
        return Finding(state="not_resolved", source=source)
    retries = after.retries - before.retries
    period = after.t_ns - before.t_ns
    calls = _calls(before, after) - _usual_calls(log)
    if retries <= 0 and calls <= 0:
        return Finding(state="absent", value=0.0, unit="retries", source=source, period_ns=period)
    slack = max(SLACK_NS, (window.end_ns - window.begin_ns) // 4)
    if after.t_ns - window.end_ns > slack or window.begin_ns - before.t_ns > slack:
        # Readings were thinned: the step lies in one of several frames, not known to be this.
        return Finding(
            state="not_resolved",
            value=max(retries, 0),
            unit="retries",
            source=source,
            period_ns=period,
        )
    cost = max(0.0, calls) * CALL_NS + (RETRY_NS if retries > 0 else 0)
    inside = log.between(window.begin_ns, window.end_ns)
    if inside:
        around_ns = min(around_ns, _around_steps([before, *inside, after], profile))
    return Finding(
        state="present",
        value=retries if retries > 0 else calls,
        unit="retries" if retries > 0 else "driver calls",
        source=source,
        period_ns=period,
        claims=(Claim(min(cost, around_ns), "upper", ("compute",)),),
    )


def _around_steps(readings: Sequence[TorchMemory], profile: Profile) -> float:
    """What compute spans took beyond their usual length between readings that differ, in ns."""
    stepped = [
        (a.t_ns, b.t_ns) for a, b in pairwise(readings) if b.retries > a.retries or _calls(a, b) > 0
    ]
    around = 0.0
    for piece in profile.split.pieces:
        if piece.work.role != "compute":
            continue
        time = sum(
            max(0, min(piece.end_ns, end) - max(piece.begin_ns, begin)) for begin, end in stepped
        )
        around += max(0.0, time - profile.log.usual_span_ns(piece.work.name))
    return around


def _calls(before: TorchMemory, after: TorchMemory) -> int:
    return after.driver_allocs - before.driver_allocs + after.driver_frees - before.driver_frees


def _usual_calls(log: Recent[TorchMemory]) -> float:
    """Median driver calls between readings: some models release their cache at each frame."""
    steps = [_calls(a, b) for a, b in pairwise(list(log)[-HISTORY:])]
    return median(steps) if steps else 0.0
