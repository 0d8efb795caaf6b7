"""All channels around one late frame, made of its records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.closeup import Frame, Strip, closeup
from mgtop.wire import records as r

MS = 1_000_000
S = 1_000 * MS
PROC = r.proc_of(4242, 7)
OTHER = r.proc_of(4243, 7)
FRAME = Frame(PROC, 1, 10 * S, 10 * S + 200 * MS)
NAMES = {1: "decode", 4: "forward", 16: "mine"}


def strips(*records: r.AnyRecord, columns: int = 40) -> dict[str, Strip]:
    found = closeup(records, FRAME, 8 * S, 12 * S, columns, NAMES)
    return {strip.name: strip for strip in found}


def span(name: int, end_ns: int, took_ms: float, proc: int = PROC, request: int = 1) -> r.Span:
    return r.Span(end_ns, 1, proc, 1, request, -1, name, round(took_ms * MS))


def test_work_fills_its_columns() -> None:
    strip = strips(span(4, 10 * S + 150 * MS, 150))["forward"]
    assert strip.kind == "busy"
    assert strip.within == 150.0
    assert [n for n, value in enumerate(strip.high) if value is not None] == [20, 21]
    assert strip.high[20] == 1.0
    assert abs((strip.high[21] or 0) - 0.5) < 1e-6


def test_overlapping_work_of_a_name_counts_once() -> None:
    strip = strips(span(4, 10 * S + 100 * MS, 100), span(4, 10 * S + 120 * MS, 100))["forward"]
    assert strip.within == 120.0
    assert strip.count == 2


def test_work_for_other_requests_and_of_other_processes_is_apart() -> None:
    found = strips(
        span(4, 10 * S, 50), span(4, 10 * S, 50, request=2), span(4, 10 * S, 50, proc=OTHER)
    )
    assert set(found) == {"forward", "other work"}
    assert found["forward"].count == found["other work"].count == 1


def test_own_names_come_after_the_usual_ones_and_gc_after_them() -> None:
    gc = r.GarbageCollection(10 * S, 1, PROC, 1, 20 * MS, 2)
    found = strips(span(16, 10 * S, 9), gc, span(4, 10 * S, 9), span(1, 10 * S, 9))
    assert list(found) == ["decode", "forward", "mine", "gc"]


def test_a_level_holds_until_it_changes_and_tells_how_far_it_fell() -> None:
    memory = [
        r.GpuMemory(8 * S + n * 20 * MS, 0, (1000 if n < 106 else 400) << 20) for n in range(200)
    ]
    strip = strips(*memory)["memory 0"]
    assert (strip.within, strip.lowest) == (1000.0, 400.0)
    assert strip.period_ms == 20.0
    assert (strip.low[21], strip.high[21]) == (400.0, 1000.0)


def test_only_the_best_source_of_utilisation_is_shown() -> None:
    found = strips(
        r.GpuUtilisation(10 * S, 0, 50.0, None, 200 * MS, "poll"),
        r.GpuUtilisation(10 * S, 0, 60.0, None, 200 * MS, "ring"),
        r.GpuUtilisation(10 * S, 1, 70.0, None, 200 * MS, "poll"),
    )
    highest = {name: max(v for v in one.high if v is not None) for name, one in found.items()}
    assert highest == {"GPU 0": 60.0, "GPU 1": 70.0}


def test_counters_become_what_they_counted() -> None:
    emits = [
        r.FrameEmit(10 * S + n * 200 * MS, 1, PROC, 1, 1, n, n, 1, run_delay_ns=n * 90 * MS)
        for n in range(2)
    ]
    cpu = [r.HostCpu(9 * S + n * S, 4, n * 2 * S, n * 2 * S, n * S, 1, 1) for n in range(3)]
    held = [r.Cgroup(9 * S + n * S, 2, 1.0, 1, 1, n * 30 * MS) for n in range(3)]
    found = strips(*emits, *cpu, *held)
    assert found["interval"].within == 200.0
    assert found["core wait"].within == 90.0
    assert found["CPU target"].within == 25.0
    assert found["CPU all"].within == 50.0
    assert found["throttled"].within == 30.0


def test_nothing_is_no_strip() -> None:
    assert strips() == {}
    assert strips(span(4, 5 * S, 10)) == {}


@given(
    st.lists(st.tuples(st.integers(7 * S, 13 * S), st.integers(0, 2 * S)), max_size=20),
    st.integers(1, 60),
)
def test_a_column_is_never_more_than_full(pieces: list[tuple[int, int]], columns: int) -> None:
    records = [span(4, end, took / MS) for end, took in pieces]
    for strip in strips(*records, columns=columns).values():
        assert len(strip.high) == columns
        assert all(value is None or 0 < value <= 1 for value in strip.high)
        assert 0 <= (strip.within or 0) <= 200.0 + 1e-6
