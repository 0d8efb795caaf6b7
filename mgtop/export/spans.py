"""The spans of a session: the named work that a program told."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mgtop.analysis.possible import is_possible
from mgtop.analysis.traffic import Traffic
from mgtop.wire import records as r


class Span(msgspec.Struct, frozen=True):
    """A named piece of work of one thread.

    Attributes:
        request: id of the request that it was for; None: of none that is known.
        index: the frame that it was for; None: the program did not say.
        begin_ms: since the session's start.
        cpu_ms, run_delay_ms: what its thread ran, and waited for a core; None: not measured.
    """

    request: str | None
    pid: int
    tid: int
    name: str
    index: int | None
    begin_ms: float
    duration_ms: float
    cpu_ms: float | None
    run_delay_ms: float | None


def spans_of(records: Iterable[r.AnyRecord], traffic: Traffic, begin_ns: int) -> list[Span]:
    """The spans among records that ``traffic`` has been fed, in the order of the log."""
    ids: dict[tuple[int, int], str | None] = {}
    rows = []
    for record in records:
        if type(record) is not r.Span or not is_possible(record):
            continue
        key = (record.proc, record.request)
        if key not in ids:
            request = traffic.worked_for(record)
            ids[key] = None if request is None else request.id
        begin = record.t_ns - record.duration_ns
        rows.append(
            Span(
                request=ids[key],
                pid=r.pid_of(record.proc),
                tid=record.tid,
                name=traffic.span_name(record.proc, record.name),
                index=record.index if record.index >= 0 else None,
                begin_ms=(begin - begin_ns) / 1e6,
                duration_ms=record.duration_ns / 1e6,
                cpu_ms=None if record.cpu_ns is None else record.cpu_ns / 1e6,
                run_delay_ms=None if record.run_delay_ns is None else record.run_delay_ns / 1e6,
            )
        )
    return rows
