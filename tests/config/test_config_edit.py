"""Single values of a YAML file are changed, and nothing else in it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mgtop.config.document import parse
from mgtop.config.dump import to_flow
from mgtop.config.edit import CannotEdit, set_value

TEXT = """\
# Settings of the pipeline.
inference:   # how it samples
  sample_steps: 24   # more is better
  "size": "1280*720"
  scale: &scale 5.0
  other: *scale
  empty:
  later:   # not set yet
  sizes: [4, 8]  # in one line
  block:
    - 1   # the first
    - 2

  # before the next
  indentless:
  - a
  - b
  prompt: |
    A quiet street,
    at night.

  map:
    x: 1
    y: {z: [1, {w: 2}]}
  tagged: !path models/base
model.lr: 0.1
last: 'q'
"""


def changed_lines(key: str, value: Any, text: str = TEXT) -> list[str]:
    """The lines that are new, with their line ends stripped; all others must be as before."""
    before, after = text.splitlines(), set_value(text, key, value).splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return after


@pytest.mark.parametrize(
    ("key", "value", "lines"),
    [
        ("inference.sample_steps", 16, ["  sample_steps: 16   # more is better"]),
        ("inference.size", "960*544", ['  "size": "960*544"']),
        ("inference.size", 7, ['  "size": 7']),
        ("inference.scale", 6.5, ["  scale: &scale 6.5"]),
        ("inference.other", 3, ["  other: 3"]),
        ("inference.empty", "fp16", ["  empty: fp16"]),
        ("inference.later", True, ["  later: true   # not set yet"]),
        ("inference.sizes", [16], ["  sizes: [16]  # in one line"]),
        ("inference.sizes", [16, 8], ["  sizes: [16, 8]  # in one line"]),
        ("inference.sizes[1]", 9, ["  sizes: [4, 9]  # in one line"]),
        ("inference.sizes.1", 9, ["  sizes: [4, 9]  # in one line"]),
        ("inference.block", [3, 2], ["    - 3   # the first"]),
        ("inference.block", [1, 2, 3], ["    - 1", "    - 2", "    - 3"]),
        ("inference.block", [], ["     []"]),
        ("inference.block.1", 5, ["    - 5"]),
        ("inference.indentless", ["c"], ["  - c"]),
        ("inference.indentless", None, ["   null"]),
        ("inference.prompt", "day", ["  prompt: day"]),
        ("inference.map.y.z[1].w", "on", ["    y: {z: [1, {w: 'on'}]}"]),
        ("inference.map", {"x": 2}, ["    {x: 2}"]),
        ("inference.map.y.z", [1, 2], ["    y: {z: [1, 2]}"]),
        ("inference.tagged", "models/large", ["  tagged: !path models/large"]),
        ("model.lr", 1e-5, ["model.lr: 1.0e-05"]),
        ("last", "it's\nhere", ['last: "it\'s\\nhere"']),
        ("last", "12:30", ["last: '12:30'"]),
    ],
)
def test_one_value_changes(key: str, value: Any, lines: list[str]) -> None:
    assert changed_lines(key, value) == lines


def test_the_same_value_changes_nothing() -> None:
    for key, value in [
        ("inference.sample_steps", 24),
        ("inference.size", "1280*720"),
        ("inference.sizes", [4, 8]),
        ("inference.block", [1, 2]),
        ("last", "q"),
    ]:
        assert set_value(TEXT, key, value) == TEXT


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("sample_steps", "did you mean 'inference.sample_steps'?"),
        ("inference.sample_stps", "did you mean 'inference.sample_steps'?"),
        ("inference.block.7", "has no inference.block.7"),
        ("inference.sample_steps.x", "has no inference.sample_steps.x"),
        ("zzz", "has no zzz (it has inference, last)"),
        ("", "has no "),
    ],
)
def test_a_key_that_is_not_there(key: str, says: str) -> None:
    with pytest.raises(CannotEdit) as caught:
        set_value(TEXT, key, 1)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("a: &x {b: 1}\nc: *x\n", "c.b", "behind an alias"),
        ("a: &x 1\nc: [*x]\n", "c.0", ""),
        ("a: &x 1\nc:\n  - 2\n  - *x\n", "c", "alias"),
        ("d: &d {b: 1}\nc:\n  <<: *d\n", "c.b", "has no c.b"),
        ("a: [1\n", "a", "not YAML"),
        ("a: 1\n---\na: 2\n", "a", "not YAML"),
        ("a: \x01\n", "a", "not YAML"),
        ("", "a", "has no a (it has no keys)"),
        ("word\n", "a", "has no a"),
        ("[" * 3000, "a", "nested too deeply"),
        ("{a}\n", "a", "cannot be edited"),
        ("m:\n  b: 1\n  c: 2\n", "m", "has several values under m: name one of them, as m.b"),
    ],
)
def test_what_cannot_be_edited_is_said(text: str, key: str, says: str) -> None:
    if not says:
        assert set_value(text, key, 5) == "a: &x 1\nc: [5]\n"
        return
    with pytest.raises(CannotEdit) as caught:
        set_value(text, key, [1, 2, 3])
    assert says in str(caught.value)


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    text = "\ufeffa: 1\r\nb:\r\n- 1\r\n- 2\r\nc: |\r\n  x\r\nd: 2\r\n"
    assert set_value(text, "a", 2) == text.replace("a: 1", "a: 2")
    assert set_value(text, "c", "y") == text.replace("c: |\r\n  x\r\n", "c: y\r\n")


def test_of_keys_given_twice_the_last_one_counts() -> None:
    assert set_value("a: 1\na: 2\n", "a", 3) == "a: 1\na: 3\n"


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(-1e6, 1e6)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
    | st.sampled_from(["yes", "12:30", "a: b", "# no", "- x", "l1\nl2", "'", '"', "*a", "&a"])
)
NAMES = st.text("abcdefgh_", min_size=1, max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def places(value: Any, path: str = "") -> list[str]:
    """Every path below a value."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{path}.{key}" if path else key, item) for key, item in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}.{n}" if path else str(n), item) for n, item in enumerate(value)]
    return [name for key, item in inner for name in (key, *places(item, key))]


def at(data: Any, path: str) -> Any:
    for part in path.split("."):
        data = data[int(part) if part.isdigit() else part]
    return data


def put(data: Any, path: str, value: Any) -> None:
    way, _, last = path.rpartition(".")
    (at(data, way) if way else data)[int(last) if last.isdigit() else last] = value


@settings(max_examples=150, deadline=None)
@given(
    data=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4),
    value=VALUES,
    flow=st.sampled_from([True, False, None]),
    indent=st.sampled_from([2, 4]),
    choice=st.randoms(use_true_random=False),
)
def test_the_file_reads_as_before_but_for_the_value(
    data: dict[str, Any], value: Any, flow: bool | None, indent: int, choice: Any
) -> None:
    text = yaml.safe_dump(
        data, default_flow_style=flow, indent=indent, sort_keys=False, allow_unicode=True
    )
    path = choice.choice(places(data))
    wanted = yaml.safe_load(text)
    named = at(wanted, path)
    if isinstance(named, dict) and named and not isinstance(value, dict):
        with pytest.raises(CannotEdit):
            set_value(text, path, value)
        return
    changed = set_value(text, path, value)
    put(wanted, path, value)
    assert yaml.safe_load(changed) == wanted


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_a_value_in_one_line_reads_back(value: Any) -> None:
    text = to_flow(value)
    assert "\n" not in text
    assert yaml.safe_load(f"[{text}]") == [value]
    assert parse(f"k: [{text}]", "f")[0] == {"k": [value]}
