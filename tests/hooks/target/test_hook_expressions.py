"""Expressions over a call: what they may hold, and that nothing of them is evaluated by Python."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.hooks.target.expressions import NotPlain, Wrong, count_of, identity_of, read

VIDEO = SimpleNamespace(shape=(1, 12, 3, 8, 8))
ARGS = (SimpleNamespace(scale=4), [1, 2, 3], "frame_ready")
KWARGS = {"req_id": "7f3a", "n": 5}


def value(text: str, result: Any = VIDEO) -> Any:
    return read(text)(ARGS, KWARGS, result)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("result.shape[1]", 12),
        ("result.shape[-1]", 8),
        ("kwargs['req_id']", "7f3a"),
        ("kwargs.get('nothing')", None),
        ("kwargs.get('nothing', 3)", 3),
        ("len(args[1])", 3),
        ("self.scale", 4),
        ("1 + 4 * (kwargs['n'] - 1)", 17),
        ("result.shape[1] // self.scale", 3),
        ("7 % 4 + 6 / 4", 4.5),
        ("-2", -2),
        ("+2", 2),
        ("not args[1]", False),
        ("min(3, kwargs['n'], 4)", 3),
        ("max(args[1])", 3),
        ("sum(args[1])", 6),
        ("args[1][1:]", [2, 3]),
        ("args[1][:-1:2]", [1]),
        ("1 if args[2] == 'frame_ready' else 0", 1),
        ("1 < 2 < 3", True),
        ("1 < 2 > 3", False),
        ("2 in args[1] and 'x' not in args[2]", True),
        ("0 or kwargs['n']", 5),
        ("result.shape[1] if result is not None else 0", 12),
        ("args[1] != 3 and 3 >= 3 and 3 <= 3", True),
    ],
)
def test_what_an_expression_gives(text: str, expected: object) -> None:
    assert value(text) == expected


def test_a_result_that_is_nothing() -> None:
    assert value("result.shape[1] if result is not None else 0", None) == 0
    assert value("result is None", None) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("result.", "it is no expression"),
        ("result = 1", "it is no expression"),
        ("x.shape", "x is not known; there are args, kwargs, result, self"),
        ("__import__('os')", "calling __import__ is not allowed"),
        ("open('/etc/passwd').read()", "calling read is not allowed"),
        ("result.item()", "calling item is not allowed"),
        ("int(result)", "calling int is not allowed"),
        ("result.__class__", "__class__ is not allowed"),
        ("(lambda: 1)()", "calling this is not allowed"),
        ("[x for x in args]", "a comprehension is not allowed"),
        ("(y := 1)", ":= is not allowed"),
        ("f'{result}'", "an f-string is not allowed"),
        ("2 ** 99999", "this operator is not allowed"),
        ("~1", "this operator is not allowed"),
        ("b'x'", "is not allowed"),
        ("1j", "is not allowed"),
        ("len(*args)", "a call here takes plain arguments only"),
        ("min(1, 2, key=len)", "a call here takes plain arguments only"),
        ("result.get('a')", "calling get is not allowed"),
        ("{1: 2}", "a dict is not allowed"),
        ("await result", "it is no expression|await is not allowed"),
        ("1 + " * 300 + "1", "it is longer than 400 characters"),
        ("not " * 60 + "1", "it is nested too deeply"),
        ("\0", "it is no expression"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(Wrong, match=message):
        read(text)


def test_where_it_is_wrong_is_said() -> None:
    with pytest.raises(Wrong) as found:
        read("result.shape[1] + x")
    assert found.value.column == 19


class Tensor:
    """Stands for what lives on a GPU: its value must not be asked for."""

    shape = (3, 4)

    def __bool__(self) -> bool:
        raise AssertionError("the program would have waited for the GPU")

    __len__ = __eq__ = __lt__ = __add__ = __index__ = __int__ = __bool__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, at: object) -> Tensor:
        return self


@pytest.mark.parametrize(
    "text",
    ["result + 1", "result == 1", "not result", "1 if result else 0", "result and 1", "-result",
     "args[result]", "max(result[0], 1)", "result < 1 < 2", "args[1][result:]"],
)  # fmt: skip
def test_a_tensors_value_is_never_asked_for(text: str) -> None:
    with pytest.raises(NotPlain, match="Tensor is no plain number or text"):
        value(text, Tensor())
    assert value("result[0].shape[1]", Tensor()) == 4


def test_counts_and_identities() -> None:
    assert [count_of(value) for value in (3, 3.0, np.int64(3), True, None, False)] == [
        3, 3, 3, 1, 0, 0,
    ]  # fmt: skip
    for wrong in (Tensor(), [1], "3", np.zeros(3), 10**9, float("inf"), float("nan")):
        with pytest.raises(NotPlain):
            count_of(wrong)
    assert identity_of(None) is None
    assert identity_of(7) == identity_of("7") == "7"
    assert identity_of(Tensor()).startswith("Tensor at ")  # type: ignore[union-attr]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(Wrong):
        read(text)


@given(st.recursive(st.integers(0, 99).map(str), lambda inner: st.tuples(
    inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner
).map(lambda parts: f"({' '.join(parts)})"), max_leaves=12))  # fmt: skip
def test_arithmetic_is_pythons(text: str) -> None:
    try:
        expected = eval(text)
    except ZeroDivisionError:
        with pytest.raises(ZeroDivisionError):
            value(text)
    else:
        assert value(text) == expected
