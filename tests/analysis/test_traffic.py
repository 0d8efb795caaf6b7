"""Which requests count: warm-up, routes, processes."""

from __future__ import annotations

import pytest
from streams import MS, PROC, START, Program

from mgtop.analysis.model import Model
from mgtop.analysis.summary import Summary
from mgtop.wire import records as r

PROBE, HOOKS, SINKS, LOG = (r.ROUTES.index(name) for name in ("probe", "hooks", "sinks", "log"))
AUTO = {"requests": "auto", "emits": 0}


def warm(found: Summary) -> list[bool]:
    return [request.warmup for request in found.requests]


def ids(found: Summary) -> list[str]:
    return [request.id for request in found.requests]


# -------------------------------------------------------------------------------- warm-up


def test_the_only_request_is_never_left_out():
    found = Program(warmup=AUTO).receive().emits([0, 50, 50]).end().summary()
    assert warm(found) == [False]
    assert (found.interval_ms.count, found.first_frame_ms.count) == (2, 1)


def test_the_first_request_is_left_out_where_another_follows():
    program = Program(warmup=AUTO).receive().emits([2_000, *[90] * 9]).end()
    program.receive().emits([700, *[50] * 9]).end()
    found = program.summary()
    assert warm(found) == [True, False]
    assert (found.interval_ms.count, found.interval_ms.max) == (9, 50)
    assert (found.first_frame_ms.count, found.first_frame_ms.p50) == (1, 700)
    assert found.requests[0].interval_ms.p50 == 90  # shown, apart


def test_it_counts_until_the_other_one_has_a_frame():
    """Otherwise a session that ends there would have no figures at all."""
    program = Program(warmup=AUTO).receive().emits([0, 90, 90]).end().receive()
    assert warm(program.summary()) == [False, False]
    program.emit(400)
    found = program.summary()
    assert warm(found) == [True, False]
    assert found.interval_ms.count == 0


def test_only_one_that_begins_after_its_end_follows():
    program = Program(warmup=AUTO).receive().receive()  # at once
    for _ in range(5):
        program.emit(25, request=1)
        program.emit(25, request=2)
    assert warm(program.summary()) == [False, False]
    program.add(r.StreamEnd, 1, None)
    program.emit(25, request=2)
    assert warm(program.summary()) == [False, False]
    program.receive().emits([0, 50])
    assert warm(program.summary()) == [True, False, False]


def test_a_first_request_whose_end_was_not_told_is_over_once_it_is_silent():
    program = Program(warmup=AUTO).receive().emits([0, *[400] * 10])
    program.receive().emits([500, 50, 50])
    assert warm(program.summary()) == [False, False]  # it may yet go on
    program.emits([50] * 60)
    found = program.summary()
    assert warm(found) == [True, False]
    assert found.interval_ms.max == 50
    assert found.first_frame_ms.count == 1


def test_the_first_of_each_process_is_left_out():
    program = Program(warmup=AUTO)
    other = r.proc_of(4343, 1000)
    for proc, number in ((PROC, 1), (other, 1), (PROC, 2), (other, 2), (other, 3)):
        program.proc = proc
        program.receive(number=number).emits([0, 50, 50]).end()
    found = program.summary()
    assert warm(found) == [True, True, False, False, False]
    assert found.interval_ms.count == 6


@pytest.mark.parametrize(("requests", "left_out"), [(0, 0), (1, 1), (2, 2), (9, 4)])
def test_a_number_of_requests_is_left_out(requests: int, left_out: int):
    program = Program(warmup={"requests": requests, "emits": 0})
    for _ in range(4):
        program.receive().emits([0, 50, 50]).end()
    found = program.summary()
    assert warm(found) == [True] * left_out + [False] * (4 - left_out)
    assert found.interval_ms.count == 2 * (4 - left_out)


@pytest.mark.parametrize(("emits", "intervals"), [(0, 5), (1, 5), (2, 4), (4, 2), (9, 0)])
def test_the_first_emits_of_each_request_are_left_out(emits: int, intervals: int):
    program = Program(warmup={"requests": 0, "emits": emits})
    for _ in range(2):
        program.receive().emits([0, *range(50, 55)]).end()
    found = program.summary()
    assert found.interval_ms.count == 2 * intervals
    assert [q.interval_ms.count for q in found.requests] == [intervals] * 2
    assert found.first_frame_ms.count == 2
    assert found.requests[0].frames == 6  # shown all the same


def test_by_default_the_first_request_and_two_emits_are_left_out():
    program = Program()
    program.records[0] = r.SessionStart(START, START, 1, "", "", {}, {})
    for _ in range(2):
        program.receive().emits([0, *[50] * 5]).end()
    found = program.summary()
    assert warm(found) == [True, False]
    assert found.interval_ms.count == 4


