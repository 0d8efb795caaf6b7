"""An app draws at random on two terminals, one through the comparison: both show the same.

``MGTOP_CELLDIFF_UPDATES=2000 python -m pytest tests/view/test_celldiff_driver.py`` for long.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from celldiff_terminal import Terminal
from textual import events
from textual.app import App, ComposeResult
from textual.containers import Grid, VerticalScroll
from textual.content import Content
from textual.driver import Driver
from textual.geometry import Offset, Region, Size
from textual.screen import ModalScreen
from textual.style import Style
from textual.widgets import DataTable, Footer, Input, RichLog, Static

from mgtop.view.celldiff import choice
from mgtop.view.celldiff import driver as driver_module
from mgtop.view.celldiff.driver import MOST_FAILURES, SYNC_BEGIN, CellDiffDriver

UPDATES = int(os.environ.get("MGTOP_CELLDIFF_UPDATES", "80"))
COLOURS = ("red", "on blue", "#123456 on #654321", "ansi_green", "ansi_red on ansi_blue", "white")
ODD = ("e\u0301", "👩\u200d💻", "✔\ufe0f", "n\u0303", "▶")
CHANGES = {
    "text": 30, "nudge": 30, "bars": 25, "log": 10, "scroll": 15, "table": 10, "input": 10,
    "region": 10, "many": 8, "cursor": 5, "hide": 4, "modal": 4, "resize": 4, "flicker": 2,
    "repaint": 3, "theme": 3, "bell": 2, "suspend": 2,
}  # fmt: skip
"""Kinds of change, and how often each comes."""
SLOW = ("resize", "modal", "theme", "suspend", "flicker")


class TwinDriver(CellDiffDriver):
    """Writes into two emulated terminals: what Textual writes, and what the comparison sends."""

    _writer_thread: Any
    size = (60, 20)

    def start_application_mode(self) -> None:
        self.plain, self._writer_thread = Terminal(*self.size), Terminal(*self.size)
        self.frames = 0
        self.forget()
        self.write("\x1b[?7l")
        self._tell_size()

    @property
    def sent(self) -> Terminal:
        return self._writer_thread  # type: ignore[no-any-return]

    def write(self, data: str) -> None:
        self.plain.write(data)
        self.frames += data.startswith("\x1b[") and len(data) > 20
        super().write(data)

    def _tell_size(self) -> None:
        size = Size(*self.size)
        self.process_message(events.Resize(size, size))

    def resize(self, *sizes: tuple[int, int]) -> None:
        """Let the terminals have these sizes one after the other, and lose what they showed."""
        for self.size in sizes:
            for terminal in (self.plain, self.sent):
                terminal.resize(*self.size)
                terminal.spoil()
            self._tell_size()

    def _get_terminal_size(self) -> tuple[int, int]:
        return self.size

    def disable_input(self) -> None: ...
    def stop_application_mode(self) -> None: ...
    def close(self) -> None: ...


class Question(ModalScreen[None]):
    CSS = "Question { align: center middle; } Question Static { width: 30; border: round red; }"

    def compose(self) -> ComposeResult:
        yield Static("A modal over a dimmed screen 漢字")


class Zoo(App[None]):
    """All kinds of widgets."""

    CSS = """
    Grid { grid-size: 3; height: 2fr; } Grid > * { border: round $primary; height: 1fr; }
    VerticalScroll { height: 1fr; } DataTable { height: 6; } #log { height: 4; }
    """

    def __init__(self, rng: random.Random) -> None:
        super().__init__(driver_class=TwinDriver)
        self.rng = rng
        self.ring = "▇▅▁" * 6

    @property
    def twin(self) -> TwinDriver:
        assert isinstance(self._driver, TwinDriver)
        return self._driver

    def compose(self) -> ComposeResult:
        with Grid():
            for index in range(6):
                yield Static("", id=f"s{index}", markup=False)
        yield Input("type", id="input")
        with VerticalScroll():
            yield DataTable()
            yield RichLog(id="log", max_lines=100)
            yield Static("\n".join(f"line {i} " + "=" * (i * 7 % 90) for i in range(30)))
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one(DataTable[str])
        table.add_columns("a", "b", "c")
        for row in range(20):
            table.add_row(str(row), f"x{row * 7}", "漢" * (row % 5))

    def words(self) -> Content:
        rng, parts = self.rng, []
        for _ in range(rng.randint(0, 15)):
            kind = rng.random()
            word = "".join(rng.choice("abc  ⣿▇▁▅│─é") for _ in range(rng.randint(1, 10)))
            word = rng.choice("漢字かな한글🎉🚀") * rng.randint(1, 3) if kind < 0.15 else word
            word = rng.choice(ODD) if kind > 0.97 else word
            style = Style(
                bold=rng.random() < 0.2,
                italic=rng.random() < 0.1,
                underline=rng.random() < 0.1,
                dim=rng.random() < 0.1,
                reverse=rng.random() < 0.1,
                strike=rng.random() < 0.1,
                link=f"https://example.org/{rng.randint(1, 3)}" if rng.random() < 0.05 else None,
            )
            parts.append(Content.styled(word, style + Style.parse(rng.choice(COLOURS))))
        return Content("").join(parts)

    def change(self) -> str:
        """One random change; return its name."""
        rng = self.rng
        name = rng.choices([*CHANGES], [*CHANGES.values()])[0]
        if isinstance(self.screen, Question):
            self.screen.dismiss()
            return "modal"
        statics = [self.query_one(f"#s{i}", Static) for i in range(6)]
        pick = rng.choice(statics)
        if name == "text":
            pick.update(self.words(), layout=rng.random() < 0.5)
        elif name == "nudge":
            text = f"now {rng.gauss(50, 9):6.2f} ms\nmax {rng.gauss(90, 1):6.2f} ms"
            pick.update(text, layout=False)
        elif name == "bars":
            self.ring = self.ring[1:] + rng.choice("▇▅▁█ ")
            odd = "漢" * (rng.random() < 0.1)
            pick.update("\n".join([self.ring, self.ring[::-1], self.ring + odd]), layout=False)
        elif name == "log":
            self.query_one(RichLog).write(self.words().plain)
        elif name == "scroll":
            self.query_one(VerticalScroll).scroll_to(y=rng.randint(0, 30), animate=False)
        elif name == "table":
            table = self.query_one(DataTable[str])
            table.move_cursor(row=rng.randint(0, 19), column=rng.randint(0, 2))
        elif name == "input":
            texts = ["", "hello", "漢字 text", "x" * rng.randint(1, 100)]
            self.query_one(Input).value = rng.choice(texts)
        elif name == "modal":
            self.push_screen(Question())
        elif name == "resize":
            self.twin.resize((rng.randint(30, 90), rng.randint(15, 30)))
        elif name == "flicker":  # back to the size that Textual knows: it draws nothing
            self.twin.resize((20, 10), self.twin.size)
        elif name == "theme":
            self.theme = rng.choice(["textual-dark", "textual-light", "nord", "ansi-dark"])
        elif name == "hide":
            pick.display = not pick.display
        elif name == "repaint":
            self.screen.refresh()
        elif name == "region":
            regions = [Region(rng.randint(0, 9), rng.randint(0, 2), 5, 1) for _ in range(3)]
            pick.refresh(*regions)
        elif name == "cursor":
            self.cursor_position = Offset(rng.randint(0, 25), rng.randint(0, 12))
        elif name == "suspend":  # what coming back from the shell does
            self.twin.write("\x1b[?1049l")
            for terminal in (self.twin.plain, self.twin.sent):
                terminal.spoil(2)
            self.twin.write("\x1b[?1049h")
            self.screen.refresh()
        elif name == "many":
            for static in statics:
                static.update(self.words(), layout=False)
        elif name == "bell":
            self.bell()
        return name


@asynccontextmanager
async def running(app: Zoo) -> AsyncIterator[TwinDriver]:
    """The app, drawn for the first time."""
    task = asyncio.create_task(app.run_async(mouse=False))
    while app._driver is None or "type" not in app.twin.plain.text():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)
    try:
        yield app.twin
    finally:
        app.exit()
        await task


async def equal(twin: TwinDriver, tries: int = 25) -> list[str]:
    """Wait until the two terminals show the same; what differs if they never do."""
    found: list[str] = []
    for _ in range(tries):
        found = twin.sent.differences(twin.plain)
        if not found:
            break
        await asyncio.sleep(0.03)
    return found


@pytest.mark.parametrize("colours", ["truecolor", ""])
@pytest.mark.parametrize("synchronised", [False, True])
@pytest.mark.timeout(60 + UPDATES)
async def test_random_updates(
    monkeypatch: pytest.MonkeyPatch, colours: str, synchronised: bool
) -> None:
    monkeypatch.setattr(driver_module, "SETTLED_S", 0.02)
    monkeypatch.setenv("COLORTERM", colours)
    monkeypatch.setenv("TERM", "xterm-256color" if colours else "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    app = Zoo(random.Random(f"{colours}{synchronised}"))
    async with running(app) as twin:
        app._sync_available = synchronised
        done: list[str] = []
        while len(done) < UPDATES:
            with app._context():
                done += [app.change() for _ in range(app.rng.choice((1, 1, 1, 2, 4)))]
            await asyncio.sleep(0.15 if set(done[-4:]) & set(SLOW) else 0.02)
            if "flicker" in done[-4:]:
                await asyncio.sleep(0.2)
            found = twin.sent.differences(twin.plain)
            assert found == [], f"after {done[-6:]}, {len(done)} updates"
        assert twin.frames > UPDATES / 4
        assert twin.sent.bytes < 0.7 * twin.plain.bytes


async def test_a_damaged_terminal_is_mended_by_repaint() -> None:
    async with running(Zoo(random.Random(1))) as twin:
        twin.sent.spoil()
        assert twin.sent.differences(twin.plain) != []
        twin.repaint()
        await asyncio.sleep(0.1)
        assert await equal(twin) == []


async def test_a_size_that_comes_back_draws_everything_anew() -> None:
    """Textual does nothing if the size is as before, but the terminal has lost cells."""
    async with running(Zoo(random.Random(2))) as twin:
        good = twin.plain.cells()
        twin.resize((20, 10), twin.size)
        assert twin.sent.cells() != good
        for _ in range(100):
            await asyncio.sleep(driver_module.SETTLED_S)
            if twin.sent.cells() == good:
                break
        assert twin.sent.cells() == good


async def test_what_fails_too_often_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that do not fit go through as they are; after many of them, all do."""
    async with running(Zoo(random.Random(3))) as twin:
        for _ in range(MOST_FAILURES):
            assert twin._comparing
            twin.write("\x1b[99;99Hx\x1b[1;1H")
        assert not twin._comparing
        before = twin.sent.bytes, twin.plain.bytes
        twin._app.refresh()
        await asyncio.sleep(0.1)
        assert twin.sent.bytes - before[0] == twin.plain.bytes - before[1] > 0


