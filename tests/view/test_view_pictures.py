"""Pictures of the screen. Look at new ones before accepting them (CONTRIBUTING.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from view_pictures import StillFeed

from mgtop.view.app import MgtopApp


@pytest.fixture(autouse=True)
def _same_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "MGTOP_THEME", "MGTOP_ASCII"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MGTOP_THEME", "mgtop-dark")


async def _settle(pilot: Pilot[Any]) -> None:
    await pilot.pause()


async def _select(pilot: Pilot[Any]) -> None:
    await pilot.press("N", "N")
    await pilot.pause()


async def _help(pilot: Pilot[Any]) -> None:
    await pilot.press("question_mark")
    await pilot.pause()


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_live(snap_compare: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    assert snap_compare(app, terminal_size=size, run_before=_settle)


def test_a_late_frame_and_its_evidence(snap_compare: Any, tmp_path: Path) -> None:
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    assert snap_compare(app, terminal_size=(80, 24), run_before=_select)


def test_help(snap_compare: Any, tmp_path: Path) -> None:
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    assert snap_compare(app, terminal_size=(80, 24), run_before=_help)


def test_light(snap_compare: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTOP_THEME", "mgtop-light")
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    assert snap_compare(app, terminal_size=(80, 24), run_before=_select)
