"""The verdict for a session."""

from __future__ import annotations

from mgtop.analysis.summary import Summary, Verdict
from mgtop.config.structs import AnalysisSettings


def decide(summary: Summary, settings: AnalysisSettings) -> Verdict:
    """Judge a session by its summary (whose own ``verdict`` is not looked at)."""
    raise NotImplementedError
