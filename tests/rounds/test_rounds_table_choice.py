"""The table of a sweep, what it says of growth, and the setting to take."""

from __future__ import annotations

import json

import pytest
from round_rows import oom, row, state_of

from mgtop.rounds import sweep_text
from mgtop.rounds.choice import choose
from mgtop.rounds.results import render, result_of
from mgtop.rounds.row import Row
from mgtop.rounds.sweep import cannot_load
from mgtop.rounds.table import table_of
from mgtop.rounds.variables import Variable

STEPS = Variable(name="steps", values=[4, 8, 16])


def sweep(times: dict[int, list[float]], **more: object) -> list[Row]:
    return [
        row({"steps": steps}, time, repeat=n + 1, **more)
        for steps, found in times.items()
        for n, time in enumerate(found)
    ]


LINEAR = sweep({4: [20, 20.2, 19.9], 8: [40, 40.1, 39.8], 16: [80, 80.3, 79.9]})


def test_repeats_become_least_middle_and_largest() -> None:
    table = table_of(sweep({4: [20, 26, 21]}, peak_mem_mib=100.0))
    assert len(table) == 1
    assert table[0].p50_frame_ms == [20, 21, 26]
    assert table[0].peak_mem_mib == [100, 100, 100]
    assert table[0].first_frame_ms == [None, None, None]
    assert table[0].repeats == 3


def test_repeats_converge_within_a_tenth() -> None:
    assert table_of(sweep({4: [20, 21, 20.5]}))[0].converged is True
    assert table_of(sweep({4: [20, 26, 21]}))[0].converged is False
    assert table_of(sweep({4: [20, 20]}))[0].converged is None


def test_memory_that_ran_out_has_its_place_and_no_figures() -> None:
    table = table_of([oom({"steps": 4}, "steady", 7, note="boom"), row({"steps": 8})])
    assert table[0].oom == "frame 7"
    assert table[0].status == "oom"
    assert table[0].note == "boom"
    assert table[1].status == "done"


def test_types_keep_settings_apart() -> None:
    assert len(table_of([row({"a": 1}), row({"a": True}), row({"a": "1"})])) == 3


def test_the_growth_of_a_sweep() -> None:
    result = result_of(state_of(LINEAR), [STEPS])
    assert result.linearity.kind == "linear"
    assert result.linearity.variable == "steps"
    assert result.linearity.slopes == pytest.approx([5, 5], rel=0.02)
    assert result.linearity_by == []


def test_names_do_not_grow() -> None:
    rows = [row({"sampler": name}) for name in ("a", "b")]
    result = result_of(state_of(rows), [Variable(name="sampler", values=["a", "b"])])
    assert result.linearity.kind == "undecided"
    assert "names, not numbers" in result.linearity.because


def test_a_matrix_is_judged_line_by_line() -> None:
    square = sweep({4: [16, 16.1, 15.9], 8: [64, 64.2, 63.9], 16: [256, 256.5, 255]})
    rows = [row({"steps": r.params["steps"], "size": "a" if r in LINEAR else "b"},
                r.p50_frame_ms, repeat=r.repeat) for r in [*LINEAR, *square]]  # fmt: skip
    variables = [STEPS, Variable(name="size", values=["a", "b"])]
    result = result_of(state_of(rows), variables)
    assert [line.kind for line in result.linearity_by] == ["linear", "superlinear"]
    assert [line.at for line in result.linearity_by] == [{"size": "a"}, {"size": "b"}]
    assert result.linearity.kind == "undecided"
    assert "do not agree" in result.linearity.because
    assert len(result.table) == 6
    alike = [r for r in rows if r.params["size"] == "a"]
    assert result_of(state_of(alike), variables).linearity.kind == "linear"


def test_the_choice_keeps_what_fits_and_takes_the_largest() -> None:
    choice = choose(table_of(LINEAR), target_fps=20)  # 50 ms: 8 steps have a P95 of 44
    assert choice.params == {"steps": 4}
    choice = choose(table_of(LINEAR), target_fps=16)
    assert choice.params == {"steps": 8}
    assert any("16: leaves less than 15 %" in reason for reason in choice.because)
    assert "whole chain" in choice.caveat


def test_the_choice_drops_what_jitters_or_ran_out_of_memory_or_misses_a_gate() -> None:
    rows = [
        row({"steps": 4}),
        row({"steps": 8}, tails=6),
        oom({"steps": 16}, "load"),
        row({"steps": 6}, gates=["gate not met: x"]),
        row({"steps": 12}, None, note="it failed"),
    ]
    choice = choose(table_of(rows), None)
    assert choice.params == {"steps": 4}
    text = " ".join(choice.because)
    for words in ("8: jitters", "16: ran out of memory", "6: misses a gate", "12: gave no figures"):
        assert words in text
    assert "no target_fps" in text


