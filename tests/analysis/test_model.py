"""The model as a whole: the same answer however it is asked, and no record that breaks it."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streams import METHOD_LOG, MS, PROC, START, Program
from wild import KINDS, LOGS, any_of

from mgtop.analysis.model import Model
from mgtop.config.structs import AnalysisSettings
from mgtop.wire import records as r

SLOW_DRAWS = [HealthCheck.too_slow, HealthCheck.data_too_large]


def page(model: Model) -> bytes:
    return msgspec.json.encode(model.summary())


def busy_session(seed: int) -> list[r.AnyRecord]:
    """Several requests, some at once, late frames, waits, losses, marks, two sources."""
    rnd = random.Random(seed)
    program = Program(target_fps=16.0, warmup={"requests": "auto", "emits": 2})
    program.add(r.Load, True)
    for _ in range(4):
        program.receive(fps=16, steps=rnd.choice([8, 16]))
        program.prepared(30)
        program.span("decode", 4)
        for _ in range(rnd.randint(10, 80)):
            late = rnd.random() < 0.08
            program.span("forward", rnd.gauss(40, 1) + 120 * late)
            program.emit(rnd.gauss(9, 1), rnd.choice([1, 1, 1, 4]), cpu_ns=program.now // 2)
            if rnd.random() < 0.05:
                program.lose(after_ms=50)
            if rnd.random() < 0.05:
                program.wait(rnd.uniform(10, 900))
            if rnd.random() < 0.2:
                program.beat(rnd.choice(["probe", "nvml"]), behind_ms=rnd.uniform(0, 80))
            if rnd.random() < 0.02:
                program.add(r.Mark, "here")
        if rnd.random() < 0.8:
            program.end()
    program.records.append(r.TargetExit(program.now, 0, None))
    program.records.append(r.SessionEnd(program.now, "target_exit"))
    return program.records


# ----------------------------------------------------------------------- the same answer


@pytest.mark.parametrize("seed", range(6))
def test_asking_changes_nothing(seed: int):
    records = busy_session(seed)
    quiet, asked, rnd = Model(), Model(), random.Random(seed)
    for record in records:
        quiet.feed(record)
        asked.feed(record)
        if rnd.random() < 0.3:
            asked.summary()
        if rnd.random() < 0.1:
            now = record.t_ns + rnd.randrange(10**9)
            asked.view(now, now - 10**10, now, 40)
    assert page(asked) == page(quiet)
    for model in (quiet, asked):
        model.finish()
        model.finish()
    assert page(asked) == page(quiet)


@pytest.mark.parametrize("seed", range(3))
def test_how_records_are_batched_changes_nothing(seed: int):
    records = busy_session(seed)
    whole = Model()
    whole.feed_all(records)
    rnd = random.Random(seed)
    pieces = Model()
    at = 0
    while at < len(records):
        size = rnd.randint(0, 40)
        pieces.feed_all(records[at : at + size])
        at += size
    assert page(whole) == page(pieces)


@pytest.mark.parametrize("seed", range(3))
def test_a_viewers_marks_come_at_any_time(seed: int):
    """Live they come at once, in a replay after all else: the answer is the same."""
    records = busy_session(seed)
    rnd = random.Random(seed)
    marks = [
        r.Mark(rnd.randrange(START, records[-1].t_ns + 10**9), 0, 0, 0, f"mark {i}")
        for i in range(5)
    ]
    replay = Model()
    replay.feed_all([*records, *marks])
    live = Model()
    pending = sorted(marks, key=lambda mark: mark.t_ns)
    for record in records:
        while pending and pending[0].t_ns <= record.t_ns:
            live.feed(pending.pop(0))
        live.feed(record)
    live.feed_all(pending)
    assert page(live) == page(replay)
    assert len(live.summary().marks) >= 5
    before_all = Model()
    before_all.feed_all([*marks, *records])
    assert page(before_all) == page(replay)


def test_the_end_of_the_log_is_the_end():
    records = busy_session(1)
    with_end, without = Model(), Model()
    with_end.feed_all(records)
    without.feed_all(records)
    without.finish()
    assert page(with_end) == page(without)
    assert all(tail.final for tail in with_end.summary().tails.frames)


def test_a_summary_is_made_once_where_nothing_new_has_come():
    model = Model()
    model.feed_all(METHOD_LOG)
    assert model.summary() is model.summary()
    first = model.summary()
    model.feed(r.Mark(5, 0, 0, 0, "note"))
    assert model.summary() is not first
    assert first.marks == []  # what was given out does not change


def test_what_was_given_out_does_not_change():
    records = busy_session(2)
    model = Model()
    given_out = []
    for i, record in enumerate(records):
        model.feed(record)
        if i % 40 == 0:
            found = model.summary()
            given_out.append((found, msgspec.json.encode(found)))
    assert all(msgspec.json.encode(found) == before for found, before in given_out)


# -------------------------------------------------------------------- odd ways of a log


def test_nothing_at_all():
    for model in (Model(), Model(AnalysisSettings(target_fps=30.0))):
        model.finish()
        found = model.summary()
        assert found.verdict.code == "undecided"
        assert (found.fps, found.rtf, found.interval_ms.p50) == (None, None, None)
        assert found.tails.share_of_time is None
        assert model.view(0, 0, 1, 1).state == "waiting"


def test_a_recorder_that_takes_over_does_not_move_the_time():
    program = Program(target_fps=16.0).receive().emits([0, *[50] * 20])
    other = r.SessionStart(program.now, program.now, 1, "", "again", {}, {"target_fps": 50.0})
    program.records.append(other)
    program.emits([50] * 5)
    found = program.summary()
    assert found.session.name == "test"
    assert found.requests[0].received_ms == 0
    assert found.playout.target_fps == 16
    assert found.interval_ms.count == 25


def test_a_log_without_its_first_record():
    program = Program().receive().emits([0, *[50] * 20])
    model = Model(AnalysisSettings(target_fps=10.0))
    model.feed_all(program.records[1:])
    found = model.summary()
    assert found.requests[0].received_ms == 0
    assert found.interval_ms.count == 19  # two emits are warm-up where nothing is said
    assert found.playout.target_fps == 10


def test_more_records_after_the_end():
    program = Program().receive().emits([0, *[50] * 20])
    model = program.model()
    model.feed(program.emit(400))
    model.finish()
    assert [tail.final for tail in model.summary().tails.frames] == [True]


def test_impossible_records_are_refused_and_counted():
    program = Program().receive().emits([0, 50, 50])
    now = program.now
    for impossible in (
        r.FrameEmit(now, 0, PROC, 11, 1, 3, 3, 0),
        r.FrameEmit(now, 0, PROC, 11, 1, -1, 3, 1),
        r.FrameEmit(now, 0, PROC, 11, 1, 3, -1, 1),
        r.FrameEmit(now, 0, PROC, 11, 1, 3, 3, 1, 99),
        r.FrameEmit(1 << 63, 0, PROC, 11, 1, 3, 3, 1),
        r.Span(now, 0, PROC, 11, 1, 0, 4, -5),
        r.StreamEnd(now, 0, PROC, 11, 1, -1),
        r.RequestReceived(now, 0, PROC, 11, 2, "x", {}, -1),
    ):
        program.records.append(impossible)
    program.emits([50])
    found = program.summary()
    assert found.losses.events_malformed == 8
    assert (found.requests[0].frames, found.interval_ms.count) == (4, 3)
    assert found.session.duration_ms == 150


# ------------------------------------------------------------------------- anything at all


@given(LOGS, st.booleans())
@settings(max_examples=150, deadline=None, suppress_health_check=SLOW_DRAWS)
def test_no_log_breaks_the_model(records: list[r.AnyRecord], ask: bool):
    quiet, asked = Model(), Model()
    for i, record in enumerate(records):
        quiet.feed(record)
        asked.feed(record)
        if ask and i % 7 == 0:
            asked.summary()
            asked.view(10**10, 0, 10**10, 20)
    assert page(quiet) == page(asked)
    quiet.finish()
    msgspec.json.decode(page(quiet))
    quiet.view(1 << 40, 0, 1 << 35, 30)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_record_of_any_kind_breaks_a_running_session(kind: type):
    program = Program(target_fps=16.0).receive().emits([0, *[50] * 12, 300, *[50] * 3])
    program.records[2:2] = [r.GpuDevice(START, 0, "GPU-1", "one", 80 << 30, ordinals=[0])]

    @given(st.lists(any_of(kind), min_size=1, max_size=4))
    @settings(max_examples=15, deadline=None, suppress_health_check=SLOW_DRAWS)
    def check(odd: list[r.AnyRecord]) -> None:
        model = program.model(finish=False)
        model.feed_all(odd)
        model.feed(r.FrameEmit(program.now + 50 * MS, 0, PROC, 11, 1, 17, 17, 1))
        model.feed(r.SourceState(program.now + 60 * MS, "probe", "ok", "", None, program.now))
        model.summary()
        model.finish()
        msgspec.json.encode(model.summary())

    check()


@pytest.mark.parametrize(
    ("still_ms", "is_ended", "code", "signal", "reason", "stopped_ms"),
    [
        (3_000, False, None, 15, "seconds", 3_000.0),
        (3_000, False, None, None, "stopped", 3_000.0),  # the program goes on, unrecorded
        (3_000, False, None, 9, "target_exit", 3_000.0),
        (3_000, False, 0, None, "target_exit", None),  # it was done, and did not say so
        (3_000, True, None, 15, "seconds", None),
        (450, False, None, 15, "seconds", None),
        (3_000, False, None, None, "imported", None),
    ],
)
def test_frames_that_had_stopped_when_the_recording_was_made_to_end(
    still_ms: float, is_ended: bool, code: int | None, signal: int | None, reason: str,
    stopped_ms: float | None,
) -> None:  # fmt: skip
    program = Program().receive().prepared(10).emits([30] * 12)
    if is_ended:
        program.end()
    program.pass_ms(still_ms)
    if code is not None or signal is not None:
        program.records.append(r.TargetExit(program.now, code, signal))
    program.records.append(r.SessionEnd(program.now + 40 * MS, reason))
    summary = program.summary()
    wanted = stopped_ms
    if stopped_ms is not None and signal is None:
        wanted = stopped_ms + 40  # to the end of the recording
    assert summary.requests[0].stopped_ms == wanted
    assert summary.tails.count == 0
