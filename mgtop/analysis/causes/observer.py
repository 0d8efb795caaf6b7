"""mgtop's own sampling held things up.

Calls into the GPU's driver that took unusually long are logged with their times. Such a
call may also have waited for what the target itself did, so the overlap is an upper bound,
and is credited only what nothing else explains.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow, matters
from mgtop.analysis.spans import length, merged

NAME = "observer"
LETTER = "X"
SUMMARY = "mgtop's own sampling"
REMEDY = (
    "Attach with fewer sources, or compare a run without mgtop; please report it with the session."
)
ORDER = 95

LONGEST_NS = 60_000_000_000


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Overlap of long driver calls with the interval."""
    calls = channels.host.observer_calls.between(window.begin_ns, window.end_ns + LONGEST_NS)
    overlaps = merged(
        ((call.t_ns - call.duration_ns, call.t_ns) for call in calls),
        window.begin_ns,
        window.end_ns,
    )
    if not overlaps:
        if channels.sources.last("nvml") is None and not len(channels.host.observer_calls):
            return Finding(state="not_resolved")
        return Finding(state="absent", value=0.0, unit="ms", source="mgtop's own calls")
    overlap_ns = length(overlaps)
    present = matters(overlap_ns, window)
    return Finding(
        state="present" if present else "absent",
        value=overlap_ns / 1e6,
        unit="ms",
        source="mgtop's own calls",
        began_ns=overlaps[0][0],
        claims=(Claim(overlap_ns, "upper"),) if present else (),
    )
