"""The picture that a screen draws: states, ages, windows."""

from __future__ import annotations

import random

from streams import MS, PROC, START, Program

from mgtop.analysis.live import LiveView
from mgtop.analysis.model import Model
from mgtop.analysis.picture import tails_in
from mgtop.wire import records as r

SECOND = 1_000 * MS


def view(program: Program, after_ms: float = 0, columns: int = 20) -> LiveView:
    """The last minute, so many ms after the last record."""
    now = program.now + round(after_ms * MS)
    return program.model(finish=False).view(now, now - 60 * SECOND, now, columns)


# --------------------------------------------------------------------------------- states


def test_the_states_of_a_session_one_after_another():
    program = Program(target_fps=16.0, warmup={"requests": 0, "emits": 2})
    states = [view(program).state]

    def now(after_ms: float = 0) -> None:
        states.append(view(program, after_ms).state)

    program.add(r.Load, False)
    now()
    program.pass_ms(900).add(r.Load, True)
    now()
    program.receive()
    now(300)
    program.emit(400)
    now()
    program.emits([50, 50, 50, 50])
    now()
    now(490)
    now(510)
    program.emit(520)
    now()
    program.end()
    now(5_000)
    program.records.append(r.TargetExit(program.now, 0, None))
    now()
    assert states == [
        "waiting", "loading", "waiting", "waiting", "warm-up", "steady", "steady", "stalled",
        "steady", "waiting", "ended",
    ]  # fmt: skip


def test_an_open_stall_is_flagged_by_the_streams_own_rhythm():
    """Blocks of 750 ms: a second without one is nothing; four blocks' time is."""
    program = Program(target_fps=16.0).receive().emits([0, *[750.0] * 20], count=12)
    assert view(program, 1_000).state == "steady"
    assert view(program, 2_990).state == "steady"
    assert view(program, 3_010).state == "stalled"
    program.records[0] = r.SessionStart(
        START, START, 1, "", "", {},
        {"warmup": {"requests": 0, "emits": 0}, "thresholds": {"stall_intervals": 2.0}},
    )  # fmt: skip
    assert view(program, 1_510).state == "stalled"


def test_the_first_request_is_warm_up_once_another_follows():
    program = Program(warmup={"requests": 2, "emits": 0}).receive().emits([0, *[50] * 9])
    assert view(program).state == "warm-up"
    program.end().receive().emits([0, 50]).end().receive().emits([0, 50])
    assert view(program).state == "steady"


# ----------------------------------------------------------------------------------- ages


def test_only_ages_depend_on_the_time_that_is_asked_for():
    program = Program(target_fps=10.0).receive().emits([0, *[50] * 20])
    model = program.model(finish=False)
    now = program.now
    early = model.view(now, now - 10 * SECOND, now, 10)
    late = model.view(now + 400 * MS, now - 10 * SECOND, now, 10)
    assert (early.last_frame_age_ns, late.last_frame_age_ns) == (0, 400 * MS)
    assert early.slack_ms == 21 * 100 - 20 * 50
    assert late.slack_ms == early.slack_ms - 400
    assert late.elapsed_ns - early.elapsed_ns == 400 * MS
    assert late.summary is early.summary
    assert late.series == early.series


def test_before_the_first_frame_and_after_the_end_there_is_no_age():
    program = Program().receive()
    assert view(program).last_frame_age_ns is None
    assert view(program).slack_ms is None
    program.emits([0, 50])
    program.records.append(r.SessionEnd(program.now, "stopped"))
    ended = view(program, after_ms=9_000)
    assert (ended.last_frame_age_ns, ended.slack_ms) == (None, None)
    assert ended.elapsed_ns == 50 * MS  # time does not go on
    assert not ended.recording


def test_a_clock_behind_the_log_makes_no_negative_age():
    program = Program(target_fps=10.0).receive().emits([0, 50])
    found = view(program, after_ms=-500)
    assert found.last_frame_age_ns == 0


