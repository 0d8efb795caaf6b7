"""Fallback: the order of notches, when late frames are gone, and a program that needs one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from round_programs import Workplace
from round_rows import oom, row, state_of

from mgtop.config import RunConfig
from mgtop.config.errors import ConfigError
from mgtop.rounds import fallback_text
from mgtop.rounds.fallback import are_gone, is_troubled, next_notch
from mgtop.rounds.fallback_result import render, result_of
from mgtop.rounds.notches import kind_of, notches
from mgtop.rounds.preparing import Prepared
from mgtop.rounds.row import Row
from mgtop.rounds.state import Order
from mgtop.rounds.variables import Variable

CONFIG = RunConfig(
    command=["x"],
    params={
        "steps": 24, "width": 1280, "height": 720, "concurrency": 2, "kv_cache": 64, "dtype": "a",
    },
)  # fmt: skip
VARIABLES = [
    Variable(name="dtype", values=["a", "b"]),
    Variable(name="kv_cache", values=[64, 32]),
    Variable(name="concurrency", values=[2, 1]),
    Variable(name="resolution", values=["1280x720", "960x544"]),
    Variable(name="steps", values=[24, 16, 12]),
]


def names(memory: bool) -> list[tuple[str, Any]]:
    return [(notch.name, notch.value) for notch in notches(VARIABLES, CONFIG, memory)]


def test_steps_first_then_resolution_then_concurrency() -> None:
    assert names(memory=False) == [
        ("steps", 16), ("steps", 12), ("resolution", "960x544"), ("concurrency", 1),
        ("kv_cache", 32), ("dtype", "b"),
    ]  # fmt: skip


def test_with_memory_trouble_never_steps() -> None:
    assert names(memory=True) == [
        ("resolution", "960x544"), ("concurrency", 1), ("kv_cache", 32), ("dtype", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("num_inference_steps", "steps"), ("schedule", "steps"), ("height", "resolution"),
        ("frames_per_batch", "concurrency"), ("batch_size", "concurrency"),
        ("context_window", "cache"), ("kv_cache_size", "cache"), ("dtype", "other"),
    ],
)  # fmt: skip
def test_parameters_are_known_by_their_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def late(tails: int, counted: int = 100) -> Row:
    return row({}, tails=tails, counted=counted)


@pytest.mark.parametrize(
    ("rounds", "baseline", "gone"),
    [
        ([late(0)], [late(10)], True),
        ([late(1)], [late(10)], True),  # a tenth of what was to be expected
        ([late(2)], [late(10)], False),
        ([late(9)], [late(10)], False),
        ([late(0, 20)], [late(10)], None),  # two were to be expected: it may be chance
        ([late(0, 20), late(0, 20)], [late(10)], True),
        ([late(1, 20)], [late(10)], None),
        ([oom({}, "steady")], [late(10)], False),
        ([row({}, None)], [late(10)], False),
        ([late(0)], [oom({}, "load")], True),
        ([late(20)], [oom({}, "load")], False),
        ([], [late(10)], None),
    ],
)
def test_when_late_frames_are_gone(
    rounds: Sequence[Row], baseline: Sequence[Row], gone: bool | None
) -> None:
    assert are_gone(rounds, baseline) is gone


def test_there_must_be_something_to_get_rid_of() -> None:
    assert not is_troubled([late(0)])
    assert is_troubled([late(0), late(1)])
    assert is_troubled([oom({}, "load")])


def test_a_sign_of_memory_trouble_changes_the_order_midway() -> None:
    prepared = Prepared(
        order=Order(kind="fallback", config="c"), config=CONFIG, path=Path("c"), name="c",
        variables=VARIABLES, gates=[], said=[],
    )  # fmt: skip
    state = state_of([row({}, tails=9)])
    notch = next_notch(prepared, state)
    assert notch is not None
    assert notch.setting == {"steps": 16}
    signs = state_of([row({}, tails=9), row({"steps": 16}, tails=9, memory_signs=["full"])])
    notch = next_notch(prepared, signs)
    assert notch is not None
    assert notch.setting == {"resolution": "960x544"}


FALLBACK = {"steps": [4, 3], "resolution": ["1280x720", "960x544"]}
LATE = {"width": 1280, "height": 720, "frames": 50}


@pytest.mark.e2e
def test_the_notch_of_a_program_that_needs_it_is_found(workplace: Workplace) -> None:
    workplace.config(params=LATE, fallback=FALLBACK)
    code, state, prepared = workplace.carry_out("fallback", repeats=3)
    assert code == 0
    assert state.status == "finished"
    result = result_of(state, prepared)
    assert result.found == {"resolution": "960x544"}
    assert result.order == ["steps", "resolution"]
    assert [tried.params for tried in result.notches] == [
        {"steps": 3}, {"resolution": "960x544"},
    ]  # fmt: skip
    assert [tried.gone for tried in result.notches] == [False, True]
    bought = result.notches[1].bought
    assert bought.late_share is not None
    assert bought.late_share < -80
    assert result.overlay is None
    data = json.loads(render(result))
    assert data["found"] == {"resolution": "960x544"}
    text = fallback_text.render(result)
    assert "TAKE  resolution=960x544" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.e2e
def test_where_nothing_helps_stages_and_memory_stand_on_one_axis(workplace: Workplace) -> None:
    workplace.config(params=LATE, fallback={"steps": [4, 3]})
    code, state, prepared = workplace.carry_out("fallback", repeats=1)
    assert code == 1
    result = result_of(state, prepared, "/kept")
    assert result.found is None
    picture = result.overlay
    assert picture is not None
    assert len(picture.stages) == len(picture.memory) == len(picture.tails) == 64
    assert picture.stages.strip("lFs·") == ""
    assert "s" in picture.stages
    assert picture.tails.count("O") >= 3  # output: the encode span
    assert picture.before[0].channel == "output"
    lead = picture.before[0].lead_ms
    assert lead is not None
    assert 40 <= lead < 120
    assert "output in" in picture.text
    text = fallback_text.render(result)
    assert max(map(len, text.splitlines())) <= 80
    assert "still there" in text


@pytest.mark.e2e
def test_without_late_frames_there_is_nothing_to_fall_back_from(workplace: Workplace) -> None:
    workplace.config(fallback=FALLBACK, detect={"floor_ms": 2_000})  # nothing is that late
    code, state, _ = workplace.carry_out("fallback", repeats=1)
    assert code == 0
    assert len(state.rounds) == 1
    assert "nothing to fall back from" in state.result[0]


@pytest.mark.e2e
def test_memory_that_ran_out_is_a_sign(workplace: Workplace) -> None:
    workplace.config(params={"width": 4000}, fallback={"steps": [4, 2], "width": [4000, 640]})
    code, state, prepared = workplace.carry_out("fallback", repeats=1)
    assert code == 0
    result = result_of(state, prepared)
    assert result.memory_signs == ["memory ran out"]
    assert result.left_out == ["steps"]
    assert [tried.params for tried in result.notches] == [{"width": 640}]
    assert "so not steps: that frees no memory" in fallback_text.render(result)


def test_a_configuration_must_say_what_can_give_way(workplace: Workplace) -> None:
    workplace.config()
    with pytest.raises(ConfigError, match="says what can give way"):
        workplace.prepared("fallback")
    workplace.config(fallback={"stps": [4]})
    with pytest.raises(ConfigError, match="did you mean 'steps'"):
        workplace.prepared("fallback")
