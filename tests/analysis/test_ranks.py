"""Ranks that run the same code tell of the same frames: each counts once."""

from __future__ import annotations

import pytest
from streams import PROC, Program

from mgtop.analysis.model import Model
from mgtop.report.text import render
from mgtop.wire import records as r

PROBE, HOOKS, SINKS = 0, 1, 2


def rank(number: int | None) -> Program:
    """A process of that rank, which has said so."""
    program = Program(proc=PROC + (number or 0))
    program.add(r.Hello, "0.1", "3.11", None, number)
    return program


def serve(program: Program, route: int, frames: int = 5) -> None:
    program.receive(route=route)
    for _ in range(frames):
        program.emit(50, route=route)


def model(*programs: Program) -> Model:
    """A session of several processes, their records in order of time."""
    records = [record for program in programs for record in program.records[1:]]
    made = Model()
    made.feed(programs[0].records[0])
    made.feed_all(sorted(records, key=lambda record: record.t_ns))
    made.finish()
    return made


@pytest.mark.parametrize("route", [HOOKS, SINKS])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_lowest_rank_counts_whoever_came_first(route: int, order: tuple[int, ...]) -> None:
    programs = [rank(number) for number in order]
    for n, program in enumerate(programs):
        program.now += n * 1_000_000
        serve(program, route)
    found = model(*programs).summary()
    assert [(q.frames, q.blocks) for q in found.requests] == [(5, 5)]
    assert found.target.same_ranks == [1, 2]
    assert "the lowest counts; 1, 2 told of the same frames" in render(found)
    if route == HOOKS:  # of outputs that nothing says are live there are no intervals
        assert found.interval_ms.count == 4
    else:
        assert [(sink.outputs, sink.frames) for sink in found.sinks] == [(1, 5)]


def test_where_only_the_last_rank_decodes_its_frames_count() -> None:
    first, last = rank(0), rank(3)
    first.receive(route=HOOKS)
    serve(last, HOOKS)
    found = model(first, last).summary()
    assert sum(q.frames for q in found.requests) == 5


def test_what_a_program_says_itself_is_its_own_affair() -> None:
    programs = [rank(0), rank(1)]
    for program in programs:
        serve(program, PROBE)
    assert [q.frames for q in model(*programs).summary().requests] == [5, 5]


def test_processes_without_a_rank_are_no_ranks() -> None:
    programs = [rank(None), Program(proc=PROC + 9)]
    for program in programs:
        serve(program, SINKS)
    assert [q.frames for q in model(*programs).summary().requests] == [5, 5]


def test_notes_are_shown_once_and_speak_where_no_frame_came() -> None:
    programs = [rank(0), rank(1)]
    for program in programs:
        program.add(r.Notice, "hooks", "frames.hooks: a:b: module a has no b (did you mean c?)")
    found = model(*programs).summary()
    assert [(n.source, n.text[:18]) for n in found.notices] == [("hooks", "frames.hooks: a:b:")]
    assert found.verdict.text.startswith("No frame has come yet. frames.hooks: a:b: module a")
    assert "NOTES" in render(found)
    serve(programs[0], HOOKS)
    assert "did you mean" not in model(*programs).summary().verdict.text
