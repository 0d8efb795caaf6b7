"""One line of a text log of frame events → its parts. Knows lines only, no requests.

The shape (times are milliseconds since that request's start)::

    [req ID] T+MILLISECONDS EVENT key=value …

with EVENT one of :data:`EVENTS`. Whatever stands before the bracket (a logging prefix, the
rest of a progress bar) is skipped; terminal escape sequences are taken out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isfinite

EVENTS = frozenset(
    {"request_received", "preprocess_done", "first_frame_emit", "frame_emit", "stream_end"}
)

SHAPE = "[req ID] T+MILLISECONDS EVENT key=value …"
"""The shape in one line, for error messages."""

_UNIT_NS = {"": 1_000_000, "ms": 1_000_000, "s": 1_000_000_000, "us": 1_000, "µs": 1_000}
_MAX_NS = 30 * 86_400 * 1_000_000_000
"""Thirty days. More is no time since a request's start (a wall clock, for instance)."""
_NUMBER = r"[0-9]{1,13}(?:\.[0-9]{1,12})?"

_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[@-Z\\-_]"
)
_OPENING = "[req"
_EVENT = re.compile(
    r"\[req[ \t:=]+(?P<request>(?:(?!\[req[ \t:=]).){1,200}?)\][ \t]*"
    rf"T\+(?P<t>{_NUMBER})(?P<unit>ms|s|)[ \t]+(?P<event>[a-z_]+)(?=[ \t]|$)"
)
_FIELD = re.compile(r"([A-Za-z_][\w.\-]*)=(\"[^\"]*\"|'[^']*'|[^\s]+)")
_DURATION = re.compile(rf"({_NUMBER})(ms|us|µs|s|)")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_WHOLE = re.compile(r"[0-9]{1,10}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class LogLine:
    """An event as a line states it. ``t_ns``: since the request's start; None: not said."""

    request: str
    event: str
    t_ns: int | None
    fields: dict[str, str] = field(default_factory=dict)


def parse_line(line: str) -> tuple[list[LogLine], int]:
    """Events in one line, and how many of its ``[req`` openings were no event.

    More than one event stand in a line where writers shared a file without a line break.
    """
    if _OPENING not in line:
        return [], 0
    text = _ESCAPE.sub("", line)
    matches = list(_EVENT.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    events = []
    for match, end in zip(matches, ends, strict=False):
        t_ns = _nanoseconds(match["t"], match["unit"])
        if match["event"] in EVENTS and t_ns is not None:
            fields = fields_in(text[match.end() : end])
            events.append(LogLine(match["request"].strip(), match["event"], t_ns, fields))
    return events, max(text.count(_OPENING) - len(events), 0)


def parse_with(pattern: re.Pattern[str], line: str) -> LogLine | None:
    """The event that a user's pattern finds in a line.

    Named groups, all optional: ``event`` (default ``frame_emit``), ``request`` (default
    ``log``), ``index``, ``t_ms``, ``dt_ms``, ``count``.
    """
    match = pattern.search(_ESCAPE.sub("", line))
    if match is None:
        return None
    found = {name: text.strip() for name, text in match.groupdict().items() if text is not None}
    event = found.get("event") or "frame_emit"
    if event not in EVENTS:
        return None
    names = {"index": "idx", "dt_ms": "dt", "count": "count"}
    fields = {short: found[name] for name, short in names.items() if name in found}
    return LogLine(found.get("request") or "log", event, duration_ns(found.get("t_ms")), fields)


def fields_in(text: str) -> dict[str, str]:
    """``key=value`` pairs, in their order; quotes and trailing commas are taken off."""
    pairs = {}
    for key, value in _FIELD.findall(text):
        if value[0] in "\"'" and len(value) > 1 and value[-1] == value[0]:
            pairs[key] = value[1:-1]
        else:
            pairs[key] = value.rstrip(",;")
    return pairs


def duration_ns(text: str | None) -> int | None:
    """``48``, ``48ms``, ``1.5s`` → nanoseconds; None where it is no duration."""
    match = _DURATION.fullmatch(text) if text is not None else None
    return None if match is None else _nanoseconds(match[1], match[2])


def whole_number(text: str | None) -> int | None:
    """A number from 0 up, as indices and counts are; None where it is not one."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None


def plain_value(text: str) -> int | float | bool | str:
    """A parameter's value: a number or truth value where it is one, else the text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and isfinite(float(text)):
        return float(text)
    return {"true": True, "false": False}.get(text.lower(), text)


def _nanoseconds(number: str, unit: str) -> int | None:
    """Exact: no float in between, digits below a nanosecond are cut. None: out of range."""
    whole, _, fraction = number.partition(".")
    scale = _UNIT_NS[unit]
    value = int(whole) * scale + int(fraction.ljust(12, "0")) * scale // 10**12
    return value if value <= _MAX_NS else None
