"""Pictures of every screen, at three sizes and in two themes, of a session from a real GPU.

Look at new ones before accepting them (CONTRIBUTING.md): ``rsvg-convert`` makes PNGs of them.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from syrupy.extensions.image import SVGImageSnapshotExtension
from textual.pilot import Pilot
from view_pictures import StillFeed

from mgtop.rounds.row import Row
from mgtop.rounds.state import Order, Round, State, write_state
from mgtop.session.reader import read_all
from mgtop.session.writer import LogWriter
from mgtop.view.app import MgtopApp
from mgtop.view.pace import Pace
from mgtop.wire.records import FrameEmit, OutputAt

SESSION = Path(__file__).parents[1] / "sessions" / "h200-alloc-retry" / "session.log.gz"
SIZES = ((60, 15), (80, 24), (120, 40))
SCREENS = {
    "live": ("N",),
    "late": ("2",),
    "memory": ("3",),
    "log": ("4",),
    "processes": ("5",),
    "rounds": ("6",),
    "help": ("1", "question_mark"),
}
LINE = "\x1b[32mframes\x1b[0m {0:>4}: decode \x1b[1m12 ms\x1b[0m, forward 18 ms, \N{SNOWMAN}\n"


@pytest.fixture(autouse=True)
def _same_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("NO_COLOR", "MGTOP_THEME", "MGTOP_ASCII", "MGTOP_GLYPHS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    # On a busy machine ticks come late, which the header would tell.
    monkeypatch.setattr(Pace, "ticked", lambda pace, now_s, due_s: pace.wanted_s)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A run on an H200 whose allocator had to give its cache back; with the output of a program."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "session.log").write_bytes(gzip.decompress(SESSION.read_bytes()))
    folder = tmp_path / "session"
    folder.mkdir()
    writer = LogWriter(folder)
    output = b""
    for record in read_all(source):
        records = [record]
        if isinstance(record, FrameEmit):
            output += LINE.format(record.index).encode()
            records.append(OutputAt(t_ns=record.t_ns, offset=len(output)))
        writer.append([r for r in records if not (isinstance(r, OutputAt) and r is record)])
    (folder / "stdout.log").write_bytes(output)
    rounds = [
        Round(
            number=n,
            setting={"steps": 8 * (n + 1)},
            status="done",
            took_s=30.0 + n,
            row=Row(
                params={"steps": 8 * (n + 1)},
                p50_frame_ms=20.0 + 9 * n,
                p95_frame_ms=24.0 + 9 * n,
                tails=n,
                counted=640,
                peak_mem_mib=20_000.0,
                took_s=30.0 + n,
            ),
        )
        for n in range(3)
    ]
    rounds[1].session = str(folder)
    order = Order(kind="sweep", config="/srv/mgtop.yaml", vary=["steps=8,16,24"])
    state = State(
        order=order, name="steps", status="finished", began_s=1.0, ended_s=95.0, rounds=rounds
    )
    write_state(tmp_path, state)
    return folder


async def _caught_up(app: MgtopApp, pilot: Pilot[Any]) -> None:
    while not app.feed.caught_up:
        await pilot.pause(0.05)
    await pilot.pause()


@pytest.mark.parametrize("theme", ["mgtop-dark", "mgtop-light"])
async def test_every_screen(
    snapshot: Any, session: Path, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("MGTOP_THEME", theme)
    app = MgtopApp(session)
    async with app.run_test(size=SIZES[1]) as pilot:
        await _caught_up(app, pilot)
        for name, keys in SCREENS.items():
            for size in SIZES:
                await pilot.resize_terminal(*size)
                await pilot.press(*(keys if size is SIZES[0] else ()))
                await pilot.pause()
                picture = app.export_screenshot()
                its = f"{name}-{size[0]}x{size[1]}"
                assert picture == snapshot(name=its, extension_class=SVGImageSnapshotExtension)
            if name == "live":
                await pilot.press("escape")


async def test_a_running_session(
    snapshot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGTOP_THEME", "mgtop-dark")  # else it is the terminal's matter
    app = MgtopApp(tmp_path, feed=StillFeed(tmp_path))
    async with app.run_test(size=(80, 24)) as pilot:
        while app.live.view is None:  # a key before there is a picture selects nothing
            await pilot.pause(0.02)
        await pilot.press("N", "N")
        await pilot.pause()
        assert app.export_screenshot() == snapshot(extension_class=SVGImageSnapshotExtension)
