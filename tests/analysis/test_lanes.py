"""Several requests at once: a lane each, and none where they only follow each other."""

from __future__ import annotations

from mgtop.analysis.lanes import MOST_LANES
from mgtop.analysis.live import LiveView
from mgtop.analysis.model import Model
from mgtop.wire.records import FrameEmit, Hello, RequestReceived, StreamEnd, proc_of

MS = 1_000_000
S = 1_000 * MS
PROC = proc_of(4242, 7)


class Program:
    """Sends what a probe would."""

    def __init__(self) -> None:
        self.model = Model()
        self.now_ns = 10 * S
        self._seq = 0
        self._emits: dict[tuple[int, int], int] = {}

    def receive(self, request: int, proc: int = PROC) -> None:
        self._seq += 1
        self.model.feed(RequestReceived(self.now_ns, self._seq, proc, 1, request, f"r{request}"))

    def emit(self, request: int, proc: int = PROC) -> None:
        self._seq += 1
        emit = self._emits.get((proc, request), 0)
        self._emits[proc, request] = emit + 1
        self.model.feed(FrameEmit(self.now_ns, self._seq, proc, 1, request, emit, emit, 1))

    def end(self, request: int) -> None:
        self._seq += 1
        self.model.feed(StreamEnd(self.now_ns, self._seq, PROC, 1, request))

    def together(self, *requests: int, times: int = 10) -> None:
        for _ in range(times):
            for request in requests:
                self.now_ns += 20 * MS
                self.emit(request)

    def view(self) -> LiveView:
        return self.model.view(self.now_ns, 10 * S, 20 * S, 100)


def test_requests_one_after_the_other_need_no_lanes() -> None:
    program = Program()
    for request in range(1, 6):
        program.receive(request)
        program.together(request)
    assert program.view().lanes == []


def test_the_word_that_one_is_over_may_come_after_the_next_ones_first_frame() -> None:
    program = Program()
    program.together(1)
    program.together(2, times=2)
    program.end(1)
    program.together(2)
    program.together(3, times=1)
    program.end(2)
    assert program.view().lanes == []


def test_requests_at_once_have_a_lane_each() -> None:
    program = Program()
    for request in (1, 2, 3):
        program.receive(request)
    program.together(1, 2, 3)
    view = program.view()
    assert sorted(lane.label for lane in view.lanes) == ["r1", "r2", "r3"]
    assert all(lane.open for lane in view.lanes)
    for lane in view.lanes:
        known = [value for value in view.series[lane.key].high if value is not None]
        assert {round(value) for value in known} == {60}


def test_a_lane_is_taken_again() -> None:
    program = Program()
    program.together(1, 2, 3)
    program.end(2)
    assert [lane.open for lane in program.view().lanes].count(False) == 1
    program.together(1, 4, 3)
    view = program.view()
    assert len(view.lanes) == 3
    assert {lane.label for lane in view.lanes} == {"1", "4", "3"}


def test_memory_is_bounded() -> None:
    program = Program()
    many = range(1, MOST_LANES + 6)
    program.together(*many, times=4)
    view = program.view()
    assert len(view.lanes) == MOST_LANES
    assert view.requests_without_lane == 5


def test_ranks_come_in_their_order_and_are_named() -> None:
    program = Program()
    procs = [proc_of(100 + n, 7) for n in range(3)]
    for rank, proc in ((2, procs[0]), (0, procs[1]), (1, procs[2])):
        program.model.feed(Hello(program.now_ns, 1, proc, 1, "1", "3.11", rank=rank))
    for _ in range(5):
        for proc in procs:
            program.now_ns += 10 * MS
            program.emit(1, proc)
    assert [lane.label for lane in program.view().lanes] == ["rank 0 1", "rank 1 1", "rank 2 1"]
