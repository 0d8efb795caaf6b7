"""One request: its intervals, what is missing, its waits, its figures."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import METHOD_LOG, MS, PROC, START, TID, Program

from mgtop.analysis.gaps import MOST, Gaps
from mgtop.analysis.model import Model
from mgtop.analysis.requests import LATE_START, OUT_OF_ORDER, UNTOLD
from mgtop.analysis.summary import RequestSummary
from mgtop.analysis.waits import waited_ns
from mgtop.wire import records as r

STEADY = [50.0] * 20


def only(program: Program) -> RequestSummary:
    (request,) = program.summary().requests
    return request


# ------------------------------------------------------------------- the log of the method


def test_the_right_reading_of_the_log_with_missing_lines():
    model = Model()
    model.feed_all(METHOD_LOG)
    found = model.summary()
    (request,) = found.requests
    assert (request.id, request.warmup, request.ended) == ("7f3a", False, True)
    assert request.params == {"w": 1280, "h": 720, "steps": 24, "fps": 16}
    assert (request.received_ms, request.preprocess_ms, request.first_frame_ms) == (0, 38, 1120)
    assert request.spans == {"decode": 14, "resize": 10, "h2d": 6}
    first = found.first_frame_ms
    assert (first.count, first.p50, first.max) == (1, 1120, 1120)
    assert (first.preprocess_p50, first.sampling_p50) == (38, 1082)
    # Intervals 48, 51, 214, 42: 471 ms between the lines of index 2 and 11 is none.
    assert (found.interval_ms.count, found.interval_ms.max) == (4, 214)
    assert found.interval_ms.p50 == 49.5
    assert found.interval_ms == request.interval_ms
    assert found.frame_interval_ms.p50 == 49.5
    assert found.fps == pytest.approx(4e3 / 355)
    assert found.rtf == pytest.approx(49.5 / 62.5)
    (tail,) = found.tails.frames
    assert (tail.index, tail.emit, tail.interval_ms, tail.excess_ms) == (11, 11, 214, 166)
    assert (tail.t_ms, tail.visible, tail.final) == (1690, False, True)
    assert found.tails.share_of_lost == 1.0
    assert found.tails.placement.kind == "unknown"
    assert found.playout.target_fps == 16
    assert (found.playout.underruns, found.playout.smooth_buffer_ms) == (0, 0)
    assert found.verdict.code == "stalls"
    assert found.verdict.text.startswith(
        "Steady rhythm with occasional stalls, not a slow first frame: "
    )
    assert found.target.route == "log"
    assert found.session.params == request.params
    assert not found.session.live


def test_what_is_missing_from_it_is_counted():
    model = Model()
    model.feed_all(METHOD_LOG)
    (request,) = model.summary().requests
    # The program counts 30 frames, so 29 intervals; 4 are known. The log shows 5 emits.
    assert (request.frames, request.blocks) == (30, 5)
    assert request.unknown_intervals == 25
    assert request.note == "5 of 30 frames are in the log"
    # Before its end is told, only what lies between the lines is known to be missing.
    model = Model()
    model.feed_all(METHOD_LOG[:-2])
    (request,) = model.summary().requests
    assert (request.frames, request.unknown_intervals) == (13, 8)
    assert request.note == "5 of 13 frames are in the log"


# ------------------------------------------------------------------------ what is missing


def test_a_lost_emit_leaves_two_intervals_unknown():
    program = Program().receive().emits([0, 50, 50]).lose(after_ms=50)
    program.emits([50, 50, 50])
    request = only(program)
    assert request.interval_ms.count == 4
    assert request.interval_ms.max == 50  # never the 100 across the gap
    assert request.unknown_intervals == 2
    assert (request.frames, request.blocks) == (7, 6)
    assert request.note == "6 of 7 frames are in the log"


def test_lost_blocks_are_counted_in_frames():
    program = Program().receive().emits([0, 375], count=12).lose(3, count=12, after_ms=1_125)
    program.emits([375, 375], count=12)
    request = only(program)
    assert (request.frames, request.blocks, request.unknown_intervals) == (84, 4, 4)


def test_the_first_frame_lost_is_a_latency_unknown():
    program = Program().receive().pass_ms(900).lose(after_ms=50)
    program.emits([50, 50])
    request = only(program)
    assert request.first_frame_ms is None
    assert program.summary().first_frame_ms.count == 0
    assert (request.frames, request.interval_ms.count, request.unknown_intervals) == (3, 1, 1)


def test_a_request_whose_beginning_was_before_the_recording():
    """Only its own intervals are missing, not the thousands before."""
    program = Program()
    program.request, program.next[1] = 1, (5_000, 60_000)
    program.emits([0, 375, 375, 375], count=12)
    request = only(program)
    assert (request.received_ms, request.first_frame_ms) == (None, None)
    assert request.interval_ms.count == 3
    assert request.unknown_intervals == 1
    assert (request.frames, request.note) == (48, LATE_START)


@pytest.mark.parametrize(
    ("told", "frames", "note"),
    [
        (None, 21, None),
        (21, 21, None),
        (30, 30, "21 of 30 frames are in the log"),
        (19, 21, "the program counts 19 frames"),
    ],
)
def test_the_program_says_how_many_frames_it_made(told: int | None, frames: int, note: str | None):
    request = only(Program().receive().emits([0, *STEADY]).end(frames=told))
    assert (request.frames, request.blocks, request.note) == (frames, 21, note)
    # The probe numbers its emits: what it says at the end is no emit that is missing here.
    assert request.unknown_intervals == 0


def test_a_log_that_stops_early_lacks_blocks_of_the_usual_size():
    records = [
        r.RequestReceived(0, 0, 0, 0, 1, "a", {}, 3),
        *(r.FrameEmit((i + 1) * 300 * MS, 0, 0, 0, 1, 4 * i, i, 4, 3) for i in range(5)),
        r.StreamEnd(9_000 * MS, 0, 0, 0, 1, 33),
    ]
    model = Model()
    model.feed_all(records)
    (request,) = model.summary().requests
    assert (request.frames, request.unknown_intervals) == (33, 4)  # 13 frames: 4, 4, 4, 1


def test_a_program_may_number_its_frames_as_it_likes():
    program = Program().receive()
    for index in (0, 1, 5, 9, 4):
        program.emit(50, index=index)
    request = only(program)
    assert request.interval_ms.count == 4  # emits follow each other: nothing is missing
    assert (request.frames, request.unknown_intervals, request.note) == (5, 0, None)


# ------------------------------------------------------------------ repeated, late, damaged


def test_an_emit_told_twice_counts_once():
    program = Program().receive().emits([0, 50, 50])
    again = program.records[-1]
    program.emits([50])
    program.records += [again, program.records[2], again]
    program.emits([50])
    request = only(program)
    assert (request.frames, request.blocks, request.interval_ms.count) == (5, 5, 4)
    assert request.interval_ms.max == 50


def test_a_late_emit_fills_its_gap():
    program = Program().receive().emits([0, 50, 50, 50, 50])
    records = program.records
    records[4], records[5] = records[5], records[4]  # emit 3 before emit 2
    program.emits([50])
    request = only(program)
    assert (request.frames, request.blocks, request.note) == (6, 6, OUT_OF_ORDER)
    assert (request.interval_ms.count, request.unknown_intervals) == (3, 2)
    records.append(records[5])
    assert only(program) == request


@given(st.permutations(range(8)))
@settings(max_examples=60, deadline=None)
def test_any_order_counts_every_frame_once(order: list[int]):
    program = Program().receive().emits([0, *[50] * 7], count=3)
    emits = program.records[2:]
    program.records[2:] = [emits[i] for i in order] + [emits[i] for i in order]
    request = only(program)
    assert (request.frames, request.blocks) == (24, 8)
    assert request.interval_ms.count + request.unknown_intervals == 7
    assert request.interval_ms.max in (50, None)


def test_times_that_go_backwards_are_no_interval():
    program = Program().receive().emits([0, 50, -30, 50])
    request = only(program)
    assert (request.interval_ms.count, request.unknown_intervals) == (2, 1)
    assert request.note == OUT_OF_ORDER


def test_a_latency_that_is_negative_is_not_known():
    program = Program().receive().prepared(-20)
    program.emit(-5)
    request = only(program)
    assert (request.preprocess_ms, request.first_frame_ms) == (None, None)


@pytest.mark.parametrize(
    ("stated", "known", "unknown"), [(48 * MS, 48, 0), (0, 0, 0), (-5 * MS, None, 1)]
)
def test_an_interval_is_what_the_log_states(stated: int, known: float | None, unknown: int):
    program = Program().receive()
    program.emit(0)
    program.emit(90, interval_ns=stated)
    request = only(program)
    assert (request.interval_ms.max, request.unknown_intervals) == (known, unknown)


def test_gaps_know_what_is_missing():
    rnd = random.Random(1)
    gaps, missing, end = Gaps(), set(), 0
    for _ in range(40):
        begin, end = end + rnd.randint(1, 3), end + rnd.randint(4, 9)
        gaps.add(begin, end)
        missing |= set(range(begin, end))
    for number in rnd.sample(range(end + 5), end):
        assert (number in gaps) == (number in missing)
        gaps.remove(number)
        missing.discard(number)
    assert all((number in gaps) == (number in missing) for number in range(end + 5))
    for i in range(2 * MOST):
        gaps.add(end + 2 * i + 1, end + 2 * i + 2)
    assert end + 1 not in gaps  # given up
    assert end + 4 * MOST - 1 in gaps
    assert not Gaps()


# ------------------------------------------------------------- requests not told apart


def test_frames_that_cannot_be_told_apart_have_no_intervals():
    program = Program(target_fps=16.0)
    program.emits([0, 50, 50])  # request 0
    found = program.summary()
    (request,) = found.requests
    assert (request.id, request.frames, request.note) == ("?", 3, UNTOLD)
    assert request.interval_ms.count == found.interval_ms.count == 0
    assert request.unknown_intervals == 3
    assert (request.first_frame_ms, request.playout.underruns) == (None, None)
    assert found.fps is None
    assert found.verdict.code == "undecided"


# ------------------------------------------------------------------------- a person waits


def test_time_spent_waiting_for_a_person_is_in_no_interval():
    program = Program().receive().emits([0, *STEADY])
    program.wait(7_000)
    program.emits([50, 50])
    found = program.summary()
    assert (found.interval_ms.count, found.interval_ms.max) == (22, 50)
    assert found.tails.count == 0
    assert found.fps == pytest.approx(20)


def test_a_stall_beside_a_wait_is_still_seen():
    program = Program().receive().emits([0, *STEADY])
    program.wait(3_000)
    program.emits([450])
    (tail,) = program.tails()
    assert (tail.interval_ms, tail.excess_ms) == (450, 400)


def test_an_interval_of_nothing_but_waiting_is_none():
    program = Program().receive().emits([0, 50]).wait(500)
    program.emits([0, 50])
    request = only(program)
    assert (request.interval_ms.count, request.unknown_intervals, request.note) == (2, 0, None)


def test_waits_that_overlap_count_once():
    waits = [r.Wait(end * MS, 0, PROC, TID, length * MS) for end, length in
             ((100, 50), (120, 60), (130, 5), (400, 20))]  # fmt: skip
    assert waited_ns(waits, 40 * MS, 300 * MS) == (120 - 50 + 5) * MS
    assert waited_ns(waits, 60 * MS, 110 * MS) == 50 * MS
    assert waited_ns([], 0, 300) == 0


def test_a_thread_that_waits_beside_the_work_holds_nothing_up():
    """A reader of keys waits for seconds while frames go on coming."""
    program = Program().receive().emits([0, *STEADY])
    now = program.now
    program.wait(0, tid=99)
    program.records[-1] = r.Wait(now + 20 * MS, 0, PROC, 99, 600 * MS)
    program.emits([50, *STEADY])
    found = program.summary()
    assert (found.interval_ms.p50, found.interval_ms.count) == (50, 41)
    assert found.frame_interval_ms.p50 == 50
    assert found.interval_ms.max == 50


def test_another_thread_that_feeds_the_work_holds_it_up():
    """The last frame is on its way out in one thread when another one begins to wait."""
    program = Program().receive().emits([0, *STEADY])
    wait_from = program.now - 10 * MS
    program.pass_ms(4_000)
    program.add(r.Wait, program.now - wait_from, tid=99)
    program.emits([50, 50])
    found = program.summary()
    assert found.interval_ms.max == pytest.approx(50, abs=11)
    assert found.tails.count == 0


def test_a_wait_of_another_request_counts_only_for_its_own():
    program = Program().receive().receive()
    for _ in range(10):
        program.emit(25, request=1)
        program.emit(25, request=2, tid=12)
    program.wait(30, tid=12)
    program.emit(-5, request=1)
    program.emit(25, request=2, tid=12)
    by_id = {request.id: request for request in program.summary().requests}
    assert by_id["r1"].interval_ms.max == 50
    assert by_id["r2"].interval_ms.max == 50
    assert by_id["r2"].interval_ms.count == 10


# -------------------------------------------------------------------------- spans and CPU


def test_spans_are_added_up_per_emit():
    program = Program().receive()
    for _ in range(9):
        program.span("forward", 10).span("forward", 20).span("encode", 5)
        program.emit(1)
    assert only(program).spans == {"forward": 30, "encode": 5}


def test_spans_of_the_warm_up_serve_where_there_are_no_others():
    program = Program(warmup={"requests": 0, "emits": 2}).receive()
    program.span("decode", 14).span("forward", 900)
    program.emit(0)
    for _ in range(5):
        program.span("forward", 40)
        program.emit(0)
    assert only(program).spans == {"decode": 14, "forward": 40}


def test_the_share_of_a_core_is_the_emitting_threads():
    program = Program().receive()
    for i in range(10):
        program.emit(50, cpu_ns=i * 30 * MS)
    assert only(program).cpu_share == pytest.approx(0.6)
    program = Program().receive()
    for i in range(10):
        program.emit(50, cpu_ns=i * 30 * MS, tid=11 + i)
    assert only(program).cpu_share is None


def test_concurrent_requests_have_intervals_of_their_own():
    program = Program(target_fps=10.0).receive().receive()
    for _ in range(30):
        program.emit(30, request=1)
        program.emit(20, request=2)
    found = program.summary()
    assert [q.interval_ms.p50 for q in found.requests] == [50, 50]
    assert found.interval_ms.count == 58
    assert found.tails.count == 0
    # Time is counted once where requests overlap: 58 frames in 1,470 ms.
    assert found.fps == pytest.approx(58e3 / 1_470)
    assert found.rtf == 0.5


def test_marks_stand_at_the_request_that_ran():
    program = Program().receive().emits([0, 50, 50])
    program.pass_ms(10).add(r.Mark, "scene change")
    program.emits([40]).end().pass_ms(500).add(r.Mark, "nothing runs")
    program.receive().emits([10, 50, 50])
    model = program.model()
    model.feed(r.Mark(program.now + 5 * MS, 0, 0, 0, "seen by a viewer"))
    model.feed(r.Mark(START - MS, 0, 0, 0, "before"))
    marks = [(mark.note, mark.request, mark.index) for mark in model.summary().marks]
    assert marks == [
        ("before", None, None),
        ("scene change", "r1", 2),
        ("nothing runs", None, None),
        ("seen by a viewer", "r2", 2),
    ]


# ------------------------------------------------------------------------------- delivery


def test_what_became_of_the_frames():
    model = Model()
    model.feed_all(METHOD_LOG[:-2])
    (request,) = model.summary().requests
    assert (request.produced, request.delivered, request.dropped) == (13, None, None)
    model.feed(r.Delivery(1740 * MS, 11, 0, 0, 1, 9, 2, 1))
    model.feed(r.Delivery(1735 * MS, 10, 0, 0, 1, 4, 0, 0))  # overtaken by the one before
    (request,) = model.summary().requests
    assert (request.delivered, request.dropped, request.duplicated) == (9, 2, 1)


def test_delivery_of_a_request_that_nobody_knows():
    model = Model()
    model.feed(r.Delivery(10 * MS, 1, PROC, TID, 7, 9, 2, 1))
    assert model.summary().requests == []
