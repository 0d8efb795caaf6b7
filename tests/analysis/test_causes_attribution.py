"""How claims are settled: innermost first, never more than was lost, or else unexplained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tail_bench import MS, PROC, WORKER, Answer, Bench, judge_each, late_frame

import mgtop.analysis.causes as package
from mgtop.analysis.causes import all_causes, attribute, find_cause, letter_of
from mgtop.analysis.channels import Channels
from mgtop.config.structs import AnalysisSettings, Thresholds
from mgtop.wire import records as r

NAMES = {
    "alloc_retry",
    "oom",
    "spill",
    "supply",
    "gc",
    "compile",
    "compute",
    "throttle",
    "neighbour",
    "cpu_contention",
    "blocked",
    "queue",
    "output",
    "observer",
}
CHANNELS = NAMES | {"vram_drop", "gpu_idle"}


class TestPackage:
    def test_every_cause_of_the_method_is_there_once(self) -> None:
        names = [cause.name for cause in all_causes()]
        assert set(names) == NAMES
        assert len(names) == len(NAMES)

    def test_letters_are_single_and_differ(self) -> None:
        letters = [cause.letter for cause in all_causes()]
        assert all(len(letter) == 1 for letter in letters)
        assert len(set(letters)) == len(letters)
        assert package.UNEXPLAINED_LETTER not in letters

    def test_letters_of_names(self) -> None:
        assert letter_of("gc") == "G"
        assert letter_of("unexplained") == "?"
        assert letter_of(None) == " "

    def test_each_says_what_it_means_and_what_to_do(self) -> None:
        for cause in all_causes():
            assert 5 < len(cause.summary) < 80
            assert len(cause.remedy) > 20

    def test_each_has_its_page_with_the_four_sections(self) -> None:
        docs = Path(__file__).parents[2] / "docs" / "causes"
        for cause in all_causes():
            page = (docs / f"{cause.name}.md").read_text()
            for section in ("What it looks like", "Why it happens", "What to do"):
                assert f"## {section}" in page, cause.name
            assert "## What cannot be seen" in page, cause.name
            assert f"`{cause.letter}`" in page, cause.name

    def test_unknown_names_have_no_cause(self) -> None:
        assert find_cause("unexplained") is None
        assert find_cause(None) is None

    def test_a_new_module_is_all_that_a_new_cause_takes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "moon.py").write_text(
            "from mgtop.analysis.evidence import Claim, Finding\n"
            "NAME, LETTER, SUMMARY, REMEDY, ORDER = 'moon', 'Y', 'the moon', 'wait', 1\n"
            "def measure(window, channels):\n"
            "    return Finding(state='present', claims=(Claim(window.excess_ns),))\n"
        )
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        all_causes.cache_clear()
        try:
            assert late_frame(lambda b: b.frame(before=lambda: b.sleep(100))).names == ["moon"]
        finally:
            all_causes.cache_clear()

    def test_a_cause_with_nothing_to_say_is_not_resolved(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "mute.py").write_text(
            "NAME, LETTER, SUMMARY, REMEDY, ORDER = 'mute', 'Y', 'silence', 'listen', 1\n"
            "def measure(window, channels):\n"
            "    return None\n"
        )
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
        all_causes.cache_clear()
        try:
            found = late_frame(lambda b: b.frame(before=lambda: b.sleep(100)))
            assert found.state("mute") == "not_resolved"
            assert found.names == ["blocked"]
        finally:
            all_causes.cache_clear()


class TestSettling:
    def test_two_at_once_the_larger_first(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.sleep(60), resize=lambda: b.run(110)))
        assert found.names == ["supply", "blocked"]
        assert found.cause == "supply"
        assert found.ms("supply") == pytest.approx(110, abs=0.1)
        assert found.ms("blocked") == pytest.approx(60, abs=0.1)

    def test_three_nested(self) -> None:
        """In one resize: work, a collection, waiting for a core."""
        found = late_frame(
            lambda b: b.frame(resize=lambda: (b.run(50), b.collect(70), b.wait_for_core(90))[0])
        )
        assert found.names == ["cpu_contention", "gc", "supply"]
        assert [round(s.explained_ms) for s in found.attribution.causes] == [90, 70, 50]

    def test_what_a_faster_part_saved_is_not_credited(self) -> None:
        """The resize took 100 ms longer, the step 20 less: 80 were lost, no more is credited."""
        bench = Bench()
        bench.frames(20)
        bench.sleep(2)
        bench.span("resize", lambda: bench.run(106))
        bench.span("forward", lambda: bench.run(4))
        bench.span("write", lambda: bench.run(8))
        bench.emit()
        found = bench.judge(20)
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(80, abs=0.1)

    def test_less_than_half_explained_names_nothing_but_lists_it(self) -> None:
        """200 ms on a core outside any span, 40 of collections."""
        found = late_frame(lambda b: b.frame(before=lambda: (b.run(200), b.collect(40))[0]))
        assert found.cause == "unexplained"
        assert found.names == ["gc"]

    def test_the_share_that_must_be_explained_is_a_setting(self) -> None:
        bench = Bench(settings=AnalysisSettings(thresholds=Thresholds(explained_share=0.15)))
        found = late_frame(
            lambda b: b.frame(before=lambda: (b.run(200), b.collect(40))[0]),
            bench,
        )
        assert found.cause == "gc"

    def test_scatter_is_no_cause(self) -> None:
        found = late_frame(lambda b: b.frame(before=lambda: b.sleep(150), forward=lambda: b.run(4)))
        assert found.names == ["blocked"]
        assert found.state("compute") == "absent"

    def test_nothing_known_is_unexplained(self) -> None:
        bench = Bench(counters=False)
        for i in range(30):
            bench.sleep(200 if i == 20 else 40)
            bench.emit()
        found = bench.judge(20)
        assert found.cause == "unexplained"
        assert found.names == []
        assert {found.state(channel) for channel in CHANNELS} <= {"not_resolved", "absent"}

    def test_blocks_are_compared_per_frame(self) -> None:
        """Emits of 4 frames and one late of 8: twice of everything is usual there."""
        bench = Bench(count=4)
        for i in range(26):
            twice = 2 if i == 20 else 1
            late = 60 if i == 20 else 0
            bench.span("resize", lambda t=twice, e=late: bench.run(10 * t + e))
            bench.span("forward", lambda t=twice: bench.run(40 * t))
            bench.emit(count=4 * twice)
        found = bench.judge(20)
        assert found.window.excess_ns == pytest.approx(60 * MS, abs=MS / 100)
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(60, abs=0.1)

    def test_after_a_level_shift_the_old_level_is_not_usual(self) -> None:
        """Steps of 24 ms became steps of 200: a late write at the new level is output alone."""
        bench = Bench()
        bench.frames(20)
        shift = bench.now
        for i in range(12):
            bench.frame(
                forward=lambda: bench.run(176),
                write=lambda: bench.sleep(300) if i == 10 else None,  # noqa: B023
            )
        window = msgspec.structs.replace(
            bench.window(30), median_ns=216 * MS, excess_ns=300 * MS, since_ns=shift
        )
        found = Answer(window, attribute(window, bench.channels(), bench.settings))
        assert found.names == ["output"]

    def test_the_second_request_borrows_what_is_usual_from_the_first(self) -> None:
        bench = Bench()
        bench.frames(20)
        bench.event(r.StreamEnd, 1, 20)
        bench.request, bench.emits = 2, []
        bench.frame()
        bench.frame()
        bench.frame(resize=lambda: bench.run(100))
        found = bench.judge(2)
        assert found.names == ["supply"]
        assert found.ms("supply") == pytest.approx(100, abs=1)

    def test_requests_do_not_mix(self) -> None:
        """Another request's slow step in another thread is not this one's."""
        bench = Bench()
        for i in range(26):
            if i == 20:
                bench.event(
                    r.Span, 2, 5, 4, 150 * MS, 150 * MS, 0, t_ns=bench.now + 150 * MS, tid=WORKER
                )
            bench.frame(before=lambda: bench.sleep(150) if i == 20 else None)  # noqa: B023
        assert bench.judge(20).names == ["blocked"]


AMOUNTS = st.floats(0, 300)
FAULTS = st.fixed_dictionaries(
    {
        "sleep": AMOUNTS,
        "core": AMOUNTS,
        "gc": AMOUNTS,
        "foreign_gc": AMOUNTS,
        "resize": AMOUNTS,
        "resize_wait": AMOUNTS,
        "forward": AMOUNTS,
        "forward_gc": AMOUNTS,
        "write": AMOUNTS,
        "worker": AMOUNTS,
        "faults": st.integers(0, 40),
        "observer": AMOUNTS,
        "starved": AMOUNTS,
        "compile": AMOUNTS,
    }
)


def faulty(f: dict[str, Any]) -> Bench:
    bench = Bench()
    bench.event(r.Name, 20, "prefetch")
    bench.event(r.Queue, 20, 1, 4, tid=WORKER)
    bench.frames(12)
    begin = bench.now
    bench.foreign_span("forward", begin, f["worker"], index=12)
    bench.faults += f["faults"]
    bench.event(r.Queue, 20, 0, 4)
    bench.sleep(f["starved"])
    bench.event(r.Queue, 20, 1, 4, tid=WORKER)
    bench.sleep(f["sleep"])
    bench.wait_for_core(f["core"])
    bench.collect(f["gc"])
    bench.collect(f["foreign_gc"], tid=WORKER)
    bench.add(r.ObserverCall(bench.now, "nvml", int(f["observer"] * MS)))
    bench.frame(
        resize=lambda: (bench.run(f["resize"]), bench.wait_for_core(f["resize_wait"]))[0],
        forward=lambda: (
            bench.run(f["forward"]),
            bench.collect(f["forward_gc"]),
            bench.compile(f["compile"]),
        )[0],
        write=lambda: bench.sleep(f["write"]),
    )
    bench.frames(4)
    return bench


class TestProperties:
    @given(FAULTS)
    @settings(max_examples=150, deadline=None)
    def test_never_more_is_explained_than_was_lost(self, f: dict[str, Any]) -> None:
        bench = faulty(f)
        for found in judge_each(bench, [12]):
            excess_ms = found.window.excess_ns / 1e6
            explained = sum(share.explained_ms for share in found.attribution.causes)
            assert explained <= max(0.0, excess_ms) + 1e-6
            assert all(share.explained_ms > 0 for share in found.attribution.causes)

    @given(FAULTS)
    @settings(max_examples=60, deadline=None)
    def test_every_channel_has_one_row_and_the_cause_is_the_largest(
        self, f: dict[str, Any]
    ) -> None:
        (found,) = judge_each(faulty(f), [12])
        rows = [row.channel for row in found.attribution.evidence]
        assert sorted(rows) == sorted(CHANNELS)
        shares = [share.explained_ms for share in found.attribution.causes]
        assert shares == sorted(shares, reverse=True)
        assert found.cause in {"unexplained", *found.names[:1]}
        for row in found.attribution.evidence:
            if row.state == "present":
                assert row.value is not None
                assert row.unit is not None
                assert row.source is not None

    @given(
        st.sampled_from(["sleep", "core", "gc", "resize", "forward", "write", "compile"]),
        st.floats(20, 300),
    )
    @settings(max_examples=80, deadline=None)
    def test_a_single_fault_is_named_with_its_time(self, fault: str, ms: float) -> None:
        none = dict.fromkeys(
            [
                "sleep",
                "core",
                "gc",
                "foreign_gc",
                "resize",
                "resize_wait",
                "forward",
                "forward_gc",
                "write",
                "worker",
                "observer",
                "starved",
                "compile",
            ],
            0.0,
        )
        want = {
            "sleep": "blocked",
            "core": "cpu_contention",
            "gc": "gc",
            "resize": "supply",
            "forward": "compute",
            "write": "output",
            "compile": "compile",
        }[fault]
        (found,) = judge_each(faulty({**none, "faults": 0, fault: ms}), [12])
        assert found.cause == want
        assert found.names == [want]
        assert found.ms(want) == pytest.approx(ms, abs=0.5)

    @given(FAULTS)
    @settings(max_examples=20, deadline=None)
    def test_the_same_records_give_the_same_answer(self, f: dict[str, Any]) -> None:
        bench = faulty(f)
        assert bench.judge(12).attribution == bench.judge(12).attribution


def any_record() -> st.SearchStrategy[r.AnyRecord]:
    """A record of any kind with any numbers that the schema lets through."""
    number = st.integers(-(1 << 40), 1 << 40) | st.integers(-2, 50)

    def of(kind: type) -> st.SearchStrategy[Any]:
        def value(field: msgspec.inspect.Field) -> st.SearchStrategy[Any]:
            if field.name == "t_ns":
                return st.integers(0, 1 << 38)
            if field.name == "proc":
                return st.sampled_from([0, PROC])
            if field.name in ("tid", "request", "gpu", "emit", "device"):
                return st.integers(0, 3)
            return by_type(field.type)

        def by_type(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
            match kind:
                case msgspec.inspect.IntType():
                    return number
                case msgspec.inspect.FloatType():
                    return st.floats()
                case msgspec.inspect.StrType():
                    return st.sampled_from(["", "ok", "oom", "target", "neighbour", "poll", "ring"])
                case msgspec.inspect.BoolType():
                    return st.booleans()
                case msgspec.inspect.NoneType():
                    return st.none()
                case msgspec.inspect.ListType(item_type=item):
                    return st.lists(by_type(item), max_size=2)
                case msgspec.inspect.DictType():
                    return st.just({})
                case msgspec.inspect.UnionType(types=types):
                    return st.one_of([by_type(one) for one in types])
            raise AssertionError(kind)

        info = msgspec.inspect.type_info(kind)
        assert isinstance(info, msgspec.inspect.StructType)
        return st.builds(kind, **{field.name: value(field) for field in info.fields})

    return st.one_of([of(kind) for kind in r.AnyRecord.__args__])


class TestGarbage:
    @given(st.lists(any_record(), max_size=40))
    @settings(max_examples=200, deadline=None)
    def test_records_with_senseless_numbers_end_in_an_answer(
        self, records: list[r.AnyRecord]
    ) -> None:
        from mgtop.analysis.memory import memory_summary
        from mgtop.analysis.resources import (
            cpu_summary,
            gpu_summaries,
            losses,
            observer_summary,
        )

        bench = Bench()
        bench.frames(3)
        channels = Channels()
        for record in [*records, *bench.records, *records]:
            channels.feed(record)
        window = bench.window(2)
        attribution = attribute(window, channels, AnalysisSettings())
        assert {row.channel for row in attribution.evidence} == CHANNELS
        memory_summary(channels)
        gpu_summaries(channels)
        cpu_summary(channels)
        observer_summary(channels)
        losses(channels)
        channels.covered_ns()
