"""Streams of a process that serves request after request: what is kept of those that are over."""

from __future__ import annotations

from mgtop.analysis.streams import FEW, WHOLE_ENDED, Streams
from mgtop.wire import records as r

S = 1_000_000_000
PROC = r.proc_of(4242, 1000)


def serve(streams: Streams, request: int, begin_ns: int, emits: int) -> int:
    """A request from begin to end; when its last emit was."""
    for emit in range(emits):
        stream, _ = streams.add(
            r.FrameEmit(begin_ns + emit * S, 0, PROC, 1, request, emit, emit, 1)
        )
    stream.ended = True
    return begin_ns + emits * S


def test_old_requests_that_are_over_are_let_go():
    streams, now = Streams(), 0
    for request in range(1, 40):
        now = serve(streams, request, now, 40)
    assert [s.request for s in streams.of(PROC)] == [39, 38, 37]
    assert streams.latest(PROC, 20) is None


def test_what_is_usual_is_kept_where_requests_are_short():
    streams, now = Streams(), 0
    for request in range(1, 40):
        now = serve(streams, request, now + 60 * S, 1)
    kept = streams.of(PROC)
    assert len(kept) > WHOLE_ENDED
    assert sum(len(s.emits) for s in kept[1:]) > FEW


def test_a_request_that_is_just_over_is_kept():
    streams = Streams()
    for request in range(1, 10):
        serve(streams, request, request, 1)
    assert len(streams.of(PROC)) == 9
