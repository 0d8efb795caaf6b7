"""Memory over the session: stages, peaks, shape."""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.summary import MemorySummary


def memory_summary(channels: Channels) -> MemorySummary:
    """The memory part of the report."""
    raise NotImplementedError
