"""Lines that time the stages of one frame each: ``LOAD 12.1 ms | FWD 85.2 ms | POST 4.0 ms``."""

from __future__ import annotations

import re
from typing import Literal

from mgtop.record.textlog_lines import LogLine, duration_ns

Clock = Literal["reading", "stated", "seconds"]
STAGES = "frames"
"""What the one request is called that all such lines belong to."""
_SECOND_NS = 1_000_000_000
_STAGE = re.compile(
    r"(?:^|[\s|,;:()\[\]])(LOAD|FWD|POST|TOTAL)\b\s*[:=]?\s*(\d{1,9}(?:\.\d{1,9})?)\s*(ms|us|µs|s)?\b",
    re.IGNORECASE,
)
_NAMES = {"LOAD": "load", "FWD": "forward", "POST": "postprocess"}


def parse_stages(line: str) -> tuple[dict[str, str], int] | None:
    """Stage name → duration as text, and the whole time of the frame in ns.

    Bare numbers are milliseconds. Where no TOTAL is given, it is the sum of the stages. None
    where the line is none of the kind: FWD and one more of them must stand in it, with ``|``.
    """
    if "|" not in line:
        return None
    found = {name.upper(): f"{number}{unit.lower()}" for name, number, unit in _STAGE.findall(line)}
    stages = {_NAMES[name]: text for name, text in found.items() if name in _NAMES}
    times = [duration_ns(text) for text in stages.values()]
    total = duration_ns(found["TOTAL"]) if "TOTAL" in found else sum(t or 0 for t in times)
    if "FWD" not in found or len(found) < 2 or None in times or total is None:
        return None
    return stages, total


def frame_of_stages(
    line: str, last_ns: int | None, now_ns: int | None, clock: Clock
) -> list[LogLine]:
    """The events of a line of stages; none where it is none.

    Args:
        line: the line.
        last_ns: when the last event of the request was, since its start; None: it is new.
        now_ns: when the line was written, since the request's start; None: not known, so that
            only the line's own figures tell.
        clock: what ``now_ns`` is: the moment of ``reading`` a line that was just written (when
            its first frame was asked for is not known then), or ``stated`` by the log, exactly
            or in whole ``seconds``.
    """
    found = parse_stages(line)
    if found is None:
        return []
    stages, total_ns = found
    if last_ns is None:
        asked_ns = None if clock == "reading" else total_ns
        return [LogLine(STAGES, "first_frame_emit", asked_ns, stages)]
    own_ns = last_ns + total_ns
    if now_ns is None or (clock == "seconds" and now_ns <= own_ns + _SECOND_NS):
        fields = stages | {"dt": f"{total_ns // 1000}us"}
        return [LogLine(STAGES, "frame_emit", own_ns, fields)]
    return [LogLine(STAGES, "frame_emit", None, stages)]
