"""What is recorded can be true and can be printed."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgtop.record.limits import PLAUSIBLE, clean, clean_params, printable
from mgtop.wire.records import (
    AnyEvent,
    Event,
    FrameEmit,
    Hello,
    Mark,
    Name,
    Queue,
    RequestReceived,
    Span,
    TorchMemory,
)

PROC = 5000 << 22 | 4321
HEAD: dict[str, Any] = {"t_ns": 10**12, "seq": 3, "proc": PROC, "tid": 4321}
EMIT = FrameEmit(**HEAD, request=1, index=0, emit=0, count=4, cpu_ns=5)


def plausible(event: AnyEvent) -> bool:
    return PLAUSIBLE[type(event)](event)


def test_every_event_has_a_check() -> None:
    assert set(PLAUSIBLE) == set(get_args(AnyEvent))
    assert all(issubclass(kind, Event) for kind in PLAUSIBLE)


def test_a_sane_event_passes() -> None:
    assert plausible(EMIT)
    assert plausible(Span(**HEAD, request=1, index=-1, name=4, duration_ns=5_000_000))


@pytest.mark.parametrize(
    "change",
    [
        {"t_ns": 0},
        {"t_ns": -1},
        {"t_ns": 1 << 63},
        {"seq": -1},
        {"proc": 0},
        {"proc": -5},
        {"tid": -1},
        {"request": -1},
        {"index": -1},
        {"index": 1 << 60},
        {"emit": -1},
        {"count": 0},
        {"count": -4},
        {"count": 1_000_001},
        {"route": 5},
        {"route": -1},
        {"cpu_ns": -1},
        {"run_delay_ns": 1 << 63},
        {"interval_ns": -7},
    ],
)
def test_impossible_numbers_of_an_emit_are_refused(change: dict[str, int]) -> None:
    assert not plausible(msgspec.structs.replace(EMIT, **change))


@pytest.mark.parametrize(
    "event",
    [
        Span(**HEAD, request=0, index=0, name=1, duration_ns=-1),
        Span(**HEAD, request=0, index=0, name=1, duration_ns=10**12 + 1),  # began before boot
        Span(**HEAD, request=0, index=0, name=1 << 20, duration_ns=1),
        Span(**HEAD, request=0, index=-2, name=1, duration_ns=1),
        Name(**HEAD, id=3, text="decode"),  # a name that has a fixed meaning
        Queue(**HEAD, name=16, depth=-1, capacity=8),
        TorchMemory(**HEAD, request=1, emit=0, device=0, allocated_bytes=1 << 60,
                    reserved_bytes=0, peak_bytes=0, retries=0, ooms=0, driver_allocs=0,
                    driver_frees=0),
    ],
)  # fmt: skip
def test_impossible_numbers_of_other_events_are_refused(event: AnyEvent) -> None:
    assert not plausible(event)


def test_control_characters_do_not_reach_a_terminal() -> None:
    mark = printable(Mark(**HEAD, text="a\x1b]0;owned\x07b\x9b31mc\u202ed"))
    assert isinstance(mark, Mark)
    assert mark.text == "a�]0;owned�b�31mc�d"
    request = printable(
        RequestReceived(**HEAD, request=1, id="\x1b[2J", params={"a\x07": ["\x1bx", 3]})
    )
    assert isinstance(request, RequestReceived)
    assert (request.id, request.params) == ("�[2J", {"a�": ["�x", 3]})


def test_ordinary_text_of_any_language_is_kept() -> None:
    hello = Hello(**HEAD, probe="1", python="3.11", argv0="/home/ünal/模型/infer.py")
    assert printable(hello) is hello
    assert clean("two\nlines\tand a tab") == "two\nlines\tand a tab"


def test_long_text_is_cut() -> None:
    assert len(clean("x" * 5000)) == 2001


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_like))
def test_parameters_can_always_be_written_as_json(params: dict[str, Any]) -> None:
    cleaned = clean_params(params)
    assert msgspec.json.decode(msgspec.json.encode(cleaned)) is not None
    assert clean_params(cleaned) == cleaned or "nan" in repr(cleaned)


def test_deep_and_strange_parameters_become_words() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = [deep]
    cleaned = clean_params({"deep": deep, "bytes": b"\0", "map": {3: 4}})
    assert cleaned == {"deep": [[["(list)"]]], "bytes": "(bytes)", "map": {"3": 4}}