async def test_an_error_of_the_comparison_is_no_error_of_the_screen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(self: object, output: str) -> str:
        raise ValueError("a bug")

    async with running(Zoo(random.Random(4))) as twin:
        monkeypatch.setattr("mgtop.view.celldiff.grid.CellGrid.frame", fail)
        twin._app.query_one("#s0", Static).update("still drawn")
        await asyncio.sleep(0.2)
        assert not twin._comparing
        assert await equal(twin) == []
        assert "still drawn" in twin.sent.text()


async def test_synchronised_output_is_one_write_around_what_changed() -> None:
    app = Zoo(random.Random(5))
    async with running(app) as twin:
        app._sync_available = True
        writes: list[str] = []
        twin.sent.write = writes.append  # type: ignore[method-assign]
        app.query_one("#s0", Static).update("new", layout=False)
        await asyncio.sleep(0.1)
        assert len(writes) == 1
        assert writes[0].startswith(SYNC_BEGIN)
        assert writes[0].count(SYNC_BEGIN) == 1
        assert "new" in writes[0]
        app.query_one("#s0", Static).refresh()
        await asyncio.sleep(0.1)
        assert len(writes) == 1


# ------------------------------------------------------------------------------- the choice


@pytest.mark.parametrize("value", ["off", "0", "no", "OFF"])
def test_it_can_be_switched_off(value: str) -> None:
    assert choice.driver_class({choice.SWITCH: value}) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a driver of its own")
def test_it_is_used_where_it_is_known_to_fit() -> None:
    assert choice.driver_class({}) is CellDiffDriver
    assert choice.driver_class({choice.SWITCH: "on"}, version="8.99.0") is CellDiffDriver


@pytest.mark.parametrize(
    ("environ", "platform", "version"),
    [
        ({"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, "linux", "8.2.8"),
        ({}, "win32", "8.2.8"),
        ({}, "linux", "9.0.0"),
        ({}, "linux", "7.5.0"),
    ],
)
def test_elsewhere_textual_chooses(environ: dict[str, str], platform: str, version: str) -> None:
    assert choice.driver_class(environ, platform, version) is None


def test_textual_still_has_what_the_driver_builds_on() -> None:
    assert issubclass(CellDiffDriver, Driver)
    for name in ("write", "start_application_mode", "process_message", "_get_terminal_size"):
        assert callable(getattr(CellDiffDriver.__mro__[1], name))
    assert signal.SIGWINCH
