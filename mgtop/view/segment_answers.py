"""A snapshot's segment map: asked for in the running program, taken at its next frame."""

from __future__ import annotations

import time
from pathlib import Path

from mgtop.analysis.memory_figures import MemorySummary
from mgtop.record.segment_request import CannotAsk, SegmentRequest
from mgtop.report.segment_maps import describe_maps

WAIT_S = 3.0


class SegmentAnswers:
    """Waits for the answers without holding anything up: :meth:`look` again and again.

    Args:
        folder: the session's.
        target: the snapshot's folder.

    Raises:
        CannotAsk: the program cannot be asked.
    """

    def __init__(self, folder: Path, target: Path) -> None:
        self._target = target
        self._request = SegmentRequest(folder, target.name)
        self._end = time.monotonic() + WAIT_S
        self._taken = 0

    def look(self) -> str | None:
        """What to say once it is over; None: not yet."""
        try:
            new = self._request.take(self._target)
            describe_maps(new)
        except OSError as error:
            self.close()
            return f"the segment map cannot be written: {error.strerror}"
        self._taken += len(new)
        if (self._taken and not new) or time.monotonic() >= self._end:
            self.close()
            if self._taken:
                return f"saved snapshots/{self._target.name}, with segments-*.txt"
            return f"saved snapshots/{self._target.name}; no frame came to take a segment map at"
        return None

    def close(self) -> None:
        """Take the question back."""
        self._request.close()


def ask(folder: Path, target: Path, memory: MemorySummary) -> SegmentAnswers | None:
    """Ask for a segment map, where the framework told of its memory and can be asked."""
    if all(stage.reserved_mib is None for stage in memory.stages.values()):
        return None
    try:
        return SegmentAnswers(folder, target)
    except CannotAsk:
        return None
