"""The grid: a terminal that gets the difference shows what one that gets everything shows."""

from __future__ import annotations

import random

import pytest
from celldiff_terminal import Terminal

from mgtop.view.celldiff.grid import CellGrid

STYLES = ["", "1;38;2;9;9;9;48;2;1;1;1", "38;2;9;9;9;48;2;1;1;1", "38;2;200;1;1;48;2;1;1;1", "4;31"]
WORDS = ["  ", " ", "abc", "▁▂▃█", "x", "漢字", "🎉", "     ", "12.5 ms", "é"]
ODD = ["e\u0301", "✔\ufe0f", "\x1b]8;id=1;http://x\x1b\\l\x1b]8;;\x1b\\", "n\u0303"]


def styled(rng: random.Random, width: int, odd: bool) -> str:
    """A row of pieces as Textual writes them, cut where the row ends."""
    output, left = [], width
    while left > 0 and rng.random() < 0.95:
        word = rng.choice(WORDS)
        cells = sum(2 if ch in "漢字🎉" else 1 for ch in word)
        if cells > left:
            break
        left -= cells
        style = rng.choice(STYLES)
        output.append(f"\x1b[{style}m{word}\x1b[0m" if style else word)
    if odd and left > 4 and rng.random() < 0.1:
        output.append(rng.choice(ODD))
    return "".join(output)


def frame(rng: random.Random, width: int, height: int, odd: bool) -> str:
    """Some rows from the top down, and where the cursor stays."""
    parts = []
    for y in sorted(rng.choices(range(height), k=rng.randint(1, 4))):
        x = 0 if rng.random() < 0.6 else rng.randrange(width)
        parts.append(f"\x1b[{y + 1};{x + 1}H{styled(rng, width - x, odd)}")
        if y < height - 1:
            parts.append("\n")
    return f"{''.join(parts)}\x1b[{rng.randint(1, height)};{rng.randint(1, width)}H"


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_difference_leads_to_the_same_screen(seed: int, odd: bool) -> None:
    rng, width, height = random.Random(seed), 30, 5
    plain, compared = Terminal(width, height), Terminal(width, height)
    plain.write("\x1b[?7l")
    compared.write("\x1b[?7l")
    grid = CellGrid(width, height)
    for number in range(250):
        output = frame(rng, width, height, odd)
        plain.write(output)
        sent = grid.frame(output)
        assert sent is not None
        compared.write(sent)
        assert compared.differences(plain) == [], f"frame {number}: {output!r} sent as {sent!r}"


def test_nothing_is_sent_where_nothing_changes() -> None:
    grid = CellGrid(10, 2)
    output = "\x1b[1;1H\x1b[31mhello\x1b[0m\n\x1b[2;1Hworld\x1b[1;1H"
    assert grid.frame(output)
    assert grid.frame(output) == ""
    assert grid.frame("\x1b[1;3H\x1b[31ml\x1b[0m\x1b[1;1H") == ""


def test_only_what_changed_is_sent() -> None:
    grid = CellGrid(40, 2)
    grid.frame("\x1b[1;1H\x1b[31mlast 60.4 ms\x1b[0m\x1b[1;1H")
    assert grid.frame("\x1b[1;1H\x1b[31mlast 61.4 ms\x1b[0m\x1b[1;1H") == (
        "\x1b[1;7H\x1b[31m1\x1b[m\x1b[H"
    )


def test_the_foreground_of_blanks_is_nothing_that_changes() -> None:
    grid = CellGrid(10, 1)
    grid.frame("\x1b[1;1H\x1b[31;44m  \x1b[0m\x1b[1;1H")
    assert grid.frame("\x1b[1;1H\x1b[1;32;44m  \x1b[0m\x1b[1;1H") == ""
    assert grid.frame("\x1b[1;1H\x1b[4;32;44m  \x1b[0m\x1b[1;1H") != ""


def test_a_short_gap_is_written_over() -> None:
    grid = CellGrid(20, 1)
    grid.frame("\x1b[1;1H\x1b[31mabcdef\x1b[0m\x1b[1;1H")
    assert grid.frame("\x1b[1;1H\x1b[31mXbcdeX\x1b[0m\x1b[1;1H") == (
        "\x1b[H\x1b[31mXbcdeX\x1b[m\x1b[H"
    )


def test_newest_columns_are_reached_by_short_ways() -> None:
    grid = CellGrid(100, 3)
    rows = [f"\x1b[{y};1H\x1b[31m{'█' * 50}\x1b[0m" for y in (1, 2, 3)]
    grid.frame("\n".join(rows) + "\x1b[1;1H")
    rows = [f"\x1b[{y};1H\x1b[31m{'█' * 50}▄\x1b[0m" for y in (1, 2, 3)]
    assert grid.frame("\n".join(rows) + "\x1b[1;1H") == (
        "\x1b[1;51H\x1b[31m▄\x1b[B\b▄\x1b[B\b▄\x1b[m\x1b[H"
    )


@pytest.mark.parametrize(
    "output",
    [
        "\x1b[3;1Hx\x1b[1;1H",
        "\x1b[1;11Hx\x1b[1;1H",
        "\x1b[1;9Hxyz\x1b[1;1H",
        "\x1b[0;1Hx\x1b[1;1H",
        "x\x1b[1;1H",
        "",
    ],
)
def test_a_frame_that_does_not_fit_is_refused(output: str) -> None:
    assert CellGrid(10, 2).frame(output) is None


def test_what_is_not_understood_goes_through_and_is_drawn_again() -> None:
    grid = CellGrid(20, 1)
    odd = "\x1b[1;1Ha\x1b[31me\u0301\x1b[0mb\x1b[1;1H"
    first, again = grid.frame(odd), grid.frame(odd)
    assert first is not None
    assert "a\x1b[31me\u0301\x1b[0mb" in first
    assert again is not None
    assert "a\x1b[31me\u0301\x1b[0mb" in again


def test_half_a_wide_character_is_not_trusted() -> None:
    grid = CellGrid(6, 1)
    grid.frame("\x1b[1;1Hab漢cd\x1b[1;1H")
    assert "x" in (grid.frame("\x1b[1;4Hx\x1b[1;1H") or "")
    # What is left of it in the third column differs between terminals: it is sent again.
    assert " " in (grid.frame("\x1b[1;3H \x1b[1;1H") or "")
