"""The scorer: what counts as found, right, near, wrongly named, and how sure that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.truth.expected import CAUSES, is_seen, right_answers
from benchmarks.truth.score import (
    Count,
    Judged,
    RunScore,
    confusion,
    disturbed,
    is_near,
    is_right,
    is_right_set,
    judge,
    metrics,
)
from benchmarks.truth.truth import Emit, Outside, Strike, Truth, TruthFile

MS = 1_000_000
USUAL = 40


class Run:
    """Emits of one request every 40 ms, with strikes that make some longer."""

    def __init__(self) -> None:
        self.truth = Truth()
        self.tails: list[dict[str, Any]] = []
        self.now = 0

    def emits(self, n: int, ms: float = USUAL, request: str = "a", count: int = 1) -> Run:
        for _ in range(n):
            self.now += int(ms * MS)
            number = sum(e.request == request for e in self.truth.emits)
            self.truth.emits.append(Emit(request, number, number * count, count, self.now))
        return self

    def struck(self, fault: str, ms: float, *more: tuple[str, float]) -> Run:
        """The next emit is struck: by one fault, or by several one after another."""
        emit = len(self.truth.emits)
        begin = self.now + 5 * MS
        for name, length in ((fault, ms), *more):
            self.truth.strikes.append(Strike(name, "a", emit, begin, begin + int(length * MS)))
            begin += int(length * MS)
        return self.emits(1, USUAL + ms + sum(length for _, length in more))

    def named(self, cause: str, request: str = "a", **explained: float) -> Run:
        """The last emit is in the report."""
        self.tails.append(
            {
                "request": request,
                "index": self.truth.emits[-1].index,
                "cause": cause,
                "causes": [{"name": n, "explained_ms": ms} for n, ms in explained.items()],
            }
        )
        return self

    def score(self, character: str = "single", level: str = "spans") -> RunScore:
        return judge(self.truth, {"tails": {"frames": self.tails}}, character, level)


def one(run: Run, **how: str) -> Judged:
    (judged,) = run.score(**how).judged
    return judged


class TestOneRun:
    def test_a_right_answer(self) -> None:
        run = Run().emits(20).struck("gc", 100).named("gc", gc=98).emits(20)
        judged = one(run)
        assert judged.faults == ("gc",)
        assert judged.injected_ms == {"gc": 100}
        assert judged.should
        assert is_right(judged)
        assert is_near(judged)
        score = run.score()
        assert score.emits == score.frames == 38  # without two of warm-up and the one struck

    def test_a_wrong_one(self) -> None:
        assert not is_right(one(Run().emits(20).struck("gc", 100).named("supply", supply=98)))

    def test_unexplained_is_not_right_where_a_channel_sees(self) -> None:
        assert not is_right(one(Run().emits(20).struck("gc", 100).named("unexplained")))

    def test_unexplained_is_right_where_none_does(self) -> None:
        judged = one(Run().emits(20).struck("untold", 100).named("unexplained"))
        assert is_right(judged)

    def test_too_much_or_too_little_explained(self) -> None:
        for explained, near in ((74, False), (76, True), (124, True), (126, False)):
            run = Run().emits(20).struck("gc", 100).named("gc", gc=explained)
            assert is_near(one(run)) is near

    def test_one_that_was_not_found(self) -> None:
        judged = one(Run().emits(20).struck("gc", 100).emits(5))
        assert judged.should
        assert judged.cause is None

    def test_a_strike_too_small_to_be_late_is_not_missed(self) -> None:
        assert Run().emits(20).struck("gc", 30).emits(5).score().judged == []

    def test_a_strike_so_near_the_rule_that_either_is_right(self) -> None:
        assert Run().emits(20).struck("gc", 41).emits(5).score().judged == []
        assert not one(Run().emits(20).struck("gc", 41).named("gc", gc=41)).should

    def test_a_late_frame_that_nothing_struck(self) -> None:
        judged = one(Run().emits(20).emits(1, 120).named("supply", supply=80).emits(5))
        assert judged.faults == ()
        assert not judged.should

    def test_warm_up_is_left_out(self) -> None:
        assert Run().emits(1).struck("gc", 100).emits(20).score().judged == []

    def test_blocks_are_matched_by_index(self) -> None:
        run = Run().emits(20, count=12)
        run.truth.strikes.append(Strike("gc", "a", 20, run.now, run.now + 100 * MS))
        run.emits(1, 140, count=12).named("gc", gc=100)
        score = run.score("bursts")
        assert score.judged[0].cause == "gc"
        assert score.frames == 18 * 12

    def test_frames_without_a_report_of_it_at_all(self) -> None:
        """Where only observed, nothing should be found."""
        judged = Run().emits(20).struck("gc", 100).emits(5).score(level="observe").judged
        assert [j.should for j in judged] == [False]


class TestSeveral:
    def test_two_at_once(self) -> None:
        run = Run().emits(20).struck("gc", 100, ("output", 90))
        assert is_right_set(one(run.named("gc", gc=100, output=88)))

    def test_one_too_few_and_one_too_many(self) -> None:
        for names in ({"gc": 100}, {"gc": 100, "output": 80, "compute": 20}):
            run = Run().emits(20).struck("gc", 100, ("output", 90)).named("gc", **names)
            assert not is_right_set(one(run))

    def test_contention_beside_them_is_true_where_others_took_the_cores(self) -> None:
        names = {"gc": 100.0, "output": 60.0, "cpu_contention": 30.0}
        run = Run().emits(20).struck("gc", 100, ("output", 90)).named("gc", **names)
        assert not is_right_set(one(run))
        run.truth.outside.append(Outside(run.now, 100 * MS, 0.9, 0.6))
        assert is_right_set(one(run))

    def test_a_fault_that_took_little_of_the_excess_is_not_asked_for(self) -> None:
        judged = one(Run().emits(20).struck("gc", 200, ("output", 10)).named("gc", gc=200))
        assert judged.faults == ("gc",)

    def test_a_collection_in_another_request_holds_this_one_up_too(self) -> None:
        run = Run().emits(20)
        run.truth.strikes.append(Strike("gc", "b", 7, run.now, run.now + 100 * MS))
        judged = one(run.emits(1, 140).named("gc", gc=100))
        assert judged.faults == ("gc",)
        assert not judged.alone

    def test_a_sleep_in_another_request_does_not(self) -> None:
        run = Run().emits(20)
        run.truth.strikes.append(Strike("stall", "b", 7, run.now, run.now + 100 * MS))
        assert run.emits(1).score().judged == []

    def test_requests_are_judged_by_their_own_usual_interval(self) -> None:
        run = Run().emits(20).struck("gc", 100).named("gc", gc=100)
        other = Run().emits(20, 400, request="b")
        run.truth.emits += other.truth.emits
        assert [j.usual_ms for j in run.score().judged] == [USUAL]


class TestOutside:
    def test_a_fault_from_outside_strikes_every_interval_that_it_overlaps(self) -> None:
        run = Run().emits(20)
        begin = run.now
        run.emits(1, 160).named("cpu_contention", cpu_contention=118)
        run.emits(1, 150).named("cpu_contention", cpu_contention=108)
        run.truth.strikes.append(Strike("hog", None, None, begin, begin + 300 * MS))
        judged = run.emits(10).score().judged
        assert [is_right(j) for j in judged] == [True, True]
        assert [round(j.injected_ms["hog"]) for j in judged] == [120, 110]
        assert all(is_near(j) for j in judged)

    def test_a_stop_is_as_long_as_it_lies_in_the_interval(self) -> None:
        run = Run().emits(20)
        begin = run.now + 20 * MS
        run.emits(1, 340).named("blocked", blocked=298)
        run.truth.strikes.append(Strike("stopped", None, None, begin, begin + 300 * MS))
        judged = one(run.emits(5))
        assert judged.injected_ms == {"stopped": 300}
        assert is_right(judged)

    def test_disturbed(self) -> None:
        quiet = Outside(200 * MS, 100 * MS, 0.1, 1.0)
        busy = Outside(300 * MS, 100 * MS, 0.8, 0.4)
        full = Outside(400 * MS, 100 * MS, 0.1, 0.0)
        readings = [quiet, busy, full]
        assert not disturbed(readings, 120 * MS, 180 * MS)
        assert disturbed(readings, 150 * MS, 210 * MS)
        assert disturbed(readings, 310 * MS, 390 * MS)
        assert not disturbed(readings, 500 * MS, 600 * MS)
        assert not disturbed([], 0, 1)


class TestExpected:
    def test_each_fault_has_one_cause_with_spans(self) -> None:
        for fault, cause in CAUSES.items():
            assert right_answers(fault, "spans", "single") == {cause}

    def test_nothing_can_be_named_of_a_log(self) -> None:
        assert not any(is_seen(fault, "log", "single") for fault in CAUSES)

    def test_without_spans_work_has_no_name_and_waiting_may_have_one(self) -> None:
        assert right_answers("compute", "no_spans", "single") == {"unexplained"}
        assert right_answers("output_wait", "no_spans", "single") == {"blocked", "unexplained"}
        assert right_answers("gc", "no_spans", "worker") == {"gc"}


def judged_as(fault: str, cause: str | None, **more: Any) -> Judged:
    fields: dict[str, Any] = {
        "character": "single",
        "level": "spans",
        "faults": (fault,) if fault else (),
        "injected_ms": {fault: 100.0},
        "interval_ms": 140.0,
        "usual_ms": 40.0,
        "should": bool(fault),
        "cause": cause,
        "explained_ms": {} if cause in (None, "unexplained") else {cause: 100.0},
    }
    return Judged(**{**fields, **more})


class TestMetrics:
    def test_all_of_them(self) -> None:
        faulty = RunScore(
            [
                judged_as("gc", "gc"),
                judged_as("gc", "supply"),
                judged_as("gc", None),
                judged_as("untold", "unexplained"),
                judged_as("untold", "blocked"),
            ],
            100,
            100,
        )
        clean = RunScore(
            [
                judged_as("", "unexplained"),
                judged_as("", "supply"),
                judged_as("", "cpu_contention"),
                judged_as("", "cpu_contention", disturbed=True),
            ],
            1000,
            1000,
        )
        found = metrics([faulty], [clean])
        assert (found["found"]["hits"], found["found"]["n"]) == (4, 5)
        assert (found["right"]["hits"], found["right"]["n"]) == (1, 2)
        assert (found["near"]["hits"], found["near"]["n"]) == (1, 1)
        assert (found["unseen_named"]["hits"], found["unseen_named"]["n"]) == (1, 2)
        assert (found["clean_named"]["hits"], found["clean_named"]["n"]) == (2, 1000)
        assert found["clean_named"]["named_for_outside_load"] == 1
        assert found["clean_named"]["late"] == 4

    def test_nothing_at_all(self) -> None:
        found = metrics([], [])
        assert found["found"] == {"hits": 0, "n": 0, "share": None, "low": None, "high": None}

    def test_confusion(self) -> None:
        judged = [judged_as("gc", "gc"), judged_as("gc", None), judged_as("stall", "blocked")]
        assert confusion(judged) == {"gc": {"gc": 1, "not found": 1}, "stall": {"blocked": 1}}


class TestWilson:
    def test_against_published_values(self) -> None:
        """Newcombe 1998, table I, method 3: 81/263, 15/148, 0/20, 1/29."""
        for hits, n, low, high in (
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ):
            interval = Count(hits, n).interval
            assert interval == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))

    @given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
    def test_holds_the_share(self, counted: tuple[int, int]) -> None:
        count = Count(*counted)
        assert count.interval is not None
        assert count.share is not None
        low, high = count.interval
        assert 0 <= low <= count.share <= high <= 1

    def test_of_nothing(self) -> None:
        assert Count(0, 0).interval is None


class TestFiles:
    def test_what_is_written_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "truth.jsonl"
        file = TruthFile(path)
        emit, strike = Emit("a", 3, 36, 12, 7 * MS), Strike("gc", "a", 3, MS, 2 * MS)
        outside = Outside(9 * MS, MS, 0.5, 1.25)
        file.start(123, 0)
        file.emit(emit)
        file.strike(strike)
        file.outside(outside)
        file.close()
        truth = Truth.read([path, tmp_path / "missing.jsonl"])
        assert (truth.emits, truth.strikes, truth.outside) == ([emit], [strike], [outside])

    def test_the_demos_own_file_is_read_too(self, tmp_path: Path) -> None:
        path = tmp_path / "truth.json"
        line = {
            "fault": "cpu", "cause": "supply", "request": "demo-1", "emit": 5, "index": 17,
            "run_emit": 5, "t_begin_ns": 10, "t_end_ns": 20, "injected_ms": 1e-5, "bytes": None,
        }  # fmt: skip
        path.write_text(json.dumps(line) + "\n" + '{"fault": "cp')
        assert Truth.read([path]).strikes == [Strike("cpu", "demo-1", 5, 10, 20)]

    def test_without_a_path_nothing_is_written(self) -> None:
        TruthFile(None).start(1, 2)
