"""A Python garbage collection ran inside the interval.

A collection holds the interpreter, so one in another thread stops the emitting thread too.
Single collections from 1 ms on are events; shorter ones are in the counter read at emits.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Finding, TailWindow
from mgtop.analysis.timed import timed

NAME = "gc"
LETTER = "G"
SUMMARY = "Python garbage collection"
REMEDY = (
    "Call gc.freeze() after loading and gc.disable() while frames are made, with gc.collect() "
    "between requests; keep fewer long-lived Python objects per frame."
)
ORDER = 10


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time in collections beyond what is usual in the stream."""
    profile = channels.profile(window)
    watched = window.frame.gc_ns is not None or len(profile.log.collections) > 0
    if not watched:
        return Finding(state="not_resolved")
    found = profile.split.collections
    longest = max(found, key=lambda interval: interval[1] - interval[0], default=None)
    return timed(
        window,
        profile,
        "gc",
        source="gc callbacks",
        began_ns=longest[0] if longest is not None else None,
    )
