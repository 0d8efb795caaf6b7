"""The Rounds screen: rows from the state, and the screen under a pilot."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from round_rows import oom, row, state_of

from mgtop.analysis.summary import Placement
from mgtop.rounds.runner import WATCHED_FILE
from mgtop.rounds.state import Round, State, hold, read_state, runner_pid, write_state
from mgtop.rounds.time_left import time_left_s
from mgtop.rounds.wording import about, notes_of, outcome, significant
from mgtop.view.canvas import Canvas
from mgtop.view.rounds_app import RoundsApp
from mgtop.view.rounds_rows import rounds_rows
from mgtop.view.screens import rounds as rounds_screen
from mgtop.view.screens.rounds import StopRounds

ROWS = [
    row({"steps": 4}, 20.4, peak_mem_mib=1204.0, tails=2),
    oom({"steps": 8}, "load", note="out of memory at load: CUDA"),
    row({"steps": 16}, None, status="skipped", note="it could not be loaded", took_s=None),
]


def text_of(state: State, width: int = 100, height: int = 20, **more: Any) -> list[str]:
    rows = rounds_rows(state, width, height, 1030.0, **({"runs": True} | more))
    return ["".join(run.text for run in line) for line in rows]


def test_a_row_for_each_round() -> None:
    state = state_of(ROWS, waiting=1)
    state.rounds[-1].status, state.rounds[-1].began_s = "running", 1026.0
    lines = text_of(state)
    assert "sweep c RUNNING" in lines[0]
    assert "3 of 4 rounds" in lines[1]
    assert "about 6 s left" in lines[1]  # ten as the others took, less the four that passed
    assert "█" * 18 + "░" * 6 in lines[1]
    by_name = {
        name: line for line in lines for name in ("=4 ", "=8 ", "=16", "=99") if name in line
    }
    assert "20.4" in by_name["=4 "]
    assert "1,204" in by_name["=4 "]
    assert "OOM at load" in by_name["=8 "]
    assert "could not be loaded" in by_name["=16"]
    assert "running" in by_name["=99"]
    assert "4 s" in by_name["=99"]


def test_figures_of_the_round_that_runs_are_live() -> None:
    state = state_of(ROWS[:1], waiting=1)
    state.rounds[1].status = "running"
    state.rounds[1].live = row({"steps": 99}, 33.3, counted=7)
    line = next(line for line in text_of(state) if "=99" in line)
    assert "33.3" in line
    assert " 7 " in line


def test_a_sweep_whose_process_is_gone_is_not_running() -> None:
    assert "STOPPED" in text_of(state_of(ROWS, waiting=1), runs=False)[0]
    assert "left" not in text_of(state_of(ROWS, waiting=1), runs=False)[1]


def test_the_answer_stands_below() -> None:
    state = state_of(ROWS, status="finished", ended_s=1100.0, result=["linear in steps"])
    assert any("linear in steps" in line for line in text_of(state, runs=False)[-3:])
    failed = state_of([], status="failed", message="the smoke test failed: no CUDA")
    assert any("no CUDA" in line for line in text_of(failed, runs=False))
    step = state_of([], waiting=3, step="smoke test")
    assert "smoke test …" in text_of(step)[1]


@pytest.mark.parametrize(("width", "height"), [(20, 5), (40, 10), (80, 24), (200, 60)])
def test_every_row_has_the_width(width: int, height: int) -> None:
    state = state_of([row({"schedule": [1, 2, 3], "steps": n}) for n in range(30)], waiting=2)
    rows = text_of(state, width, height)
    assert len(rows) <= height
    assert {len(line) for line in rows} == {width}


def test_the_round_that_runs_is_in_sight() -> None:
    state = state_of([row({"steps": n}) for n in range(50)], waiting=20)
    state.rounds[50].status = "running"
    state.rounds[50].began_s = 1000.0
    assert any("▶" in line for line in text_of(state, height=14))
    assert any("steps=0 " in line for line in text_of(state, height=14, top=0))


def test_a_name_cannot_command_the_terminal() -> None:
    state = state_of([row({"s": "a\x1b[31mb"})], name="x\x1b]0;y")
    assert "\x1b" not in "".join(text_of(state))


def test_time_left() -> None:
    state = state_of([row({"steps": 4}, took_s=10.0), row({"steps": 8}, took_s=30.0)])
    assert time_left_s(state, 0) == 0
    state.rounds.append(Round(number=2, setting={"steps": 8}, repeat=2))
    assert time_left_s(state, 0) == 30  # as the other round of its setting
    state.rounds.append(Round(number=3, setting={"steps": 16}))
    assert time_left_s(state, 0) == 30 + 20  # nothing is known of it: the average
    for found in state.rounds[2:]:
        found.status, found.began_s = "running", 100.0
    assert time_left_s(state, 105.0) == (25 + 15) / 2  # two at once
    assert time_left_s(state_of([], waiting=2), 0) is None


def test_words() -> None:
    assert about(0.2) == "1 s"
    assert about(100) == "2 min"
    assert about(3700) == "1 h 2 min"
    assert [significant(v) for v in (None, 0, 0.5, 4.123, 41.23, 1204.4)] == [
        "n/a", "0", "0.50", "4.12", "41.2", "1,204",
    ]  # fmt: skip
    assert outcome(ROWS[0]).startswith("P50 20.4, P95 22.4 ms a frame, 2 late frames in 100")
    assert outcome(ROWS[2]) == "skipped: it could not be loaded"


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (Placement(kind="fixed", index=48), ["late frames stand at frame 48 of every request"]),
        (Placement(kind="periodic", period=12), ["late frames come every 12 emits"]),
        (Placement(kind="start"), ["late frames stand at the start alone"]),
        (Placement(kind="random"), []),
    ],
)
def test_where_late_frames_stand_is_told(placement: Placement, words: list[str]) -> None:
    assert notes_of(row({"steps": 4}, placement=placement)) == words


# ------------------------------------------------------------------------- under a pilot


def shown(app: RoundsApp) -> str:
    return app.rounds.query_one(Canvas).text()


async def test_it_fills_live_and_says_that_somebody_looks(tmp_path: Path) -> None:
    with hold(tmp_path):
        write_state(tmp_path, state_of(ROWS[:1], waiting=2))
        app = RoundsApp(tmp_path)
        async with app.run_test(size=(100, 20)) as pilot:
            await pilot.pause()
            assert "1 of 3 rounds" in shown(app)
            assert (tmp_path / WATCHED_FILE).exists()
            write_state(tmp_path, state_of(ROWS[:2], waiting=1))
            app.rounds.tick()
            assert "2 of 3 rounds" in shown(app)


async def test_leaving_a_finished_sweep_asks_nothing(tmp_path: Path) -> None:
    write_state(tmp_path, state_of(ROWS, status="finished"))
    app = RoundsApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("q")
    assert not app.is_running


async def test_while_it_runs_leaving_asks_and_stopping_signals_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(rounds_screen.os, "kill", lambda pid, number: sent.append((pid, number)))
    lock = hold(tmp_path)
    write_state(tmp_path, state_of(ROWS[:1], waiting=2))
    app = RoundsApp(tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("q")
        await pilot.pause()
        assert isinstance(app.screen, StopRounds)
        await pilot.press("escape")
        await pilot.pause()
        assert app.is_running
        await pilot.press("q")
        await pilot.press("t")
        await pilot.pause()
        assert sent == [(os.getpid(), signal.SIGTERM)]
        assert "being ended" in shown(app)
        lock.release()
        for _ in range(50):
            await pilot.pause(0.05)
            if not app.is_running:
                break
    assert not app.is_running


async def test_keys_scroll_and_follow(tmp_path: Path) -> None:
    write_state(tmp_path, state_of([row({"steps": n}) for n in range(50)], waiting=1))
    app = RoundsApp(tmp_path)
    async with app.run_test(size=(80, 14)) as pilot:
        await pilot.pause()
        assert "steps=99" in shown(app)
        for _ in range(9):
            await pilot.press("pageup")
        assert "steps=0 " in shown(app)
        await pilot.press("down")
        assert "steps=0 " not in shown(app)
        await pilot.press("end")
        assert "steps=99" in shown(app)
        await pilot.press("ctrl+c")
        assert "Ctrl-C again" in shown(app)
        await pilot.press("ctrl+c")
    assert not app.is_running


async def test_a_folder_without_rounds_is_told(tmp_path: Path) -> None:
    app = RoundsApp(tmp_path)
    async with app.run_test(size=(120, 10)) as pilot:
        await pilot.pause()
        assert "holds no rounds" in shown(app)


# ----------------------------------------------------------------------------- the state


def test_the_state_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_state(tmp_path, state_of(ROWS))
    state = read_state(tmp_path)
    assert state is not None
    assert [found.row for found in state.rounds] == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["rounds.json"]
    assert (tmp_path / "rounds.json").stat().st_mode & 0o777 == 0o600
    (tmp_path / "rounds.json").write_text('{"schema": 1')
    assert read_state(tmp_path) is None
    assert runner_pid(tmp_path) is None
