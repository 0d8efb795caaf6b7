"""Gates: what they accept, what they refuse and how, and that null never passes."""

from __future__ import annotations

import contextlib
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.analysis.summary import (
    CauseTotal,
    PlayoutSummary,
    Quantiles,
    RequestSummary,
    SessionInfo,
    Summary,
    Tails,
)
from mgtop.report.gates import OPERATORS, GateError, evaluate, evaluate_all, parse_gate
from mgtop.report.paths import known_paths

SUMMARY = Summary(
    session=SessionInfo(params={"steps": 24, "sampler": "euler", "guidance": 4.5}),
    interval_ms=Quantiles(count=4, p50=49.5, p95=189.5, p99=209.0, max=214.0),
    interval_ms_by_count={"12": Quantiles(count=4, p95=189.5)},
    playout=PlayoutSummary(keeps_up=True),
    tails=Tails(count=1, lost_ms=166.0),
    causes={"supply": CauseTotal(frames=1, lost_ms=166.0)},
    requests=[
        RequestSummary(
            id="7f3a", warmup=False, received_ms=0.0, preprocess_ms=38.0, first_frame_ms=1120.0,
            frames=30, blocks=5, ended=True, interval_ms=Quantiles(), tails=1,
        )
    ],
)  # fmt: skip


def outcome(expression: str, summary: Summary = SUMMARY) -> bool:
    return evaluate(parse_gate(expression), summary).passed


@pytest.mark.parametrize(
    ("expression", "passed"),
    [
        ("interval_ms.p95 < 190", True),
        ("interval_ms.p95 < 189.5", False),
        ("interval_ms.p95 <= 189.5", True),
        ("interval_ms.p95>1.8e2", True),
        ("interval_ms.p95 >= 200", False),
        ("tails.count == 1", True),
        ("tails.count != 1", False),
        ("  tails.count==1  ", True),
        ("interval_ms_by_count.12.p95 < 190", True),
        ("requests.0.first_frame_ms <= 1120", True),
        ("session.params.steps == 24", True),
        ("session.params.guidance == 4.5", True),
        ("playout.keeps_up == 1", True),
        ("causes.supply.frames == 1", True),
        ("tails.count > -.5", True),
        ("session.live == 0", True),
    ],
)
def test_conditions(expression: str, passed: bool):
    assert outcome(expression) is passed


def test_a_cause_that_no_tail_has_counts_none():
    assert outcome("causes.gc.frames == 0")
    assert not outcome("causes.gc.lost_ms > 0")


@pytest.mark.parametrize(
    "expression",
    [
        "fps >= 0",
        "fps < 1e9",
        "fps != 3",
        "memory.peak.mib < 1e9",
        "memory.stages.load.process_mib != 1",
        "interval_ms_by_count.7.p95 != 3",
        "requests.5.first_frame_ms != 3",
        "session.params.seed != 3",
        "requests.0.spans.decode >= 0",
    ],
)
def test_what_is_not_known_fails(expression: str):
    result = evaluate(parse_gate(expression), SUMMARY)
    assert (result.passed, result.value) == (False, None)
    assert "not known" in result.message


@pytest.mark.parametrize("expression", ["tails.count == 0", "causes.gc.frames == 0"])
def test_no_tails_is_not_met_where_no_interval_was_measured(expression: str):
    result = evaluate(parse_gate(expression), Summary())
    assert (result.passed, result.value) == (False, None)
    assert "no interval was measured" in result.message


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("interval_ms.p96 < 80", "Did you mean interval_ms.p9"),
        ("intervl_ms.p95 < 80", "Did you mean interval_ms"),
        ("p95 < 80", "first_frame_ms.p95 or interval_ms.p95"),
        ("causes.suply.frames == 0", "Did you mean causes.supply"),
        ("memory.stages.start.process_mib < 3", "There are: load, idle"),
        ("interval_ms_by_count.many.p95 < 3", "emit sizes"),
        ("tails < 3", "group of values: use one of them, as tails.count"),
        ("requests < 3", "requests.0"),
        ("requests.first.tails < 3", "give a position"),
        ("requests.-1.tails < 3", "give a position"),
        ("fps.mean < 3", "single value"),
        ("verdict.code == 3", "is text"),
        ("target.route != 3", "is text"),
        ("interval_ms.p95 < 80ms", "'80ms' is not a number"),
        ("interval_ms.p95 < nan", "not a number"),
        ("interval_ms.p95 < inf", "not a number"),
        ("interval_ms.p95 = 80", "use =="),
        ("interval_ms.p95 => 80", "use one of < <= > >= == !="),
        ("interval_ms.p95", "METRIC OP NUMBER"),
        ("", "METRIC OP NUMBER"),
        ("< 80", "METRIC OP NUMBER"),
        ("fps < 80 and fps > 3", "METRIC OP NUMBER"),
        ("..p95 < 80", "no key ''"),
        ("__class__.p95 < 80", "no key '__class__'"),
    ],
)
def test_what_is_no_gate_is_refused_with_a_hint(expression: str, said: str):
    with pytest.raises(GateError) as raised:
        parse_gate(expression)
    assert said in str(raised.value)
    assert repr(expression) in str(raised.value)


def test_a_parameter_that_is_text_is_refused():
    with pytest.raises(GateError, match="'euler', not a number"):
        outcome("session.params.sampler == 1")


def test_results_keep_their_order_and_say_the_value():
    results = evaluate_all(["tails.count  ==  0", "interval_ms.p50 < 50"], SUMMARY)
    assert [result.passed for result in results] == [False, True]
    assert results[0].message == "not met: tails.count == 0 (it is 1)"
    assert results[1].message == "met: interval_ms.p50 < 50 (it is 49.5)"
    assert results[1].value == 49.5


def test_known_paths_are_the_leaves_of_the_report():
    paths = known_paths()
    assert "interval_ms.p95" in paths
    assert "tails.frames.N.evidence.N.lead_ms" in paths
    assert "tails" not in paths


functions = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
    st.sampled_from(sorted(OPERATORS)),
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12),
)
def test_operators_compare_as_numbers_do(value: float, op: str, number: float):
    summary = Summary(fps=value)
    assert outcome(f"fps {op} {number!r}", summary) is functions[op](value, number)


@given(st.text(max_size=40))
def test_any_text_is_a_gate_or_a_gate_error(text: str):
    with contextlib.suppress(GateError):
        assert evaluate(parse_gate(text), SUMMARY).expression


fragments = st.sampled_from(
    [*known_paths(), "N", "0", ".", " ", "<", "==", "80", "causes", "tails"]
)


@given(st.lists(fragments, max_size=6).map("".join))
def test_pieces_of_gates_never_break_it(text: str):
    with contextlib.suppress(GateError):
        assert evaluate(parse_gate(text), SUMMARY).expression