def test_warm_up_begins_anew_when_the_weights_are_loaded_again():
    program = Program(warmup={"requests": 1, "emits": 0})
    for _ in range(2):
        program.add(r.Load, False)
        program.pass_ms(5_000).add(r.Load, True)
        for _ in range(3):
            program.receive().emits([0, 50]).end()
    assert warm(program.summary()) == [True, False, False] * 2


@pytest.mark.parametrize("wanted", ["auto", 1])
def test_the_first_request_of_a_recording_that_began_later_is_no_warm_up(wanted: object):
    """The process numbers its requests: this one is its fortieth."""
    program = Program(warmup={"requests": wanted, "emits": 0})
    program.receive(number=40).emits([0, 50, 50]).end()
    program.receive().emits([0, 50, 50]).end()
    found = program.summary()
    assert warm(found) == [False, False]
    assert found.interval_ms.count == 4


def test_loading_while_a_request_runs_belongs_to_that_request():
    program = Program(warmup={"requests": 1, "emits": 0}).receive()
    program.add(r.Load, False)
    program.pass_ms(5_000).add(r.Load, True)
    program.emits([0, 50]).end().receive().emits([0, 50]).end()
    assert warm(program.summary()) == [True, False]


def test_tails_of_a_request_that_becomes_warm_up_leave_the_statistics():
    program = Program(warmup=AUTO).receive().emits([0, *[50] * 20, 400, *[50] * 60]).end()
    program.pass_ms(2_500).beat()
    model = program.model(finish=False)
    found = model.summary()
    assert (found.tails.count, found.tails.warmup, found.tails.lost_ms) == (1, 0, 350)
    assert set(found.causes) == {"unexplained"}
    end = len(program.records)
    program.receive().emits([0, *[50] * 9])
    model.feed_all(program.records[end:])
    found = model.summary()
    assert (found.tails.count, found.tails.warmup, found.tails.lost_ms) == (0, 1, 0)
    assert found.causes == {}
    assert found.tails.placement.kind == "start"
    assert found.requests[0].tails == 1


# --------------------------------------------------------------------------------- routes


def told_by(route: int, number: int, begin_ms: float, emits: int = 6) -> list[r.AnyRecord]:
    """A request as one route tells of it; a text log knows no threads."""
    tid = 0 if route == LOG else 11
    begin = START + round(begin_ms * MS)
    head = (0, PROC, tid, number)
    return [
        r.RequestReceived(begin, *head, f"{r.ROUTES[route]}{number}", {}, route),
        *(
            r.FrameEmit(begin + (100 + 50 * i) * MS, *head, i, i, 1, route)
            for i in range(emits)
        ),
        r.StreamEnd(begin + (101 + 50 * emits) * MS, *head, emits),
    ]  # fmt: skip


def session(*told: list[r.AnyRecord]) -> Model:
    """Records of several routes in the order of time; equal times in the order given."""
    model = Model()
    model.feed(Program().records[0])
    model.feed_all(sorted((one for row in told for one in row), key=lambda one: one.t_ns))
    return model


def test_the_best_route_that_speaks_is_believed():
    for better, worse in ((PROBE, HOOKS), (PROBE, LOG), (HOOKS, SINKS), (SINKS, LOG)):
        for order in ((better, worse), (worse, better)):
            model = session(*(told_by(route, 1, 0) for route in order))
            model.finish()
            found = model.summary()
            assert ids(found) == [f"{r.ROUTES[better]}1"]
            assert found.target.route == r.ROUTES[better]
            known = 0 if better == SINKS else 5  # of six calls it is not known what they are
            assert (found.requests[0].frames, found.interval_ms.count) == (6, known)
            assert found.requests[0].ended


def test_a_route_that_speaks_later_takes_over_without_counting_twice():
    """The log tells of three requests; the probe comes in at the second."""
    model = session(
        *(told_by(LOG, n, 1_000 * n) for n in (1, 2, 3)),
        *(told_by(PROBE, n - 1, 1_000 * n + 0.5) for n in (2, 3)),
    )
    found = model.summary()
    assert ids(found) == ["log1", "probe1", "probe2"]
    assert [request.frames for request in found.requests] == [6, 6, 6]
    assert found.interval_ms.count == 15
    assert all(request.ended for request in found.requests)


def test_what_was_found_before_the_program_spoke_is_no_request_of_it():
    """A clip that it wrote to warm up, say; of a log, what it told to its end stays."""
    found = r.REQUESTS_OF_A_ROUTE * SINKS + 1
    model = Model()
    model.feed(r.SessionStart(START, START, 1, "", "", {}, {"warmup": AUTO}))
    model.feed_all(
        [*told_by(SINKS, found, 0), *told_by(PROBE, 1, 1_000), *told_by(PROBE, 2, 2_000)]
    )
    summary = model.summary()
    assert ids(summary) == ["probe1", "probe2"]
    assert warm(summary) == [True, False]


