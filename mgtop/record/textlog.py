"""A text log of frame events → the records that the probe would have sent (route ``log``).

The log's times are relative to each request's own start, so requests have no common clock.
They are put on one axis by the order of the file: a request starts at the latest time that
the axis has reached when its first line is read. Requests one after another thus follow each
other without a gap, and requests that interleave in the file overlap on the axis. Where lines
are read as they are written, the caller passes the time instead.

What a line does not say stays unknown: a request whose header is missing has no parameters,
and an interval is only what a line states (``dt=``) or what two neighbours give.
"""

from __future__ import annotations

import re
from typing import Any

from mgtop.record.textlog_clock import StatedTime
from mgtop.record.textlog_lines import (
    LogLine,
    duration_ns,
    parse_line,
    parse_with,
    plain_value,
    whole_number,
)
from mgtop.record.textlog_request import Request
from mgtop.record.textlog_stages import STAGES, Clock, frame_of_stages
from mgtop.session.secrets import mask, mask_text
from mgtop.wire.records import (
    FIRST_FREE_NAME,
    ROUTES,
    SPAN_NAMES,
    AnyEvent,
    FrameEmit,
    Name,
    PreprocessDone,
    RequestReceived,
    Span,
    StreamEnd,
)

LOG_ROUTE = ROUTES.index("log")
MAX_LINE = 65_536
"""Longer lines are no event lines; they are skipped and counted."""
_REMEMBERED_EMITS = 4_096
_REMEMBERED_REQUESTS = 1_024
_MAX_COUNT = 1_000_000

_BREAK = re.compile(r"[\r\n]")
_LOAD = FIRST_FREE_NAME
_SPANS = {name: number for number, name in enumerate(SPAN_NAMES) if number > 0} | {"load": _LOAD}


