"""Why a frame was late: one module per cause."""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Attribution, TailWindow
from mgtop.config.structs import AnalysisSettings


def attribute(window: TailWindow, channels: Channels, settings: AnalysisSettings) -> Attribution:
    """Ask every symptom and cause about one long-tail frame."""
    raise NotImplementedError
