"""Looks: equal ones are equal texts, and each way from one to another arrives."""

from __future__ import annotations

import pytest
from celldiff_terminal import Terminal
from hypothesis import given
from hypothesis import strategies as st

from mgtop.view.celldiff.looks import blank, change, look_of

COLOURS = ["", "31", "97", "38;5;200", "38;2;1;2;3", "38;2;10;20;30", "39"]
BACKGROUNDS = ["", "41", "107", "48;5;17", "48;2;1;2;3", "49"]
looks = st.builds(
    lambda attributes, fg, bg: look_of(";".join(filter(None, [*attributes, fg, bg]))) or "",
    st.sets(st.sampled_from(["1", "3", "4", "7", "9", "2", "53"])),
    st.sampled_from(COLOURS),
    st.sampled_from(BACKGROUNDS),
)


@pytest.mark.parametrize(
    ("parameters", "look"),
    [
        ("", ""),
        ("39;49", ""),
        ("48;2;1;2;3;1;38;5;7", "1;38;5;7;48;2;1;2;3"),
        ("9;1;4", "1;4;9"),
        ("31;32", "32"),
        ("01", "1"),
        ("0", None),
        ("22", None),
        ("38;2;1", None),
        ("38;9;1", None),
        ("999", None),
    ],
)
def test_equal_looks_are_equal_texts(parameters: str, look: str | None) -> None:
    assert look_of(parameters) == look


@pytest.mark.parametrize(
    ("look", "on_a_blank"),
    [
        ("1;3;38;2;1;2;3;48;5;4", "48;5;4"),
        ("31", ""),
        ("", ""),
        ("4;31", "4;31"),
        ("7;31;42", "7;31;42"),
        ("53;31", "53;31"),
    ],
)
def test_a_blank_shows_its_background_only(look: str, on_a_blank: str) -> None:
    assert blank(look) == on_a_blank


@given(looks, looks)
def test_every_change_arrives(old: str, new: str) -> None:
    changed, told = Terminal(1, 1), Terminal(1, 1)
    changed.write(f"\x1b[{old}m{change(old, new)}x")
    told.write(f"\x1b[{new}mx")
    assert changed.screen.buffer[0][0] == told.screen.buffer[0][0]
    assert len(change(old, new)) <= len(f"\x1b[0;{new}m")


def test_only_what_differs_is_sent() -> None:
    assert change("31;48;2;1;2;3", "32;48;2;1;2;3") == "\x1b[32m"
    assert change("31;48;2;1;2;3", "1;31;48;2;1;2;3") == "\x1b[1m"
    assert change("38;2;9;9;9;41", "41") == "\x1b[39m"
    assert change("31", "31") == ""
    assert change("1;31", "") == "\x1b[m"
    assert change("1;31", "31") == "\x1b[0;31m"
