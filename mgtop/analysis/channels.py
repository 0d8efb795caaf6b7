"""Everything that was recorded beside the frames, kept as long as a judgement needs it."""

from __future__ import annotations

from mgtop.analysis.series import Store
from mgtop.config.structs import AnalysisSettings
from mgtop.wire.records import AnyRecord


class Channels:
    """Takes every record in order; causes, symptoms, memory and charts read from it."""

    def __init__(self, settings: AnalysisSettings | None = None) -> None:
        self.settings = settings or AnalysisSettings()
        self.store = Store()

    def feed(self, record: AnyRecord) -> None:
        """Take the next record."""
        raise NotImplementedError

    def covered_ns(self) -> dict[str, int]:
        """Watermark of each source that lives: all of it up to that time has been fed."""
        raise NotImplementedError
