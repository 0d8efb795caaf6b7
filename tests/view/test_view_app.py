"""The app under a pilot: keys, windows, marks, snapshots, and leaving."""

from __future__ import annotations

import asyncio
from html import unescape
from pathlib import Path

import msgspec
import pytest
from test_view_feed import Recording
from textual.widgets import Input
from view_pictures import NOW, START, S, StillFeed

from mgtop.session.lock import SessionLock
from mgtop.session.marks import read_marks
from mgtop.session.stop import CannotStop
from mgtop.view import app as app_module
from mgtop.view.app import MgtopApp
from mgtop.view.bindings import help_lines
from mgtop.view.canvas import Canvas
from mgtop.view.feed import Feed
from mgtop.view.pace import Pace
from mgtop.view.screens.dialogs import Ask, Help, Leave
from mgtop.view.screens.live import LiveScreen


@pytest.fixture(autouse=True)
def _same_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine ticks come late, which the header would tell."""
    monkeypatch.setattr(Pace, "ticked", lambda pace, now_s, due_s: pace.wanted_s)


def still(folder: Path, readonly: bool = False) -> MgtopApp:
    return MgtopApp(folder, readonly=readonly, feed=StillFeed(folder))


def shown(app: MgtopApp) -> str:
    return app.live.query_one(Canvas).text()


# ------------------------------------------------------------------------------- the window


async def test_the_window_hops_and_stands_still_in_between(tmp_path: Path) -> None:
    feed = StillFeed(tmp_path)
    app = MgtopApp(tmp_path, feed=feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        ends = []
        for now_s in range(60, 90):
            feed._clock = lambda now_s=now_s: START + now_s * S  # type: ignore[misc]
            app.live.draw()
            assert app.viewing.timeline.window is not None
            ends.append(app.viewing.timeline.window.end_ns)
        assert len(set(ends)) <= 7  # 10 columns of half a second at a time
        assert all(end >= START + now * S for end, now in zip(ends, range(60, 90), strict=True))


async def test_a_young_session_stands_at_the_left(tmp_path: Path) -> None:
    feed = StillFeed(tmp_path)
    feed._clock = lambda: START + 5 * S
    app = MgtopApp(tmp_path, feed=feed)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert app.viewing.timeline.window is not None
        assert app.viewing.timeline.window.begin_ns == START


async def test_zoom_move_go_and_back(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()

        def length() -> float:
            assert app.viewing.timeline.window is not None
            return app.viewing.timeline.window.width * app.viewing.timeline.window.step_ns / S

        assert length() == 40
        for _ in range(12):
            await pilot.press("plus")
        assert length() < 5
        for _ in range(20):
            await pilot.press("minus")
        assert length() > 3 * 3600
        for _ in range(9):
            await pilot.press("plus")
        assert length() == 40
        before = app.viewing.timeline.window
        await pilot.press("left")
        assert before is not None
        assert app.viewing.timeline.window is not None
        assert app.viewing.timeline.window.end_ns < before.end_ns
        assert "back" in shown(app)
        await pilot.press("end")
        assert app.viewing.timeline.window == before
        await pilot.press("g")
        app.screen.query_one(Input).value = "0:20"
        await pilot.press("enter")
        window = app.viewing.timeline.window
        assert abs((window.begin_ns + window.end_ns) // 2 - START - 20 * S) <= window.step_ns
        await pilot.press("g")
        app.screen.query_one(Input).value = "soon"
        await pilot.press("enter")
        await pilot.pause()
        assert "'soon' is not a time" in shown(app)


async def test_pause_holds_everything_and_costs_nothing(tmp_path: Path) -> None:
    with SessionLock(tmp_path):
        recording = Recording(tmp_path)
        recording.go_on(8)
        app = MgtopApp(tmp_path, fps=20, feed=Feed(tmp_path, clock=lambda: recording.now_ns))
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.3)
            await pilot.press("space")
            await pilot.pause(0.1)
            held, canvas = shown(app), app.live.query_one(Canvas)
            assert "PAUSED (recording goes on)" in held
            drawn, records = canvas.rows_drawn, app.feed.records
            recording.go_on(2)
            await pilot.pause(1.5)
            assert app.feed.records == records  # what cannot show is not read either
            assert shown(app) == held
            assert canvas.rows_drawn == drawn
            await pilot.press("space")
            await pilot.pause(0.3)
            assert app.feed.records > records
            assert "PAUSED" not in shown(app)
            assert shown(app) != held


async def test_the_end_of_a_recording_is_noticed_while_its_picture_is_held(tmp_path: Path) -> None:
    lock = SessionLock(tmp_path)
    recording = Recording(tmp_path)
    recording.go_on(8)
    app = MgtopApp(tmp_path, fps=20)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.3)
        await pilot.press("space")
        await pilot.pause(0.1)
        assert app.feed.live
        recording.go_on(1)
        lock.release()
        for _ in range(80):
            await pilot.pause(0.1)
            if app.feed.recorder_lost:
                break
        assert app.feed.recorder_lost


async def test_the_output_is_followed_while_the_picture_is_held(tmp_path: Path) -> None:
    """Its lines get their times from records."""
    with SessionLock(tmp_path):
        recording = Recording(tmp_path)
        recording.go_on(8)
        app = MgtopApp(tmp_path, fps=20)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause(0.3)
            await pilot.press("space")
            await pilot.press("4")
            records = app.feed.records
            recording.go_on(2)
            await pilot.pause(1.5)
            assert app.feed.records > records


# ------------------------------------------------------------------------------ late frames


async def test_going_through_late_frames(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("N")
        assert app.viewing.selected is not None
        assert app.viewing.selected.tail.index == 640
        await pilot.press("N")
        assert app.viewing.selected.tail.index == 480
        assert "supply: " in shown(app)
        assert "present: gc 140.0 ms" in shown(app)
        await pilot.press("n")
        assert app.viewing.selected.tail.index == 640
        await pilot.press("j")
        assert app.viewing.selected.tail.index == 480
        await pilot.press("escape")
        assert app.viewing.selected is None


async def test_a_click_selects(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await pilot.click(Canvas, offset=(76, 8))
        assert app.viewing.selected is not None
        assert app.viewing.selected.tail.index == 480


# -------------------------------------------------------------------- marks and snapshots


async def test_marks(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m")
        await pilot.press("M")
        assert isinstance(app.screen, Ask)
        await pilot.press(*"cut", "enter")
        await pilot.pause()
    assert [(mark.t_ns, mark.text) for mark in read_marks(tmp_path)] == [
        (NOW, "mark"),
        (NOW, "cut"),
    ]


async def test_readonly_writes_nothing(tmp_path: Path) -> None:
    app = still(tmp_path, readonly=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("m", "s")
        await pilot.press("M")
        await pilot.press("x", "enter")
        await pilot.pause()
        assert "m mark" not in shown(app)
    assert list(tmp_path.iterdir()) == []


async def test_a_snapshot_holds_picture_figures_and_records(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.go_on(40)
    recording.end()
    app = MgtopApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        while not app.feed.caught_up:
            await pilot.pause(0.05)
        await pilot.press("s")
        await pilot.pause()
        assert "saved snapshots/" in shown(app)
    folder = next((tmp_path / "snapshots").iterdir())
    assert (folder / "screen.svg").read_text().startswith("<svg")
    summary = msgspec.json.decode((folder / "summary.json").read_bytes())
    assert summary["interval_ms"]["count"] > 100
    records = [
        msgspec.json.decode(line) for line in (folder / "records.jsonl").read_bytes().splitlines()
    ]
    assert {"FrameEmit", "Span", "GpuMemory"} <= {record["kind"] for record in records}
    last = recording.now_ns
    assert all(last - 31 * S <= record["t_ns"] <= last for record in records)


async def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    app = still(tmp_path / "gone")
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("m")
        assert "the mark cannot be written: No such file or directory" in shown(app)
        await pilot.press("s")
        assert "the snapshot cannot be written: No such file or directory" in shown(app)


# ---------------------------------------------------------------------------------- leaving


@pytest.mark.parametrize(
    ("key", "asked"), [("l", None), ("enter", None), ("s", False), ("t", True)]
)
async def test_leaving_asks_what_becomes_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, asked: bool | None
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(app_module, "request_stop", lambda folder, target: calls.append(target))
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q")
        assert isinstance(app.screen, Leave)
        await pilot.press(key)
        await pilot.pause()
    assert calls == ([] if asked is None else [asked])
    assert app.return_value == {None: "leave", False: "stop", True: "stop_target"}[asked]


async def test_who_cannot_stop_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path, target: bool) -> None:
        raise CannotStop("only its owner can stop it")

    monkeypatch.setattr(app_module, "request_stop", refuse)
    app = still(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.press("q")
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)
        assert "only its owner can stop it" in shown(app)


async def test_readonly_cannot_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        app_module, "request_stop", lambda *args, **named: pytest.fail("it was stopped")
    )
    app = still(tmp_path, readonly=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q")
        await pilot.press("t", "s")
        await pilot.pause()
        assert isinstance(app.screen, Leave)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, LiveScreen)


async def test_a_recorded_session_is_left_without_a_question(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.go_on(2)
    recording.end()
    app = MgtopApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.2)
        await pilot.press("q")
        await asyncio.wait_for(pilot._wait_for_screen(), 5)
    assert not app.is_running


async def test_ctrl_c_leaves_at_the_second_press(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+c")
        assert "Ctrl-C again leaves this view" in shown(app)
        assert app._exit is False
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert not app.is_running


# ------------------------------------------------------------------------ sizes and themes


@pytest.mark.parametrize("size", [(20, 5), (1, 1), (60, 15), (40, 10), (300, 90), (80, 9)])
async def test_any_size(tmp_path: Path, size: tuple[int, int]) -> None:
    app = still(tmp_path)
    async with app.run_test(size=size) as pilot:
        await pilot.press("N", "question_mark")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "interval ms" in shown(app)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        rows = shown(app).split("\n")
        assert len(rows) == size[1]
        assert {len(row) for row in rows} == {size[0]}


async def test_themes_go_round(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        seen = [app.theme]
        for _ in app.theme_names:
            await pilot.press("T")
            await pilot.pause()
            seen.append(app.theme)
    assert len(set(seen)) == len(seen) - 1
    assert seen[0] == seen[-1]


async def test_no_color_means_the_terminals_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("MGTOP_THEME", raising=False)
    app = still(tmp_path)
    async with app.run_test(size=(80, 24)):
        assert app.theme == "mgtop-ansi"


async def test_a_theme_that_is_none_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("MGTOP_THEME", "mgtop-drak")
    app = still(tmp_path)
    async with app.run_test(size=(120, 24)) as pilot:
        await pilot.pause()
        assert app.theme in ("mgtop-dark", "mgtop-ansi")
        assert "no theme 'mgtop-drak'; there are" in shown(app)


async def test_help_lists_every_key(tmp_path: Path) -> None:
    app = still(tmp_path)
    async with app.run_test(size=(90, 70)) as pilot:
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, Help)
        picture = unescape(app.export_screenshot()).replace("\xa0", " ")
        for keys, meaning in help_lines():
            assert keys in picture
            assert all(word in picture for word in meaning.split())
        await pilot.press("escape")
        assert isinstance(app.screen, LiveScreen)
