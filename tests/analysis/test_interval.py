"""Where an interval's time went: no nanosecond counts twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tail_bench import MS, PROC, WORKER, Bench

from mgtop.analysis.interval import Split, split
from mgtop.wire import records as r


def taken_apart(bench: Bench, number: int = -1) -> Split:
    channels = bench.channels()
    frame = bench.emits[number]
    previous = bench.emits[number - 1]
    return split(channels.process(PROC), frame, previous, previous.t_ns)


def test_a_usual_frame() -> None:
    bench = Bench()
    bench.frames(2)
    found = taken_apart(bench).quantities
    assert found["interval"] == 40 * MS
    assert (found["supply"], found["compute"], found["output"]) == (6 * MS, 24 * MS, 8 * MS)
    assert (found["cpu"], found["delay"], found["off"]) == (38 * MS, 0, 2 * MS)
    assert (found["gc"], found["compile"], found["starved"]) == (0, 0, 0)


def test_waiting_for_a_person_is_taken_out() -> None:
    bench = Bench()
    bench.frames(2)
    bench.sleep(300)
    bench.event(r.Wait, 300 * MS)
    bench.frame()
    found = taken_apart(bench).quantities
    assert found["interval"] == 40 * MS
    assert found["off"] == 2 * MS


def test_what_is_not_measured_is_missing_and_not_zero() -> None:
    bench = Bench(counters=False)
    bench.frames(2)
    found = taken_apart(bench).quantities
    assert not {"cpu", "delay", "off", "faults", "compiles", "gpu_busy"} & set(found)


def test_an_inner_spans_waiting_is_not_counted_for_the_outer_one_too() -> None:
    bench = Bench()
    bench.emit()
    bench.span(
        "preprocess",
        lambda: bench.run(10),
        lambda: bench.span("forward", lambda: bench.sleep(30)),
        lambda: bench.wait_for_core(5),
    )
    bench.emit()
    found = taken_apart(bench).quantities
    assert found["supply"] == 10 * MS
    assert found["compute"] == 30 * MS
    assert found["off_compute"] == 30 * MS
    assert found["off"] == 30 * MS
    assert found["delay"] == 5 * MS


def test_a_span_that_began_before_the_interval_counts_from_its_begin() -> None:
    bench = Bench()
    bench.emit()
    begin = bench.now
    bench.run(20)
    bench.emit()
    bench.run(30)
    bench.event(r.Span, 1, 1, 4, bench.now - begin, 50 * MS, 0)
    bench.emit()
    found = taken_apart(bench).quantities
    assert found["compute"] == 30 * MS
    assert found["compute_cpu"] == 30 * MS


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "run",
                "sleep",
                "wait_for_core",
                "collect",
                "foreign_gc",
                "compile",
                "decode",
                "forward",
                "write",
                "mine",
                "nested",
                "worker",
                "empty",
                "full",
                "person",
            ]
        ),
        st.floats(0, 60),
    ),
    max_size=14,
)


def perform(bench: Bench, steps: list[tuple[str, float]]) -> None:
    simple: dict[str, Callable[[float], Any]] = {
        "run": bench.run,
        "sleep": bench.sleep,
        "wait_for_core": bench.wait_for_core,
        "collect": bench.collect,
        "foreign_gc": lambda ms: bench.collect(ms, tid=WORKER),
        "compile": bench.compile,
        "worker": lambda ms: bench.foreign_span("forward", bench.now, ms, index=0),
        "empty": lambda ms: bench.event(r.Queue, 20, 0, 4),
        "full": lambda ms: bench.event(r.Queue, 20, 1, 4, tid=WORKER),
    }
    for what, ms in steps:
        if what in simple:
            simple[what](ms)
        elif what == "person":
            bench.sleep(ms)
            bench.event(r.Wait, int(ms * MS))
        elif what == "nested":
            bench.span(
                "decode",
                lambda ms=ms: bench.run(ms / 3),
                lambda ms=ms: bench.span("forward", lambda: bench.collect(ms / 3)),
                lambda ms=ms: bench.sleep(ms / 3),
            )
        else:
            bench.span(what, lambda ms=ms: bench.run(ms / 2), lambda ms=ms: bench.sleep(ms / 2))


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_the_parts_are_never_more_than_the_whole(steps: list[tuple[str, float]]) -> None:
    bench = Bench()
    bench.event(r.Queue, 20, 1, 4, tid=WORKER)
    bench.frames(2)
    perform(bench, steps)
    bench.frame()
    found = taken_apart(bench).quantities
    parts = ("supply", "compute", "output", "gc", "compile", "starved")
    late = ("late_supply", "late_compute", "late_output")
    slack = 20 * (len(steps) + 1)  # amounts are whole ns
    assert sum(found.get(p, 0) for p in (*parts, *late)) <= found["interval"] + slack
    assert all(value >= 0 for value in found.values())
    assert found["cpu"] + found["delay"] + found["off"] <= found["interval"] + slack
    assert found["off_compute"] <= found["off"]
