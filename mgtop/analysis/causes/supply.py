"""Decode, resize, upload or other preparation took longer than usual.

Spans of the emitting thread count wherever they lie in the interval. A span of another
thread counts while the emitting one waited, as far as that one span lasted longer than its
name usually does; work that is known to be for a later frame does not count.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Finding, TailWindow
from mgtop.analysis.timed import spans

NAME = "supply"
LETTER = "S"
SUMMARY = "slow decode, resize or upload"
REMEDY = (
    "Decode with several threads and ahead of need, resize on the GPU or in one call, upload "
    "from pinned memory with non_blocking=True."
)
ORDER = 85


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time in such spans, less what lies inside them, beyond the usual."""
    return spans(window, channels.profile(window), "supply")
