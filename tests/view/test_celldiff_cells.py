"""Output taken apart into cells, and what is left alone because terminals differ on it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from rich.cells import get_character_cell_size

from mgtop.charts import ASCII, BLOCKS
from mgtop.view.celldiff.cells import NARROW, SECOND_HALF, WIDE, take_apart

EMOJI_OF_TEXT = "©®‼⁉™ℹ↔↕↖↗↘↙↩↪⌚⌛⏩▪▫▶◀◻◼◽◾☀☁★♀♂✂✔✖❤➕⭐🇩🏽"
"""Drawn one or two cells wide, depending on terminal and font."""


def test_pieces_become_cells() -> None:
    cells = take_apart("\x1b[1;31mab \x1b[0m c\x1b[48;5;4m \x1b[0m")
    assert cells is not None
    assert cells.text == "ab  c "
    assert cells.looks == ["1;31", "1;31", "", "", "", "48;5;4"]


def test_a_wide_character_takes_two_cells() -> None:
    cells = take_apart("\x1b[31m漢a\x1b[0m")
    assert cells is not None
    assert cells.text == f"漢{SECOND_HALF}a"
    assert cells.looks == ["31"] * 3


@pytest.mark.parametrize(
    "output",
    [
        "e\u0301",
        "👩\u200d💻",
        "a\u00adb",
        "\x1b]8;id=1;https://example.org\x1b\\link\x1b]8;;\x1b\\",
        "\x1b[31mno reset",
        "tab\tin it",
        "\x1b[2J",
        "\x1b[31ma\x1b[0mb\x07",
        "\x1b[22mx\x1b[0m",
        *EMOJI_OF_TEXT,
    ],
)
def test_what_is_in_doubt_is_left_alone(output: str) -> None:
    assert take_apart(output) is None


def test_narrow_characters_are_narrow_everywhere() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if NARROW.fullmatch(character):
            assert unicodedata.east_asian_width(character) not in "WF", hex(code)
            assert unicodedata.category(character) not in ("Mn", "Me", "Cf", "Cc", "Cs"), hex(code)
            assert get_character_cell_size(character) == 1, hex(code)
            assert not WIDE.match(character), hex(code)


def test_what_the_charts_draw_is_taken_apart() -> None:
    for glyphs in (BLOCKS, ASCII):
        drawn = glyphs.fill + glyphs.rest + glyphs.over + glyphs.target + glyphs.mark
        assert take_apart(drawn) is not None