class TextLog:
    """Incremental parser: feed text in pieces of any size, get records.

    Args:
        proc: process number written into the records (0: not known).
        start_ns: where the axis begins.
        pattern: a user's expression instead of the standard shape (named groups ``event``,
            ``request``, ``index``, ``t_ms``, ``dt_ms``, ``count``).
        clock: reads the time of day that lines themselves state (a logger's prefix).

    How the text is cut into pieces does not change the records. Lines that are no events are
    counted in ``ignored``; ``malformed`` counts what began like an event but was none, or
    contradicts what was read before; ``duplicates`` counts repetitions, and ``coarse`` the
    events that only a clock of whole seconds gives a time.
    """

    def __init__(
        self,
        *,
        proc: int = 0,
        start_ns: int = 0,
        pattern: re.Pattern[str] | None = None,
        clock: StatedTime | None = None,
    ) -> None:
        self.events = 0
        self.ignored = 0
        self.malformed = 0
        self.duplicates = 0
        self.coarse = 0
        self._proc = proc
        self._pattern = pattern
        self._clock = clock
        self._named_load = False
        self._axis_ns = start_ns
        self._pending = ""
        self._overlong = False
        self._requests: dict[str, Request] = {}
        self._opened = 0
        self._seq = 0
        self._numbers_blocks = False
        self._now_ns: int | None = None
        self._remembering = False
        self._out: list[AnyEvent] = []

    @property
    def end_ns(self) -> int:
        """The latest time that the axis has reached."""
        return self._axis_ns

    @property
    def line_ns(self) -> int:
        """When the last line was written, as far as it is known."""
        return self._axis_ns if self._now_ns is None else self._now_ns

    def feed(self, text: str, now_ns: int | None = None) -> list[AnyEvent]:
        """Add text; return the records of the lines that it completed.

        ``now_ns``: monotonic time at which the text was read; None: by order of the file.
        """
        if self._clock is None or now_ns is not None:
            self._now_ns = now_ns
        *lines, rest = _BREAK.split(text)
        for line in lines:
            self._complete(self._pending + line)
            self._pending = ""
            self._overlong = False
        if not self._overlong:
            self._pending += rest
            if len(self._pending) > MAX_LINE:
                self._pending, self._overlong = "", True
                self.ignored += 1
        return self._taken()

    def line(self, text: str, now_ns: int | None = None) -> list[AnyEvent]:
        """Take one line, without its end; return its records. ``now_ns`` as in :meth:`feed`."""
        if self._clock is None or now_ns is not None:
            self._now_ns = now_ns
        self._complete(text)
        return self._taken()

    def remember(self, text: str) -> int:
        """Take what the log said before it is followed; return how many events that were.

        They are not recorded, since nobody knows when they happened. But requests that were
        not over are known from now on, with their parameters, and go on with the next line:
        what that line says of the time since their start gives them their place on the axis.
        """
        before, self._remembering = self.events, True
        self.feed(text)
        self._remembering = False
        found, self.events = self.events - before, before
        self.ignored = self.malformed = self.duplicates = 0
        for request in self._requests.values():
            request.anchored = request.end_ns is not None
        return found

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the last request that had any."""
        known = (request.params for request in reversed(self._requests.values()))
        return next((params for params in known if params), {})

    def close(self) -> list[AnyEvent]:
        """The text ends here: a last line without a line break counts too."""
        if self._pending:
            self._complete(self._pending)
        self._pending = ""
        return self._taken()

    def _taken(self) -> list[AnyEvent]:
        taken, self._out = self._out, []
        return taken

    def _complete(self, line: str) -> None:
        if self._overlong or not line.strip():
            return
        if len(line) > MAX_LINE:
            self.ignored += 1
            return
        stated_ns = self._clock(line) if self._clock is not None else None
        if stated_ns is not None:
            self._now_ns = stated_ns
        if self._pattern is not None:
            found = parse_with(self._pattern, line)
            events, bad = ([found] if found else []), 0
        else:
            events, bad = parse_line(line)
            if not events:
                events = self._of_stages(line)
        self.malformed += bad
        if not events and not bad:
            self.ignored += 1
        for event in events:
            self._take(event)

    def _of_stages(self, line: str) -> list[LogLine]:
        request = self._requests.get(STAGES)
        last_ns = now_ns = None
        if request is not None:
            last_ns = request.last_ns
            if self._now_ns is not None:
                now_ns = max(self._now_ns - request.start_ns, 0)
        return frame_of_stages(line, last_ns, now_ns, self._kind_of_clock())

    def _kind_of_clock(self) -> Clock:
        if self._clock is None or self._clock.origin_ns is None:
            return "stated" if self._now_ns is None else "reading"
        return "seconds" if self._clock.is_coarse else "stated"

    # ------------------------------------------------------------------ requests

    def _take(self, line: LogLine) -> None:
        request = self._requests.get(line.request)
        t_ns = self._time_in_request(line, request)
        if t_ns is None:
            self.malformed += 1
            return
        fate = "open" if request is None else self._fate(request, line, t_ns)
        if fate == "duplicate":
            self.duplicates += 1
            return
        if fate == "conflict":
            self.malformed += 1
            return
        if request is None or fate == "open":
            request = self._open(line, t_ns)
        elif not request.anchored:
            self._anchor(request, line, t_ns)
        if self._write(request, line, t_ns):
            self.events += 1
            request.last_ns = max(request.last_ns, t_ns)
            request.quiet = request.quiet and line.event == "request_received"
            self._axis_ns = max(self._axis_ns, request.start_ns + t_ns)
        else:
            self.malformed += 1

    def _time_in_request(self, line: LogLine, request: Request | None) -> int | None:
        """Time since the request's start, from the line, the clock or the stated interval."""
        if line.t_ns is not None:
            return line.t_ns
        if request is not None and not request.anchored:
            return request.last_ns
        if self._now_ns is not None:
            self.coarse += self._clock is not None and self._clock.is_coarse
            return 0 if request is None else max(self._now_ns - request.start_ns, 0)
        dt_ns = duration_ns(line.fields.get("dt"))
        if dt_ns is None and self._remembering:
            dt_ns = 1  # its time is lost anyway, and its place among the others is not
        if dt_ns is None:
            return None
        return 0 if request is None else request.last_ns + dt_ns

    def _fate(self, request: Request, line: LogLine, t_ns: int) -> str:
        """What a line is to the request that its id names.

        It can ``continue`` it, ``open`` another one under the same id, be a ``duplicate`` of
        what was read, or a ``conflict`` with it.
        """
        if line.event == "request_received":
            repeated = request.quiet and request.header_ns == t_ns
            return "duplicate" if repeated else "open"
        if line.event == "preprocess_done":
            known_ns = request.preprocess_ns
        elif line.event == "stream_end":
            known_ns = request.end_ns
        else:
            index = 0 if line.event == "first_frame_emit" else whole_number(line.fields.get("idx"))
            if index is not None:
                known_ns = request.emits.get(index)
            else:
                same = request.last_emit == (t_ns, line.fields.get("dt", ""))
                known_ns = t_ns if same else None
            if request.end_ns is not None and known_ns is None:
                # Threads may write out of order: an emit from before the end is no new request.
                late = index is not None and index > (request.index or 0)
                return "continue" if late and t_ns <= request.end_ns else "open"
        if known_ns == t_ns:
            return "duplicate"
        if request.end_ns is not None:
            return "open"
        if known_ns is None:
            return "continue"
        return "open" if t_ns < request.last_ns else "conflict"

    def _open(self, line: LogLine, t_ns: int) -> Request:
        """A new request; its RequestReceived is written here, at its start or header."""
        self._opened += 1
        start_ns = self._axis_ns if self._now_ns is None else self._now_ns - t_ns
        request = Request(self._opened, start_ns)
        self._requests.pop(line.request, None)
        self._requests[line.request] = request
        if len(self._requests) > _REMEMBERED_REQUESTS:
            del self._requests[next(iter(self._requests))]
        is_header = line.event == "request_received"
        if is_header or line.t_ns is not None:
            if is_header:
                request.params = {key: plain_value(text) for key, text in line.fields.items()}
            self._announce(request, line.request, start_ns + (t_ns if is_header else 0))
        return request

    def _anchor(self, request: Request, line: LogLine, t_ns: int) -> None:
        """Give a request of the past its place on the axis, by its first line of now."""
        request.anchored = True
        request.start_ns = (self._axis_ns if self._now_ns is None else self._now_ns) - t_ns
        if line.t_ns is not None:
            self._announce(request, line.request, request.start_ns + (request.header_ns or 0))

    def _announce(self, request: Request, name: str, at_ns: int) -> None:
        head = (at_ns, self._next(), self._proc, 0)
        told = (mask_text(name), mask(request.params))
        self._out.append(RequestReceived(*head, request.number, *told, LOG_ROUTE))

    # ------------------------------------------------------------------ events

    def _write(self, request: Request, line: LogLine, t_ns: int) -> bool:
        """Append the line's records; False if the line makes no sense."""
        at_ns = request.start_ns + t_ns
        if line.event == "request_received":
            request.header_ns = t_ns
        elif line.event == "preprocess_done":
            request.preprocess_ns = t_ns
            self._write_spans(request, line, at_ns, -1)
            self._out.append(PreprocessDone(at_ns, self._next(), self._proc, 0, request.number))
        elif line.event == "stream_end":
            request.end_ns = t_ns
            frames = whole_number(line.fields.get("frames"))
            self._out.append(StreamEnd(at_ns, self._next(), self._proc, 0, request.number, frames))
        else:
            return self._write_emit(request, line, t_ns)
        return True

    def _write_emit(self, request: Request, line: LogLine, t_ns: int) -> bool:
        count = whole_number(line.fields.get("count", "1"))
        if count is None or not 0 < count <= _MAX_COUNT:
            return False
        first = line.event == "first_frame_emit"
        stated = 0 if first else whole_number(line.fields.get("idx"))
        index, emit = self._place(request, stated, count)
        request.emits[index if stated is None else stated] = t_ns
        if len(request.emits) > _REMEMBERED_EMITS:
            del request.emits[next(iter(request.emits))]
        request.last_emit = (t_ns, line.fields.get("dt", ""))
        interval_ns = duration_ns(line.fields.get("dt")) if emit > 0 else None
        at_ns = request.start_ns + t_ns
        self._write_spans(request, line, at_ns, index)
        self._out.append(
            FrameEmit(
                at_ns, self._next(), self._proc, 0, request.number, index, emit, count,
                LOG_ROUTE, interval_ns=interval_ns,
            )
        )  # fmt: skip
        return True

    def _write_spans(self, request: Request, line: LogLine, end_ns: int, index: int) -> None:
        """Stage durations of a line, laid one after the other so that the last ends with it.

        Stages that overlapped would reach back before the request; they end at its start.
        """
        stages = []
        for name, text in line.fields.items():
            length_ns = duration_ns(text) if name in _SPANS else None
            if length_ns is not None:
                stages.append((_SPANS[name], length_ns))
        at_ns = end_ns - sum(length_ns for _, length_ns in stages)
        if not self._named_load and any(number == _LOAD for number, _ in stages):
            self._named_load = True
            begin_ns = max(at_ns, request.start_ns)
            self._out.append(Name(begin_ns, self._next(), self._proc, 0, _LOAD, "load"))
        for number, length_ns in stages:
            at_ns += length_ns
            ended_ns = max(at_ns, request.start_ns)
            head = (ended_ns, self._next(), self._proc, 0)
            self._out.append(Span(*head, request.number, index, number, length_ns))

    def _place(self, request: Request, stated: int | None, count: int) -> tuple[int, int]:
        """Index of the emit's first frame, and the emit's number.

        ``idx`` is a frame index; where it grows by less than the frames that were emitted, it
        can only be the number of the emit. Emits whose lines are missing are counted from the
        frames that are missing, so that numbers of neighbours stay neighbours.
        """
        previous = request.index
        if stated == 0:
            index, emit = 0, 0
        elif stated is None:
            if previous is None:
                first = self._pattern is not None
                index, emit = (0, 0) if first else (1, 1)
            else:
                index, emit = previous + request.count, request.emit + 1
        elif previous is None:
            index, emit = stated, -(-stated // count)
        else:
            if request.emit < stated < previous + request.count and stated > previous:
                self._numbers_blocks = True
            if self._numbers_blocks:
                emit = stated
                index = previous + request.count + (emit - request.emit - 1) * count
            else:
                index = stated
                emit = request.emit + 1 - (-(stated - previous - request.count) // count)
            index, emit = max(index, 0), max(emit, 1)
        if previous is None or index > previous:
            request.index, request.emit, request.count = index, emit, count
        return index, emit

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1
