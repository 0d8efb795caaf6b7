"""``mgtop report --html`` in a real browser, which may fetch nothing and run nothing of others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from chromium import FOUND, Chromium
from machine import ROOT

from mgtop.session.reader import read_all
from mgtop.session.writer import LogWriter
from mgtop.wire import records as r
from tests.export.recorded import unpack

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(FOUND is None, reason="no Chromium (Debian's package `chromium`)"),
]

EVIL = "</script><script>window.owned=1</script><img src=x onerror='window.owned=1'>"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return unpack(tmp_path / "session")


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chromium]:
    one = Chromium(tmp_path / "profile")
    yield one
    one.close()


def mgtop(*words: object) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def shown(browser: Chromium, session: Path) -> Any:
    """The page of a session, open in the browser; the report that it holds."""
    page = session.parent / "report.html"
    mgtop("report", session, "--html", page)
    browser.call("Log.enable")
    browser.open(page.as_uri())
    ready = "document.readyState === 'complete' && !!document.querySelector('canvas').width"
    for _ in range(200):
        if browser.evaluate(ready):
            break
    assert browser.evaluate(ready)
    return json.loads(browser.evaluate("document.getElementById('data').textContent"))


def test_it_says_what_the_report_says_and_fetches_nothing(
    recorded: Path, browser: Chromium
) -> None:
    data = shown(browser, recorded)
    assert data["report"] == json.loads(mgtop("report", recorded, "--json"))
    page = recorded.parent / "report.html"
    assert {url for url in browser.requested if url != "about:blank"} == {page.as_uri()}
    assert page.stat().st_size < 5_000_000
    report = data["report"]
    assert browser.evaluate("document.querySelector('h1').textContent") == report["verdict"]["text"]
    figures = browser.evaluate("document.querySelector('.figures').innerText")
    assert f"n {report['interval_ms']['count']}" in figures
    assert len(data["late"]) == report["tails"]["count"] == 7
    panels = [panel["title"] for panel in data["timeline"]["panels"]]
    assert panels == ["Interval", "Slack", "GPU memory", "GPU utilisation", "CPU"]
    assert all(panel["curves"] for panel in data["timeline"]["panels"])


def test_a_late_frame_shows_its_evidence_by_click_and_by_key(
    recorded: Path, browser: Chromium
) -> None:
    shown(browser, recorded)
    hidden = "document.querySelectorAll('tr.why')[{}].hidden"
    assert browser.evaluate(hidden.format(2)) is True
    browser.evaluate("document.querySelectorAll('tr.late')[2].click()")
    assert browser.evaluate(hidden.format(2)) is False
    why = browser.evaluate("document.querySelectorAll('tr.why')[2].innerText")
    for word in ("alloc_retry", "nvml memory", "vram_drop", "expandable_segments"):
        assert word in why
    browser.evaluate("document.getElementById('timeline').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, text="n" * (kind == "keyDown"), key="n")
    assert browser.evaluate(hidden.format(3)) is False
    assert browser.evaluate(hidden.format(2)) is True


def test_the_curves_are_drawn_and_zoomed(recorded: Path, browser: Chromium) -> None:
    shown(browser, recorded)
    drawn = """(() => {
      const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
      const all = pen.getImageData(0, 0, canvas.width, canvas.height).data;
      let sum = 0;
      for (let i = 0; i < all.length; i += 4) sum = (sum * 31 + all[i] + all[i + 1]) % 1e9;
      return sum;
    })()"""
    before = browser.evaluate(drawn)
    assert before
    browser.evaluate("document.getElementById('timeline').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, text="+" * (kind == "keyDown"), key="+")
    for _ in range(200):
        if browser.evaluate(drawn) != before:
            break
    assert browser.evaluate(drawn) != before


def test_it_fits_a_narrow_screen_and_prints_dark_on_light(
    recorded: Path, browser: Chromium
) -> None:
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=800,
        deviceScaleFactor=1,
        mobile=False,
    )
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.call("Emulation.setEmulatedMedia", media="screen", features=dark)
    shown(browser, recorded)
    boxes = "[...document.querySelectorAll('h1, header li')]"
    assert browser.evaluate(f"{boxes}.length") > 3
    assert browser.evaluate(f"{boxes}.filter(b => b.scrollWidth > b.clientWidth).length") == 0
    assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    ink = "getComputedStyle(document.body).color"
    assert browser.evaluate(ink) == "rgb(228, 233, 238)"
    browser.call("Emulation.setEmulatedMedia", media="print", features=dark)
    assert browser.evaluate(ink) == "rgb(27, 31, 36)"


def test_nothing_that_a_session_holds_is_run(
    tmp_path: Path, recorded: Path, browser: Chromium
) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    writer = LogWriter(evil)
    records = [one for one in read_all(recorded) if isinstance(one, r.Record)]
    for at in range(0, len(records), 500):
        writer.append([spoilt(one) for one in records[at : at + 500]])
    end_ns = max(one.t_ns for one in records)
    writer.append([r.Mark(end_ns, 0, r.proc_of(77, 7), 1, EVIL)])
    data = shown(browser, evil)
    assert browser.evaluate("window.owned") is None
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert EVIL in data["report"]["session"]["name"]
    assert "<script>window.owned" in browser.evaluate("document.body.innerText")
    # And if it had come to that, the page's own rules forbid it.
    browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=owned=2>')")
    browser.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.owned = 3';"
        " document.body.append(s); })()"
    )
    assert browser.evaluate("window.owned") is None


def spoilt(record: r.Record) -> r.Record:
    changes: dict[str, Any] = {}
    if isinstance(record, r.SessionStart):
        changes = {"name": record.name + EVIL, "params": {EVIL: EVIL, **record.params}}
    elif isinstance(record, r.TargetStart):
        changes = {"command": [*record.command, EVIL]}
    elif isinstance(record, r.RequestReceived):
        changes = {"id": record.id + EVIL}
    elif isinstance(record, r.GpuDevice):
        changes = {"name": record.name + EVIL}
    return msgspec.structs.replace(record, **changes) if changes else record


@pytest.mark.parametrize("where", ["{folder}", "{folder}/no/such/report.html"])
def test_a_file_that_cannot_be_written_is_said(recorded: Path, where: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "report", recorded, "--html",
         where.format(folder=recorded.parent)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (2, 4)
    assert done.stderr.startswith("mgtop: ")
    assert "Traceback" not in done.stderr
