"""The emits that an export has are those of the report, also where nothing is judged."""

from __future__ import annotations

import random

import pytest

from mgtop.analysis.model import Model
from mgtop.export.emits import Emits, Frame, late_frames
from mgtop.wire import records as r

MS, START = 1_000_000, 5_000_000_000
PROC, OTHER = r.proc_of(4242, 77), r.proc_of(4243, 78)
SINK = 2 * r.REQUESTS_OF_A_ROUTE + 1


def in_blocks(sink: bool) -> list[r.AnyRecord]:
    """Four calls in a burst every 200 ms, by a sink or by the probe, with spans around them."""
    log: list[r.AnyRecord] = [r.SessionStart(START, 10**18, 1, "0.1", "a")]
    key, route = (SINK, 2) if sink else (1, 0)
    log.append(r.RequestReceived(START, 0, PROC, 7, key, "a", {}, route))
    t_ns, chance = START, random.Random(7)
    for block in range(30):
        t_ns += 200 * MS + (block == 20) * 400 * MS
        log.append(r.Span(t_ns, 0, PROC, 7, key, 4 * block, 4, 150 * MS))
        for call in range(4):
            t_ns += chance.randrange(1, 4) * MS
            if sink and block == call == 0:
                log.append(r.Sink(t_ns, 0, PROC, 7, key, "cv2.VideoWriter"))
            log.append(r.Span(t_ns, 0, PROC, 7, key, -1, 8, MS // 2))
            number = 4 * block + call
            log.append(r.FrameEmit(t_ns, 0, PROC, 7, key, number, number, 1, route))
        log.append(r.GpuMemory(t_ns + MS, 0, 1 << 30))
    log.append(r.StreamEnd(t_ns, 0, PROC, 7, key))
    return log


def frames(log: list[r.AnyRecord], judge: bool, at_once: int) -> list[Frame]:
    model = Model(judge=judge)
    emits = Emits(model)
    for begin in range(0, len(log), at_once):
        model.feed_all(log[begin : begin + at_once])
    model.finish()
    late = late_frames(model.summary())
    assert bool(late) == judge
    return list(emits.frames(model.about.start_ns, {}))


@pytest.mark.parametrize("sink", [True, False])
def test_without_judgement_the_emits_are_the_same(sink: bool) -> None:
    log = in_blocks(sink)
    judged = frames(log, True, 1000)
    assert judged == frames(log, False, 1000) == frames(log, False, 3)
    assert sum(frame.count for frame in judged) == 120
    assert {frame.count for frame in judged} == ({4} if sink else {1})


def test_what_a_better_route_tells_is_told_once() -> None:
    log = in_blocks(sink=True)
    log += [r.FrameEmit(START + n * MS, 0, PROC, 7, 1, n, n, 1) for n in range(3)]
    told = frames(log, False, 50)
    assert [(frame.request, frame.emit) for frame in told] == [("1", 0), ("1", 1), ("1", 2)]


def test_the_same_id_in_two_processes_is_two_requests() -> None:
    log: list[r.AnyRecord] = [r.SessionStart(START, 10**18, 1, "0.1", "a")]
    for proc in (PROC, OTHER):
        log.append(r.RequestReceived(START, 0, proc, 7, 1, "same", {}))
        for n in range(40):
            t_ns = START + (n + 1) * 100 * MS + (proc == OTHER and n >= 20) * 500 * MS
            log.append(r.FrameEmit(t_ns, 0, proc, 7, 1, n, n, 1))
    log[1:] = sorted(log[1:], key=lambda record: record.t_ns)
    model = Model()
    emits = Emits(model)
    model.feed_all(log)
    model.finish()
    found = emits.frames(START, late_frames(model.summary()))
    assert [(f.pid, f.emit) for f in found if f.cause is not None] == [(4243, 20)]