def test_a_person_that_is_waited_for_does_not_use_up_the_slack():
    program = Program(target_fps=10.0).receive().emits([0, 50])
    before = view(program).slack_ms
    program.wait(30_000)
    program.emit(50)
    assert view(program).slack_ms == before + 100 - 50


# -------------------------------------------------------------------------------- windows


def test_tails_of_a_window_are_those_whose_interval_touches_it():
    rnd = random.Random(2)
    program = Program(target_fps=16.0).receive()
    program.emits([0] + [rnd.choice([50] * 12 + [200, 900]) for _ in range(900)])
    model = program.model(finish=False)
    every = model.summary().tails.frames
    assert len(every) > 50
    for _ in range(60):
        begin = START + rnd.randrange(-SECOND, program.now - START + SECOND)
        end = begin + rnd.choice([1, 10 * MS, SECOND, 20 * SECOND])
        found = model.view(program.now, begin, end, 5).tails
        expected = [
            tail
            for tail in every
            if START + round(tail.t_ms * MS) >= begin
            and START + round((tail.t_ms - tail.interval_ms) * MS) < end
        ]
        assert [mark.tail for mark in found] == expected
        assert all(mark.t_ns == START + round(mark.tail.t_ms * MS) for mark in found)
        assert all(mark.t_ns - mark.begin_ns == mark.tail.interval_ms * MS for mark in found)
    assert tails_in([], START, START, START + 1, 0.0) == []


def test_marks_of_a_window():
    program = Program().receive().emits([0, 50])
    model = program.model(finish=False)
    for t in (5, 1, 3, 9):
        model.feed(r.Mark(START + t * MS, 0, 0, 0, "m"))
    found = model.view(program.now, START + MS, START + 9 * MS, 5)
    assert found.marks_ns == [START + t * MS for t in (1, 3, 5)]


def test_the_interval_and_the_slack_are_drawn():
    program = Program(target_fps=16.0).receive().emits([0, *[50] * 100, 400, *[50] * 20])
    found = view(program, columns=60)
    interval, slack = found.series["interval"], found.series["slack"]
    drawn = [value for value in interval.high if value is not None]
    assert max(drawn) == 400
    assert interval.last == 50
    assert slack.last is not None
    assert len(interval.high) == len(slack.low) == 60


def test_the_slack_is_nothing_while_the_picture_stands_still():
    program = Program(target_fps=10.0).receive().emits([0, *[100] * 29, 2_100, *[100] * 9])
    now = program.now
    slack = program.model().view(now, now - 6 * SECOND, now, 60).series["slack"]
    stall_began = 60 - 9 - 20
    assert slack.high[stall_began : stall_began + 19] == [0.0] * 19
    assert slack.high[stall_began + 20] == 100


def test_the_slack_falls_from_one_emit_to_the_next():
    program = Program(target_fps=2.0).receive().emits([0, *[450] * 12])
    now = program.now
    slack = program.model().view(now, now - 4 * SECOND, now, 40).series["slack"]
    assert None not in slack.low
    falls = [b < a for a, b in zip(slack.low, slack.low[1:], strict=False)]
    assert falls.count(True) > 25  # and jumps at nine emits
    assert min(slack.low) > 0


def test_cores_are_those_of_the_machine():
    program = Program()
    assert view(program).cores is None
    program.records.append(r.HostCpu(START, 24, 0, 0, None, 1, 1))
    assert view(program).cores == 24


def test_a_request_that_was_dropped_is_not_the_newest():
    model = Model()
    model.feed(r.FrameEmit(START, 0, PROC, 0, 1, 0, 0, 1, 3))
    model.feed(r.FrameEmit(START + 50 * MS, 0, PROC, 11, 1, 0, 0, 1, 0))
    assert model.traffic.newest is model.traffic.requests[0]
    assert model.view(START + 80 * MS, START, START + SECOND, 4).last_frame_age_ns == 30 * MS
