"""From an input to the first frame whose work began after it."""

from __future__ import annotations

import pytest
from streams import MS, PROC, Program

from mgtop.analysis.summary import ActionToFrame
from mgtop.report.text import render
from mgtop.wire import records as r


def act(program: Program, **named: int) -> None:
    program.add(r.Action, "input", **named)


def found(program: Program) -> ActionToFrame:
    return program.summary().action_to_frame_ms


def test_the_emit_on_its_way_does_not_count() -> None:
    program = Program().receive().emits([50, 50])
    program.pass_ms(20)
    act(program)
    program.emits([30, 50, 50])
    told = found(program)
    # It came 20 ms into a frame: the frame after that one began after it.
    assert (told.count, told.p50, told.rule) == (1, 80, "emits")
    assert (told.actions, told.unanswered) == (1, 0)


def test_after_a_wait_the_very_next_emit_is_the_answer() -> None:
    program = Program().receive().emits([50, 50])
    for _ in range(3):
        program.wait(400)
        program.now += 20_000  # the input is told of some µs after the end of the wait
        act(program)
        program.emits([70, 50])
    told = found(program)
    assert (told.count, told.p50, told.max) == (3, pytest.approx(70), pytest.approx(70))


def test_a_request_that_began_after_the_input_can_show_it_in_its_first_frame() -> None:
    program = Program()
    act(program)
    program.pass_ms(5).receive().emits([100, 50])
    assert found(program).p50 == 105


def test_a_compute_span_says_when_work_began() -> None:
    program = Program().receive().emits([50, 50])
    act(program)  # before the frame's work begins, though after the emit
    program.pass_ms(10).span("decode", 5).span("forward", 30).emit(1)
    act(program)
    program.now -= 0
    told = found(program)
    assert (told.count, told.p50, told.rule, told.unanswered) == (1, 46, "spans", 1)


def test_work_that_began_before_the_input_cannot_show_it() -> None:
    program = Program().receive().emits([50, 50])
    program.pass_ms(10)
    act(program)
    program.now -= 9 * MS
    begun = program.now - 30 * MS
    program.now += 20 * MS
    program.add(r.Span, 1, 2, 4, program.now - begun)
    program.emit(1)
    assert found(program).count == 0
    program.pass_ms(5).span("forward", 10).emit(1)
    assert found(program).count == 1


def test_several_inputs_are_answered_by_one_frame() -> None:
    program = Program().receive().emits([50, 50])
    for _ in range(4):
        program.pass_ms(5)
        act(program)
    program.emits([30, 50])
    told = found(program)
    assert told.count == 4
    assert (told.p50, told.max) == (87.5, 95)


def test_an_input_that_another_process_takes_in() -> None:
    program = Program().receive().emits([50])
    act(program, proc=PROC + 1)
    program.emits([50, 50])
    assert found(program).count == 1


def test_warm_up_is_in_no_figure_and_what_has_no_frame_is_counted() -> None:
    program = Program(warmup={"requests": 0, "emits": 2})
    act(program)
    program.receive().emits([900, 50, 50])
    act(program)
    told = found(program)
    assert (told.count, told.p50, told.rule) == (0, None, None)
    assert (told.actions, told.unanswered) == (2, 1)


def test_the_report_shows_it_where_there_was_input() -> None:
    program = Program().receive().emits([50, 50])
    assert "ACTION TO FRAME" not in render(program.summary())
    act(program)
    program.emits([50, 50])
    text = render(program.summary())
    assert "ACTION TO FRAME" in text
    assert "inputs         1 (0 without such a frame yet)" in text
