"""A source that this machine does not have, in the place of its sampler."""

from __future__ import annotations

from mgtop.record.sampler import Sampler
from mgtop.record.schedule import MetricGone


class AbsentSource(Sampler):
    """Says once a second that there is no such source, and why."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name)
        self._failed = reason

    def start(self) -> None:
        """Nothing to start."""

    def open(self) -> None:
        """Nothing to plan."""
        raise MetricGone(self._failed or "")
