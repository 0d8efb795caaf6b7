"""What mgtop's own code in the program had to say to the user, each thing once."""

from __future__ import annotations

from mgtop.analysis.summary import NoticeSummary
from mgtop.wire.records import Notice

MOST = 32


class Notices:
    """Keeps the first of equal texts: several processes may say the same."""

    def __init__(self) -> None:
        self._first: dict[str, Notice] = {}

    def add(self, record: Notice) -> None:
        """Take the next one."""
        if len(self._first) < MOST:
            self._first.setdefault(record.text, record)

    def summary(self, start_ns: int) -> list[NoticeSummary]:
        """All of them, in order of appearance."""
        return [
            NoticeSummary(source=n.source, text=n.text, t_ms=(n.t_ns - start_ns) / 1e6)
            for n in self._first.values()
        ]
