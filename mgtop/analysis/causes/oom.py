"""Out of memory, and the program went on.

Seen as an exception that the probe met, a line of output, or a step of the allocator's
counter. How long it took is not told: at most what the compute spans around it lost.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow
from mgtop.analysis.memory_log import is_oom
from mgtop.analysis.profile import Profile

NAME = "oom"
LETTER = "M"
SUMMARY = "running out of GPU memory"
REMEDY = (
    "Lower the resolution by one notch, then frames per batch and concurrency to 1, then "
    "shorten the state cache."
)
ORDER = 55

OUTPUT_NS = 50_000_000
"""A line of output is read a little after it was written."""
EVENT_ROUTES = 3
"""Routes below this number have a probe in the process."""


def measure(window: TailWindow, channels: Channels) -> Finding:
    """An out-of-memory error or an allocator warning inside the interval."""
    profile = channels.profile(window)
    for failure in profile.log.failures.between(window.begin_ns, window.end_ns):
        if is_oom(failure):
            return _found(profile, "exceptions", failure.t_ns)
    for log in profile.log.torch.values():
        before, after = log.at(window.begin_ns), log.after(window.end_ns)
        if before is None or after is None or after.emit != window.emit:
            continue
        if after.ooms > before.ooms:
            return _found(profile, "torch allocator counters", None)
    for line in channels.lines.between(window.begin_ns, window.end_ns + OUTPUT_NS):
        if line.kind in ("oom", "allocator"):
            return _found(profile, "output", min(line.t_ns, window.end_ns))
    if window.frame.route >= EVENT_ROUTES and not len(channels.lines):
        return Finding(state="not_resolved")
    return Finding(state="absent", value=0.0, unit="errors", source="exceptions, output")


def _found(profile: Profile, source: str, began_ns: int | None) -> Finding:
    return Finding(
        state="present",
        value=1.0,
        unit="errors",
        source=source,
        began_ns=began_ns,
        claims=(Claim(profile.around_ns(), "upper", ("compute",)),),
    )
