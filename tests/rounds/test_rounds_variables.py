"""What varies: reading --vary, sizes, and what a setting does to the parameters."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.config.errors import ConfigError
from mgtop.rounds.schedule import schedule, settings_of
from mgtop.rounds.variables import (
    Variable,
    applied,
    label,
    not_smaller,
    present,
    read_variable,
    same_setting,
    shown,
    size_of,
)

PARAMS: dict[str, Any] = {
    "steps": 8, "schedule": [1, 2], "sampler": "euler", "guidance": 4.5, "width": 1280,
    "height": 720, "fast": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("steps=4,8,16", [4, 8, 16]),
        ("steps = 4, 8", [4, 8]),
        ("params.steps=4,8", [4, 8]),
        ("guidance=1,2.5,1e1", [1, 2.5, 10.0]),
        ("sampler=euler,ddim", ["euler", "ddim"]),
        ("sampler='a,b',c", ["a,b", "c"]),
        ("schedule=[1,2],[1,2,3]", [[1, 2], [1, 2, 3]]),
        ("schedule=[[1,2],[3]],[4]", [[[1, 2], [3]], [4]]),
        ("fast=true,false", [True, False]),
        ("resolution=1280x720,960x544", ["1280x720", "960x544"]),
        ("sampler=012,12", ["012", 12]),
    ],
)
def test_values_are_numbers_names_and_lists(text: str, values: list[Any]) -> None:
    found = read_variable(text, PARAMS)
    assert found.values == values
    assert [type(value) for value in found.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps", "is not NAME=V1,V2"),
        ("=4", "is not NAME=V1,V2"),
        ("steps=", "a value is missing"),
        ("steps=4,,8", "a value is missing"),
        ("steps=4,4", "given twice"),
        ("schedule=[1,2],[1,2]", "[1,2] is given twice"),
        ("stps=4", "did you mean 'steps'?"),
        ("qqq=4", "there are steps, schedule"),
        ("steps=[1,2", "bracket or quote without its partner"),
        ("steps=1]", "bracket or quote without its partner"),
        ("steps='4", "bracket or quote without its partner"),
        ("steps={a: 1}", "a number, a name or a list"),
        ("steps=null,4", "a number, a name or a list"),
        ("resolution=big", "big is not WIDTHxHEIGHT"),
        ("steps=" + ",".join(map(str, range(300))), "more than 200 values"),
    ],
)
def test_what_cannot_vary_is_told(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as told:
        read_variable(text, PARAMS)
    assert words in str(told.value)
    assert str(told.value).startswith("--vary: ")


def test_without_params_it_says_what_to_do() -> None:
    with pytest.raises(ConfigError, match="there are none: give params:"):
        read_variable("steps=4", {})


def test_true_is_not_one() -> None:
    assert read_variable("fast=1,true", PARAMS).values == [1, True]
    assert not same_setting({"a": 1}, {"a": True})
    assert not same_setting({"a": [1]}, {"a": [True]})
    assert not same_setting({"a": 1}, {"a": "1"})
    assert same_setting({"a": 1}, {"a": 1.0})


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=8, unique=True))
def test_numbers_are_ordered_from_small_to_large(values: list[int]) -> None:
    assert Variable(name="steps", values=values).ordered() == sorted(values)


def test_names_stay_as_they_were_given() -> None:
    assert Variable(name="s", values=["z", "a"]).ordered() == ["z", "a"]
    assert Variable(name="s", values=["z", 1]).ordered() == ["z", 1]
    sizes = Variable(name="resolution", values=["1280x720", "960x544"])
    assert sizes.ordered() == ["960x544", "1280x720"]


def test_sizes() -> None:
    assert size_of(3) == 3
    assert size_of([1, 2, 3]) == 3
    assert size_of("1280x720") == 1280 * 720
    assert size_of("1280 X 720") == 1280 * 720
    assert size_of("euler") is None
    assert size_of(True) is None


def test_resolution_sets_width_and_height() -> None:
    params = applied(PARAMS, {"resolution": "960x544", "steps": 4})
    assert (params["width"], params["height"], params["steps"]) == (960, 544, 4)
    assert "resolution" not in params
    assert present(PARAMS, "resolution") == "1280x720"
    assert PARAMS["width"] == 1280
    own = {"resolution": "a", "width": 1, "height": 2}
    assert applied(own, {"resolution": "4x5"}) == {"resolution": "4x5", "width": 1, "height": 2}


def test_larger_in_everything_that_varies() -> None:
    least = {"steps": 8, "resolution": "960x544"}
    assert not_smaller({"steps": 8, "resolution": "960x544"}, least)
    assert not_smaller({"steps": 16, "resolution": "1280x720"}, least)
    assert not not_smaller({"steps": 4, "resolution": "1280x720"}, least)
    assert not_smaller({"dtype": "fp16"}, {"dtype": "fp16"})
    assert not not_smaller({"dtype": "fp32"}, {"dtype": "fp16"})


def test_labels_read_as_they_are_typed() -> None:
    assert label({"steps": 8, "schedule": [1, 2], "fast": True}) == (
        "steps=8 schedule=[1,2] fast=true"
    )
    assert label({}) == "baseline"
    assert shown("euler") == "euler"


def test_a_matrix_has_every_pair() -> None:
    settings = settings_of(
        [Variable(name="a", values=[2, 1]), Variable(name="b", values=["y", "x"])]
    )
    assert settings == [
        {"a": 1, "b": "y"}, {"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 2, "b": "x"},
    ]  # fmt: skip


def test_every_setting_stands_early_late_and_in_between() -> None:
    steps = schedule([Variable(name="a", values=[4, 8, 16])], 3)
    order = [step.setting["a"] for step in steps]
    assert order == [4, 8, 16, 8, 16, 4, 16, 4, 8]
    assert [step.repeat for step in steps] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    places: dict[int, int] = {}
    for n, value in enumerate(order):
        places[value] = places.get(value, 0) + n
    assert len(set(places.values())) == 1  # so that drift weighs on all alike
    assert all(one != other for one, other in itertools.pairwise(order))
    assert [s.setting for s in schedule([Variable(name="a", values=[4])], 2)] == [{"a": 4}] * 2
