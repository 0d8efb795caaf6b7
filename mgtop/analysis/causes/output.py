"""Encoding, writing or sending the frames took longer than usual.

Waiting inside such a span is part of it: a slow disk, a full pipe, a slow reader.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Finding, TailWindow
from mgtop.analysis.timed import spans

NAME = "output"
LETTER = "O"
SUMMARY = "slow encoding or writing"
REMEDY = (
    "Encode and write in a thread of its own with a queue between, use a faster encoder "
    "setting, and check the disk, the pipe and whoever reads it."
)
ORDER = 90


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time in such spans, less what lies inside them, beyond the usual."""
    return spans(window, channels.profile(window), "output")
