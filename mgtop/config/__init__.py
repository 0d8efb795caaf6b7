"""The run configuration: YAML into typed structs, errors with path, line and key."""

from mgtop.config.structs import (
    AnalysisSettings,
    Detect,
    Frames,
    Hook,
    Playout,
    RunConfig,
    Thresholds,
    Warmup,
)

__all__ = [
    "AnalysisSettings",
    "Detect",
    "Frames",
    "Hook",
    "Playout",
    "RunConfig",
    "Thresholds",
    "Warmup",
]