def test_the_choice_drops_what_stopped_making_frames() -> None:
    rows = [row({"steps": 4}, 20.0), row({"steps": 8}, 30.0, stopped_ms=2_801.0)]
    table = table_of([*rows, row({"steps": 8}, 30.0, repeat=2)])
    choice = choose(table, None)
    assert choice.params == {"steps": 4}
    assert choice.because[0] == ("steps=8: stopped making frames: none came in the last 2.8 s")


def test_rounds_with_different_target_rates_have_no_common_budget() -> None:
    rows = [row({"steps": 4}, target_fps=20.0), row({"steps": 8}, target_fps=10.0)]
    choice = result_of(state_of(rows), [STEPS]).choice
    assert choice.params == {"steps": 8}
    assert any("different target rates" in reason for reason in choice.because)
    assert "from 1 round: too few" in " ".join(choice.because)


def test_resolution_counts_before_steps() -> None:
    rows = [
        row({"steps": 16, "resolution": "960x544"}),
        row({"steps": 4, "resolution": "1280x720"}),
        row({"steps": 8, "resolution": "1280x720"}),
    ]
    assert choose(table_of(rows), None).params == {"steps": 8, "resolution": "1280x720"}
    heights = [row({"steps": 16, "height": 544}), row({"steps": 4, "height": 720})]
    assert choose(table_of(heights), None).params == {"steps": 4, "height": 720}


def test_of_names_the_quickest_is_taken() -> None:
    rows = [row({"sampler": "a"}, 30.0), row({"sampler": "b"}, 20.0)]
    choice = choose(table_of(rows), None)
    assert choice.params == {"sampler": "b"}
    assert any("quickest" in reason for reason in choice.because)


def test_where_nothing_will_do_nothing_is_chosen() -> None:
    choice = choose(table_of([oom({"steps": 4}, "load")]), None)
    assert choice.params is None
    assert choice.because[-1] == "so nothing is left to choose"


def test_larger_settings_than_one_that_cannot_load_are_not_tried() -> None:
    rounds = state_of([oom({"steps": 8}, "load"), oom({"steps": 2}, "steady", 4)]).rounds
    assert cannot_load(rounds, {"steps": 16}) == "steps=8 could not be loaded, memory ran out"
    assert cannot_load(rounds, {"steps": 8}) is not None
    assert cannot_load(rounds, {"steps": 4}) is None


def test_json_has_the_keys_of_the_contract() -> None:
    data = json.loads(render(result_of(state_of(LINEAR, smoke="passed"), [STEPS], "/sweep")))
    assert list(data)[:4] == ["rounds", "table", "linearity", "choice"]
    assert set(data["rounds"][0]) >= {
        "params", "run_id", "session", "first_frame_ms", "p50_frame_ms", "p95_frame_ms",
        "max_frame_ms", "tails", "placement", "peak_mem_mib", "peak_stage", "oom", "oom_stage",
        "oom_frame", "note",
    }  # fmt: skip
    assert set(data["table"][0]) >= {"params", "repeats", "converged", "p50_frame_ms"}
    assert data["rounds"][0]["peak_mem_mib"] is None
    assert set(data["linearity"]) >= {"kind", "slopes"}
    assert set(data["choice"]) >= {"params", "because", "caveat"}


def test_what_differed_stands_in_the_note() -> None:
    rows = [row({"steps": 4}, note="a"), row({"steps": 8}, differs=["b", "c"])]
    notes = [found.note for found in result_of(state_of(rows), [STEPS]).rounds]
    assert notes == ["a", "b; c"]


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_text_keeps_its_width(width: int) -> None:
    rows = [*LINEAR, oom({"steps": 32}, "load", note="out of memory at load: CUDA " * 9)]
    text = sweep_text.render(result_of(state_of(rows), [STEPS], "/tmp/sweep"), width)
    assert max(map(len, text.splitlines())) <= width
    for words in ("SWEEP", "GROWTH", "CHOICE", "KEPT", "linear"):
        assert words in text


def test_a_sweep_without_any_round_is_told_as_that() -> None:
    text = sweep_text.render(result_of(state_of([], status="stopped"), [STEPS]))
    assert "stopped, not finished" in text
    assert "no round is finished" in text
