"""The time of day at the beginning of a log's lines, as loggers write it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_SECOND_NS = 1_000_000_000
_FIRST_COLUMNS = 40
_SHAPE = re.compile(
    r"(?<!\d)(?P<date>\d{4}[-/]\d\d[-/]\d\d)[ T](?P<time>\d\d:\d\d:\d\d)(?:[.,](?P<part>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|[+-]\d\d:?\d\d)(?![\d:]))?"
)


class StatedTime:
    """Reads the time of day in lines, as ns since the first line that states one.

    ``2026-11-30 22:15:00,123`` as Python's logging writes it, with ``T``, ``.`` or ``/`` as
    well. Local time, unless the line says otherwise (``Z``, ``+01:00``: as containers' logs are
    stamped). A line that states none counts as written with the one before.
    """

    def __init__(self) -> None:
        self.origin_ns: int | None = None
        """Unix time of the first."""
        self.is_coarse = False
        """The time of the last line that stated one has no more than whole seconds."""

    def __call__(self, line: str) -> int | None:
        """The time of a line on the axis; None where it states none."""
        match = _SHAPE.search(line, 0, _FIRST_COLUMNS)
        if match is None:
            return None
        try:
            text = f"{match['date'].replace('/', '-')} {match['time']}"
            at = datetime.fromisoformat(text).replace(tzinfo=_zone(match["zone"]))
            wall_ns = int(at.timestamp()) * _SECOND_NS
        except (ValueError, OverflowError):
            return None
        self.is_coarse = match["part"] is None
        wall_ns += int((match["part"] or "0").ljust(9, "0"))
        if self.origin_ns is None:
            self.origin_ns = wall_ns
        return max(0, wall_ns - self.origin_ns)


def _zone(text: str | None) -> timezone | None:
    """None: local time."""
    if text is None:
        return None
    if text == "Z":
        return timezone.utc
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
