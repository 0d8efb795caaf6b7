"""The sessions that are offered: found, followed, and let go some time after their end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from mgtop.metrics.families import Family, Point
from mgtop.metrics.measured import Measured
from mgtop.metrics.names import METRICS

MOST_SESSIONS = 64
"""Followed at once: what a scrape costs has an end."""
KEEP_NS = 300_000_000_000
"""An ended session stays so long, so that every scraper has its last values."""


class Fleet:
    """Follows sessions.

    Args:
        find: gives the folders of the sessions that are live now.
        always: folders that are offered as well, live or ended, and never let go.
    """

    def __init__(self, find: Callable[[], Iterable[Path]], always: Iterable[Path] = ()) -> None:
        self._find = find
        self._always = frozenset(always)
        self._left_out = 0
        self.sessions: dict[Path, Measured] = {
            folder: Measured(folder) for folder in sorted(self._always)
        }

    def look(self, now_ns: int) -> None:
        """Find sessions that are new, and let go of those that have ended long ago."""
        for folder, measured in list(self.sessions.items()):
            ended_ns = measured.ended_ns
            if folder in self._always or ended_ns is None:
                continue
            if now_ns - ended_ns > KEEP_NS:
                del self.sessions[folder]
        new = [folder for folder in self._find() if folder not in self.sessions]
        self._make_room(len(new))
        room = max(0, MOST_SESSIONS - len(self.sessions))
        self._left_out = len(new) - len(new[:room])
        for folder in new[:room]:
            self.sessions[folder] = Measured(folder)

    def _make_room(self, wanted: int) -> None:
        """Let go of ended sessions, the earliest first, where live ones need their places."""
        ended = sorted(
            (m.ended_ns, folder)
            for folder, m in self.sessions.items()
            if m.ended_ns is not None and folder not in self._always
        )
        over = len(self.sessions) + wanted - MOST_SESSIONS
        for _, folder in ended[: max(0, over)]:
            del self.sessions[folder]

    def poll(self, now_ns: int) -> bool:
        """Read what was written since, of a long log some megabytes; whether that was all."""
        read_all = [measured.poll(now_ns) for measured in self.sessions.values()]
        return all(read_all)

    def families(self, now_ns: int) -> tuple[Family, ...]:
        """Everything that there is to tell now."""
        points: dict[str, list[Point]] = defaultdict(list)
        own = {
            "mgtop_up": 1.0,
            "mgtop_sessions": float(len(self.sessions)),
            "mgtop_sessions_left_out": float(self._left_out),
        }
        for name, value in own.items():
            points[name].append(Point((), value))
        for measured in self.sessions.values():
            for name, labels, told in measured.values(now_ns):
                points[name].append(Point(labels, told))
        return tuple(
            Family(name, about.kind, about.help, about.unit, tuple(points[name]))
            for name, about in METRICS.items()
            if points[name]
        )
