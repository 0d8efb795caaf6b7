"""The screens beside the live one, under a pilot: what their keys and the mouse do."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from test_view_feed import START as BEGAN
from test_view_feed import Recording
from textual.pilot import Pilot
from textual.widgets import Input, Static
from view_pictures import START, S, StillFeed

from mgtop.rounds.state import Order, Round, State, write_state
from mgtop.session.lock import SessionLock
from mgtop.view import app as app_module
from mgtop.view.app import MgtopApp
from mgtop.view.bindings import PLACES
from mgtop.view.canvas import Canvas
from mgtop.view.feed import Feed
from mgtop.view.glyphs import look
from mgtop.view.pace import Pace
from mgtop.view.screens.live import LiveScreen
from mgtop.view.screens.log import LogScreen
from mgtop.view.screens.signal_dialog import SignalDialog
from mgtop.view.screens.tail import TailScreen
from mgtop.view.signalling import Receiver
from mgtop.wire.records import OutputAt


@pytest.fixture(autouse=True)
def _same_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine ticks come late, which the header would tell."""
    monkeypatch.setattr(Pace, "ticked", lambda pace, now_s, due_s: pace.wanted_s)


def shown(app: MgtopApp) -> str:
    return app.shown.query_one(Canvas).text()


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded session of a minute, with output."""
    folder = tmp_path_factory.mktemp("minute")
    recording = Recording(folder)
    lines = b""
    for second in range(60):
        recording.go_on(1)
        lines += b"step %d of 60\n" % second
        if second == 30:
            lines += b"\x1b[31mTraceback: out of luck\x1b[0m\n"
        recording.writer.append([OutputAt(recording.now_ns, len(lines))])
    recording.end()
    (folder / "stdout.log").write_bytes(lines)
    return folder


@asynccontextmanager
async def opened(
    folder: Path, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[MgtopApp, Pilot[Any]]]:
    """A session on the screen, read to its end."""
    app = MgtopApp(folder)
    async with app.run_test(size=size) as pilot:
        while not app.feed.caught_up:
            await pilot.pause(0.05)
        await pilot.pause()
        yield app, pilot


async def test_going_from_screen_to_screen(minute: Path) -> None:
    async with opened(minute) as (app, pilot):
        for digit, place in enumerate(PLACES, 1):
            await pilot.press(str(digit))
            assert place.name == app.shown.PLACE
        await pilot.press("escape")
        assert isinstance(app.shown, LiveScreen)
        seen = []
        for _ in PLACES:
            await pilot.press("tab")
            seen.append(app.shown.PLACE)
        assert seen == [place.name for place in (*PLACES[1:], PLACES[0])]
        await pilot.press("shift+tab")
        assert PLACES[-1].name == app.shown.PLACE
        assert len(app.screen_stack) == 3  # Textual's own, the live one, the one in front
        await pilot.click(offset=(4, 1))
        assert isinstance(app.shown, LiveScreen)
        await pilot.click(offset=(3, 23))  # "? help"
        await pilot.pause()
        assert app.screen is not app.shown
        await pilot.press("escape")


async def test_all_about_a_late_frame_and_the_next_one(minute: Path) -> None:
    async with opened(minute, (100, 40)) as (app, pilot):
        await pilot.press("enter")
        assert isinstance(app.shown, TailScreen)
        newest = app.viewing.selected
        assert newest is not None
        assert f"of {newest.tail.request} at" in shown(app)
        for part in ("├", "inside it", "interval", "forward", "╵emit", "absent", "explains"):
            assert part in shown(app)
        await pilot.press("n")
        assert "that is the newest late frame" in shown(app)
        await pilot.press("N")
        assert app.viewing.selected is not None
        assert app.viewing.selected.t_ns < newest.t_ns
        before = shown(app)
        await pilot.press("plus")
        assert shown(app) != before
        await pilot.press("enter")
        assert isinstance(app.shown, LiveScreen)
        assert "▸" in shown(app)


async def test_a_selection_ends_with_its_window(tmp_path: Path) -> None:
    feed = StillFeed(tmp_path)
    app = MgtopApp(tmp_path, feed=feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        assert app.viewing.selected is not None
        assert app.viewing.selected.tail.index == 640  # the newest
        feed._clock = lambda: START + 600 * S
        app.live.draw()
        assert app.viewing.selected is None


async def test_a_recorded_session_plays(minute: Path) -> None:
    async with opened(minute) as (app, pilot):
        whole = shown(app)
        assert "space play" in whole
        await pilot.press("space")
        assert "▶ 0:00 ×1" in shown(app)
        for _ in range(4):
            await pilot.press("right_square_bracket")
        assert app.viewing.timeline.speed == 16
        await pilot.pause(0.6)
        await pilot.press("space")
        assert "❚❚ 0:" in shown(app)
        head = app.viewing.timeline.head_ns
        assert head is not None
        assert BEGAN < head < BEGAN + 60 * S
        await pilot.press("end")
        assert "×" not in shown(app).split("\n")[0]


async def test_the_mouse_moves_in_time_and_tells_values(minute: Path) -> None:
    async with opened(minute) as (app, pilot):
        await pilot.press("plus", "plus")
        timeline = app.viewing.timeline
        window = timeline.window
        assert window is not None
        app.live.wheel(-1, ctrl=False, x=10)
        assert timeline.window is not None
        assert timeline.window.end_ns < window.end_ns
        moved = timeline.window
        app.live.dragged(-4)
        assert timeline.window.end_ns == moved.end_ns + 4 * moved.step_ns
        app.live.wheel(1, ctrl=True, x=10)
        assert timeline.window.step_ns > moved.step_ns
        await pilot.click(offset=(30, 9))
        assert timeline.cursor_ns is not None
        assert "▏at 0:" in shown(app)
        assert "interval" in shown(app).split("\n")[-1]
        at = timeline.cursor_ns
        await pilot.press("comma")
        assert timeline.cursor_ns < at
        await pilot.press("escape")
        assert timeline.cursor_ns is None


async def test_the_output_and_its_times_both_ways(minute: Path) -> None:
    async with opened(minute) as (app, pilot):
        await pilot.press("4")
        assert isinstance(app.shown, LogScreen)
        assert "follows the end" in shown(app)
        assert "step 59 of 60" in shown(app)
        await pilot.press("slash")
        app.screen.query_one(Input).value = "traceback"
        await pilot.press("enter")
        await pilot.pause()
        assert "▸  0:31.0  Traceback: out of luck" in shown(app)
        assert "\x1b" not in shown(app)
        await pilot.press("n")
        assert "▸  0:31.0  Traceback: out of luck" in shown(app)  # once round
        await pilot.press("slash")
        app.screen.query_one(Input).value = "Traceback: no luck"
        await pilot.press("enter")
        await pilot.pause()
        assert "'Traceback: no luck' is not in the output" in shown(app)
        await pilot.press("g")
        app.screen.query_one(Input).value = "10"
        await pilot.press("enter")
        await pilot.pause()
        assert "▸  0:10.0  step 9 of 60" in shown(app)
        await pilot.press("j")
        assert "▸  0:11.0  step 10 of 60" in shown(app)
        await pilot.press("enter")
        assert isinstance(app.shown, LiveScreen)
        assert app.viewing.timeline.cursor_ns == BEGAN + 11 * S
        await pilot.press("l")
        assert isinstance(app.shown, LogScreen)
        assert "▸  0:11.0  step 10 of 60" in shown(app)
        await pilot.press("home")
        assert "▸  0:01.0  step 0 of 60" in shown(app)
        await pilot.press("pagedown", "pagedown", "pagedown", "pagedown")
        assert "step 59 of 60" in shown(app)
        await pilot.press("pageup", "right", "end")
        assert "follows the end" in shown(app)


async def test_memory_says_what_it_knows(minute: Path) -> None:
    async with opened(minute, (100, 40)) as (app, pilot):
        await pilot.press("3")
        text = shown(app)
        for part in ("by the driver", "by the framework", "before load", "╵"):
            assert part in text
        await pilot.press("comma")
        assert "▏at" in shown(app)


async def test_no_screen_fails_at_any_size(minute: Path) -> None:
    async with opened(minute) as (app, pilot):
        for size in ((20, 5), (40, 10), (250, 70)):
            await pilot.resize_terminal(*size)
            for digit in range(1, len(PLACES) + 1):
                await pilot.press(str(digit))
                rows = shown(app).split("\n")
                assert len(rows) == size[1]
                assert {len(row) for row in rows} == {size[0]}


async def test_a_signal_is_asked_for_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(app_module, "send", lambda to, number: sent.append((to.pid, number)))
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    monkeypatch.setattr(LiveScreen, "receiver", lambda self: Receiver(4242, 1, "python infer.py"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f9")
        assert isinstance(app.screen, SignalDialog)
        await pilot.press("k")
        assert sent == []
        await pilot.press("escape")
        assert isinstance(app.screen, LiveScreen)
        await pilot.press("f9", "t", "y")
        await pilot.pause()
        assert sent == [(4242, signal.SIGTERM)]
        assert "TERM sent to process 4242" in shown(app)


async def test_readonly_signals_nothing(tmp_path: Path) -> None:
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path), readonly=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f9")
        assert isinstance(app.screen, LiveScreen)
        assert "read-only: no signals" in shown(app)


async def test_the_palette_finds_keys_by_their_names(tmp_path: Path) -> None:
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"theme mgtop-light")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause()
        assert app.theme == "mgtop-light"


async def test_pausing_on_one_screen_holds_the_others(tmp_path: Path) -> None:
    with SessionLock(tmp_path):
        recording = Recording(tmp_path)
        recording.go_on(8)
        app = MgtopApp(tmp_path, fps=20, feed=Feed(tmp_path, clock=lambda: recording.now_ns))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.3)
            await pilot.press("space", "3")
            await pilot.pause(0.1)
            held = shown(app)
            assert "PAUSED" in held
            recording.go_on(5)
            await pilot.pause(1.2)
            assert shown(app) == held


def test_what_to_draw_with() -> None:
    assert look({}).plain is None
    assert look({"TERM": "linux"}).glyphs.fill == " ▄█"
    assert look({"TERM": "linux", "MGTOP_GLYPHS": "blocks"}).plain is None
    plain = look({"MGTOP_ASCII": "1"}).plain
    assert plain is not None
    assert "▸ 3 ≤ 4 …█░│".translate(plain) == "> 3 < 4 .#:|"
    assert look({"MGTOP_GLYPHS": "ascii"}) == look({"MGTOP_ASCII": "1"})


async def test_dialogs_take_the_mouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(app_module, "send", lambda to, number: sent.append(number))
    monkeypatch.setattr(LiveScreen, "receiver", lambda self: Receiver(4242, 1, "python infer.py"))
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("f9")
        text = app.screen.query_one(Static)
        await pilot.click(text, offset=(3, 3))  # INT
        assert sent == []
        await pilot.click(text, offset=(3, 2))  # yes, send it
        await pilot.pause()
        assert sent == [signal.SIGINT]
        await pilot.press("question_mark")
        await pilot.click(offset=(0, 0))
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)
        await pilot.press("q")
        await pilot.pause()
        await pilot.click(Static, offset=(8, 5))  # stay
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)
        await pilot.press("q")
        await pilot.pause()
        await pilot.click(Static, offset=(8, 2))  # leave
        await pilot.pause()
    assert app.return_value == "leave"


async def test_the_rounds_of_the_sessions_sweep(tmp_path: Path) -> None:
    folder = tmp_path / "sweep" / "one"
    folder.mkdir(parents=True)
    recording = Recording(folder)
    recording.go_on(3)
    recording.end()
    order = Order(kind="sweep", config="/c.yaml", vary=["steps=8,16"])
    rounds = [
        Round(number=0, setting={"steps": 8}, status="done", session=str(folder)),
        Round(number=1, setting={"steps": 16}, status="waiting"),
    ]
    state = State(order=order, name="steps", began_s=1.0, rounds=rounds)
    write_state(folder.parent, state)
    async with opened(folder) as (app, pilot):
        await pilot.press("6")
        for part in ("sweep steps", "steps=8", "steps=16", "6 rounds"):
            assert part in shown(app)
        await pilot.press("j", "k")
