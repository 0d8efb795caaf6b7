"""The emitting thread found a queue empty and waited.

Counted is the time in which a queue that the thread takes from was empty, while the thread
was in no span but those of supply, and no other thread's named work for this frame was
under way (that would be supply). Dropped frames are shown; they prove no time.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Finding, TailWindow
from mgtop.analysis.timed import timed

NAME = "queue"
LETTER = "Q"
SUMMARY = "waiting at an empty queue"
REMEDY = (
    "Let the producer run further ahead (a deeper prefetch queue, more workers), and look at "
    "what it waits for."
)
ORDER = 30


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time spent waiting at an empty queue, beyond the usual."""
    profile = channels.profile(window)
    if not profile.log.queues:
        return Finding(state="not_resolved")
    starved = profile.split.starved
    finding = timed(
        window,
        profile,
        "starved",
        source="queue events",
        began_ns=starved[0][0] if starved else None,
    )
    if finding.state == "present":
        return finding
    dropped = sum(
        queue.dropped(window.begin_ns, window.end_ns) for queue in profile.log.queues.values()
    )
    if dropped:
        return Finding(state="present", value=dropped, unit="dropped", source="queue events")
    return finding
