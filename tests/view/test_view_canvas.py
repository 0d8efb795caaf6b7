"""The canvas: only rows that changed are drawn again, whatever covers it."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.theme import BUILTIN_THEMES

from mgtop.charts import Run
from mgtop.view.canvas import Canvas, _blocks
from mgtop.view.themes import ANSI, load_all


class Shown(App[None]):
    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {**BUILTIN_THEMES["ansi-dark"].variables, **load_all()[0].variables}

    def compose(self) -> ComposeResult:
        yield Canvas()

    def on_mount(self) -> None:
        for theme in load_all():
            self.register_theme(theme)


def row(text: str, band: str = "text") -> list[Run]:
    return [Run(text, band)]


@pytest.mark.parametrize(
    ("rows", "blocks"),
    [([], []), ([3], [(3, 1)]), ([0, 1, 2, 5, 7, 8], [(0, 3), (5, 1), (7, 2)])],
)
def test_neighbours_are_drawn_as_one(rows: list[int], blocks: list[tuple[int, int]]) -> None:
    assert _blocks(rows) == blocks


async def test_rows_that_are_as_before_are_left_alone() -> None:
    app = Shown()
    async with app.run_test(size=(10, 4)) as pilot:
        canvas = app.query_one(Canvas)
        canvas.show([row("a" * 10), row("b" * 10), row("c" * 10)])
        await pilot.pause()
        kept = [canvas.render_line(y) for y in range(4)]
        assert [strip.text for strip in kept] == ["a" * 10, "b" * 10, "c" * 10, " " * 10]
        drawn = canvas.rows_drawn
        canvas.show([row("a" * 10), row("x" * 10)])
        assert canvas.rows_drawn == drawn + 2  # one that changed, and one that is gone
        now = [canvas.render_line(y) for y in range(4)]
        assert [strip.text for strip in now] == ["a" * 10, "x" * 10, " " * 10, " " * 10]
        assert now[0] is kept[0]


async def test_a_part_of_it_is_cut_out() -> None:
    app = Shown()
    async with app.run_test(size=(10, 4)):
        canvas = app.query_one(Canvas)
        canvas.show([row("0123456789"), [Run("abc", "text"), Run("defghij", "bad")]])
        strips = canvas.render_lines(Region(2, 0, 4, 2))
        assert [strip.text for strip in strips] == ["2345", "cdef"]


async def test_another_width_and_another_theme_are_drawn_anew() -> None:
    app = Shown()
    async with app.run_test(size=(10, 2)) as pilot:
        canvas = app.query_one(Canvas)
        canvas.show([row("0123456789", "bad")])
        app.theme = "mgtop-dark"
        await pilot.pause()
        dark = canvas.render_line(0)
        app.theme = "mgtop-light"
        await pilot.pause()
        light = canvas.render_line(0)
        assert next(iter(dark)).style != next(iter(light)).style
        app.theme = ANSI
        await pilot.pause()
        style = next(iter(canvas.render_line(0))).style
        assert style is not None
        assert style.color is not None
        await pilot.resize_terminal(5, 2)
        assert canvas.render_line(0).text == "01234"
        await pilot.resize_terminal(12, 2)
        assert canvas.render_line(0).text == "0123456789  "
