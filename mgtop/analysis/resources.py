"""GPU, CPU, the monitor's own cost and what was lost."""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.summary import CpuSummary, GpuSummary, Losses, ObserverSummary


def gpu_summaries(channels: Channels) -> list[GpuSummary]:
    """One entry per GPU that was read, in NVML order."""
    raise NotImplementedError


def cpu_summary(channels: Channels) -> CpuSummary:
    """CPU of the target's tree and of the machine."""
    raise NotImplementedError


def observer_summary(channels: Channels) -> ObserverSummary:
    """What mgtop itself cost."""
    raise NotImplementedError


def losses(channels: Channels) -> Losses:
    """What did not arrive."""
    raise NotImplementedError
