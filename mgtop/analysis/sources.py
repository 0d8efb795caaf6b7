"""Which sources live, how fine they are, and how far their records go."""

from __future__ import annotations

from mgtop.analysis.recent import Recent
from mgtop.wire.records import SourceState

MOST_SOURCES = 256


class Sources:
    """What each source said of itself."""

    def __init__(self) -> None:
        self._states: dict[str, Recent[SourceState]] = {}

    def add(self, record: SourceState) -> None:
        """Take the next word of a source."""
        states = self._states.get(record.source)
        if states is None:
            if len(self._states) >= MOST_SOURCES:
                return
            states = self._states[record.source] = Recent(1_024)
        states.add(record.t_ns, record)

    def last(self, source: str) -> SourceState | None:
        """The newest word of a source."""
        states = self._states.get(source)
        return states.last() if states is not None else None

    def covered_ns(self) -> dict[str, int]:
        """Watermark of each source whose newest word is that it lives."""
        covered: dict[str, int] = {}
        for source, states in self._states.items():
            last = states.last()
            if last is not None and last.state == "ok" and last.covered_ns is not None:
                covered[source] = last.covered_ns
        return covered

    def silent_in(self, source: str, begin_ns: int, end_ns: int) -> str | None:
        """Why a source had nothing to say at some time in [begin, end]; None: it lived.

        A source that never spoke of itself is given the benefit of the doubt: its readings
        tell (an imported table has no heartbeat).
        """
        states = self._states.get(source)
        if states is None:
            return None
        before = states.at(begin_ns)
        for state in [*([before] if before is not None else []), *states.between(begin_ns, end_ns)]:
            if state.state != "ok":
                return state.reason or state.state
        return None

    def reason(self, *names: str) -> str | None:
        """Why none of these sources gives anything, by the first that says."""
        for name in names:
            last = self.last(name)
            if last is not None and last.state != "ok":
                return last.reason or last.state
        return None
