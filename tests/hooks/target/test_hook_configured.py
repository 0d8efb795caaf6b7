"""Configured hooks on their way into a program."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.hooks.target.configured import EVENTS, FIELDS, Configured, problem, taken, written

HOOK = {"target": "a.b:C.d", "event": "frame_emit", "count": "len(result)", "every": "4"}


def test_what_is_written_is_taken() -> None:
    span = {"target": "a:f", "span": "decode", "when": "args[0] == 'x'", "request": "kwargs['r']"}
    source, hooks = taken(written("hooks", [HOOK, span]))
    assert source == "hooks"
    assert [{n: str(getattr(h, n)) for n in FIELDS if getattr(h, n)} for h in hooks] == [
        HOOK, {**span, "every": "1"},
    ]  # fmt: skip
    assert (hooks[0].module, hooks[0].names) == ("a.b", ["C", "d"])
    assert written("auto", []) == "auto"
    assert taken("auto") == ("auto", [])


TEXT = st.text(st.characters(exclude_characters="\x1e\x1f\0", exclude_categories=["Cs"]))


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(set(FIELDS) - {"every"}, TEXT))))
def test_any_texts_survive(hooks: list[dict[str, str]]) -> None:
    back = [Configured({**hook}) for hook in hooks]
    _, found = taken(written("auto", hooks))
    for one, other in zip(found, back, strict=True):
        assert [getattr(one, n) for n in FIELDS] == [getattr(other, n) for n in FIELDS]


@pytest.mark.parametrize("event", EVENTS)
def test_all_events_are_fine(event: str) -> None:
    assert problem({"target": "a.b:C.d", "event": event}) is None


@pytest.mark.parametrize(
    ("change", "key", "text"),
    [
        ({"target": "a.b"}, "target", "must be package.module:function"),
        ({"target": "a b:c"}, "target", "must be package.module:function"),
        ({"target": "a:b()"}, "target", "must be package.module:function"),
        ({"target": "__main__:b"}, "target", "is in __main__"),
        ({"event": None}, "target", "says neither an event nor a span"),
        ({"event": "frame"}, "event", "is 'frame', but must be one of frame_emit"),
        ({"event": "load"}, "count", "is only for event: frame_emit"),
        ({"count": "result.item()"}, "count", "calling item is not allowed"),
        ({"request": "foo"}, "request", "foo is not known"),
        ({"when": "import os"}, "when", "it is no expression"),
        ({"span": "a\x1fb"}, "span", "holds a control character"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(
    change: dict[str, str | None], key: str, text: str
) -> None:
    found = problem({**HOOK, **change})
    assert found is not None
    assert found[0] == key
    assert text in found[1]