def test_each_route_numbers_its_requests_from_one():
    model = Model()
    model.feed(r.SessionStart(START, START, 1, "", "", {}, {"warmup": AUTO}))
    first = r.REQUESTS_OF_A_ROUTE * HOOKS + 1
    model.feed_all([*told_by(HOOKS, first, 0), *told_by(HOOKS, first + 1, 1_000)])
    assert warm(model.summary()) == [True, False]
    program = Program()
    program.emit(0, request=first, route=HOOKS)
    assert ids(program.summary()) == ["1"]


def test_warm_up_is_counted_across_routes():
    model = Model()
    model.feed(r.SessionStart(START, START, 1, "", "", {}, {"warmup": AUTO}))
    told = [*told_by(LOG, 1, 0), *told_by(PROBE, 1, 1_000), *told_by(PROBE, 2, 2_000)]
    model.feed_all(told)
    found = model.summary()
    assert ids(found) == ["log1", "probe1", "probe2"]
    assert warm(found) == [True, False, False]
    assert found.interval_ms.count == 10


def test_tails_of_a_route_that_is_overruled_are_gone():
    log = Program(tid=0).receive(route=LOG)
    for after in (0, *[50] * 20, 300, *[50] * 60):
        log.emit(after, route=LOG)
    model = log.model(finish=False)
    model.feed(r.SourceState(log.now + MS, "probe", "ok", "", None, log.now))
    assert model.summary().tails.count == 1
    model.feed(r.FrameEmit(log.now + 50 * MS, 0, PROC, 11, 9, 0, 0, 1, PROBE))
    found = model.summary()
    assert (found.tails.count, found.tails.lost_ms, found.interval_ms.count) == (0, 0, 0)
    assert ids(found) == ["9"]
    model.finish()
    assert model.summary().tails.count == 0


def test_the_end_that_a_log_tells_is_not_the_probes():
    """Both number their requests from 1, and mean others."""
    model = session(told_by(PROBE, 1, 0, emits=30), told_by(LOG, 1, 10, emits=3))
    found = model.summary()
    assert ids(found) == ["probe1"]
    assert (found.requests[0].frames, found.interval_ms.count) == (30, 29)


def test_frames_after_the_end_are_still_its_own():
    program = Program().receive().emits([0, 50]).end()
    program.emit(50)
    found = program.summary()
    assert ids(found) == ["r1"]
    assert (found.requests[0].frames, found.interval_ms.count) == (3, 2)


def test_a_request_that_is_received_twice_is_one():
    program = Program().receive().emits([0, 50])
    program.records.append(program.records[1])
    program.emit(50)
    found = program.summary()
    assert ids(found) == ["r1"]
    assert found.requests[0].received_ms == 0


# ------------------------------------------------------------------------------- the rest


def test_the_target_rate_is_the_settings_or_else_the_requests():
    assert Program().receive(fps=24).emits([0, 50]).summary().playout.target_fps == 24
    found = Program(target_fps=16.0).receive(fps=24).emits([0, 50]).summary()
    assert found.playout.target_fps == 16
    two = Program().receive(fps=10).emits([0, 50, 50]).end()
    two.receive(fps=40).emits([0, 50, 50]).end()
    assert two.summary().rtf == pytest.approx((0.5 + 2.0) / 2)


def test_intervals_of_the_commonest_size_and_the_rest_apart():
    program = Program().receive()
    program.emit(0, 9)
    program.emits([600] * 20, count=12).emits([200, 210], count=4).emits([700], count=12)
    found = program.summary()
    assert (found.interval_ms.count, found.interval_ms.p50, found.interval_ms.max) == (21, 600, 700)
    assert {size: q.count for size, q in found.interval_ms_by_count.items()} == {"4": 2, "12": 21}
    assert found.frame_interval_ms.count == 21 * 12 + 2 * 4
    assert found.frame_interval_ms.p50 == 50


def test_a_span_without_a_request_belongs_to_the_only_open_one():
    program = Program().receive()
    for _ in range(3):
        program.add(r.Span, 0, -1, 4, 30 * MS)
        program.emit(40)
    assert program.summary().requests[0].spans == {"forward": 30}
    program.receive()
    program.add(r.Span, 0, -1, 5, 30 * MS)
    program.emit(40)
    assert program.summary().requests[1].spans == {}


def test_spans_have_the_names_that_the_program_gives():
    program = Program().receive()
    program.add(r.Name, 16, "attention")
    program.add(r.Span, 1, 0, 16, 7 * MS)
    program.add(r.Span, 1, 0, 17, 3 * MS)
    program.emit(40)
    assert program.summary().requests[0].spans == {"attention": 7, "span 17": 3}
