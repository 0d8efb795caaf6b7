"""The dashboard in a browser: a real one, which is shown a recording that goes on."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil
import pytest
from chromium import FOUND, Chromium
from machine import FRAMES, PYTHON, ROOT, Machine, until
from PIL import Image
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from mgtop.record.status import read_status
from mgtop.record.tree import is_running
from mgtop.session.lock import SessionLock
from mgtop.session.writer import LogWriter
from mgtop.wire.records import SessionStart

pytestmark = pytest.mark.e2e


class Served:
    """``mgtop serve`` of a session, with the address that it told."""

    def __init__(self, mgtop: Machine, *arguments: str) -> None:
        self.process = mgtop.start("serve", *arguments, "--listen", "127.0.0.1:0")
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"http://(127\.0\.0\.1:\d+)/", self.said)
        assert found, self.said
        self.address = found[1]

    def views(self) -> list[psutil.Process]:
        """The view processes of all tabs."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def open_socket(self) -> ClientConnection:
        """What a tab does once the page is there."""
        return connect(f"ws://{self.address}/ws?width=100&height=30", max_size=None)


def seen(tab: ClientConnection, text: bytes) -> None:
    """Read what the view draws until it has drawn a text."""
    drawn = b""
    while text not in drawn:
        data = tab.recv(timeout=20)
        drawn += data if isinstance(data, bytes) else b""


def state_of(session: Path) -> str:
    """Of its recording, whose program must run."""
    status = read_status(session)
    assert status is not None
    assert status.target_pid is not None
    assert is_running(status.target_pid)
    return status.state


@pytest.fixture
def live(mgtop: Machine) -> Path:
    """A session that is being recorded, of a program that makes frames for a minute."""
    mgtop.start("run", "--headless", "--seconds", "60", "--", PYTHON, "-c", FRAMES, "3000")
    mgtop.target_pid()
    return mgtop.sessions()[0]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Path]:
    """A session that counts as live, of nothing."""
    folder = tmp_path / "session"
    folder.mkdir()
    writer = LogWriter(folder)
    writer.append(
        [SessionStart(t_ns=1, wall_ns=time.time_ns(), schema=1, mgtop="0", name="nothing")]
    )
    writer.close()
    with SessionLock(folder):
        yield folder


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Chromium]:
    if FOUND is None:
        pytest.skip("there is no Chromium on this machine")
    browser = Chromium(tmp_path / "chromium")
    yield browser
    browser.close()


def test_a_browser_shows_a_live_session_and_takes_keys(
    mgtop: Machine, live: Path, chromium: Chromium
) -> None:
    served = Served(mgtop, live.name)
    assert live.name in served.said
    chromium.open(f"http://{served.address}/")
    shown = chromium.wait_for("late frames")
    assert "interval ms" in shown
    assert "target 20.0" in chromium.wait_for("steps=4 fps=50")
    assert chromium.evaluate("document.title") == f"mgtop {live.name}"
    colours = Image.open(io.BytesIO(chromium.picture())).convert("RGB").getcolors(1 << 20)
    assert colours is not None
    assert len(colours) > 20  # bars and text, not an empty page

    chromium.press(" ")
    chromium.wait_for("PAUSED (recording goes on)")
    chromium.press("?")
    chromium.wait_for("all keys")

    mine = f"://{served.address}/"
    assert len(chromium.requested) >= 4
    assert [url for url in chromium.requested if mine not in url] == []  # works without a network

    for view in served.views():
        view.kill()
    closed = "getComputedStyle(document.getElementById('closed')).display"
    until(lambda: chromium.evaluate(closed) == "flex" or None, 15)
    chromium.evaluate("setTimeout(() => document.querySelector('#closed a').click())")
    views = until(lambda: served.views())
    assert len(views) == 1
    chromium.wait_for("interval ms")
    chromium.close_tab()
    assert until(lambda: not views[0].is_running() or None, 15)
    assert state_of(live) == "recording"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_views_end_with_their_server(mgtop: Machine, session: Path, number: signal.Signals) -> None:
    served = Served(mgtop, str(session))
    with served.open_socket() as tab:
        seen(tab, b"interval")
        views = served.views()
        assert views
        served.process.send_signal(number)
        code = served.process.wait(15)
        assert code == (-9 if number == signal.SIGKILL else 0)
        for view in views:
            assert until(lambda view=view: not view.is_running() or None, 15)


def test_pages_of_other_sites_are_refused(mgtop: Machine, session: Path) -> None:
    served = Served(mgtop, str(session))
    url = f"http://{served.address}/"
    with urlopen(url) as page:
        assert page.status == 200
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(HTTPError, match="403"):
            urlopen(Request(url, headers=headers))
    port = served.address.rpartition(":")[2]
    with urlopen(Request(url, headers={"Host": f"localhost:{int(port) - 1}"})) as page:
        assert page.status == 200  # through ssh -L
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"ws://{served.address}/ws", origin="http://evil.example")  # type: ignore[arg-type]
    assert served.views() == []


def test_a_readonly_page_marks_nothing(mgtop: Machine, session: Path) -> None:
    served = Served(mgtop, str(session), "--readonly")
    with served.open_socket() as tab:
        seen(tab, b"interval")
        tab.send('["stdin", "m"]')
        seen(tab, b"read-only: no marks")


def test_the_warning_where_others_reach_it(mgtop: Machine, session: Path) -> None:
    process = mgtop.start("serve", str(session), "--listen", "0.0.0.0:0")
    assert process.stderr is not None
    warning = process.stderr.readline()
    assert "warning: whoever reaches 0.0.0.0:" in warning
    assert "no password" in warning


def test_a_taken_port_is_told(mgtop: Machine, session: Path) -> None:
    served = Served(mgtop, str(session))
    done = mgtop.run("serve", str(session), "--listen", served.address)
    assert done.returncode == 2
    assert f"Cannot listen on {served.address}: Address already in use" in done.stderr
    assert "--listen" in done.stderr


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['textual_serve'] = None\n"
        "from mgtop.cli.main import run\nsys.exit(run(['serve']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    said = "mgtop: mgtop serve needs textual-serve: pip install 'mgtop[serve]'.\n"
    assert (done.stdout, done.stderr) == ("", said)
