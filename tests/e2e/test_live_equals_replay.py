"""What a live view made of a session, and what the report makes of its log, are the same."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from mgtop.analysis.summary import Summary
from mgtop.report.json import render
from mgtop.report.load import summarise
from mgtop.session.writer import LOG_NAME
from mgtop.view.feed import Feed

PROGRAM = """
import gc, time
from mgtop import probe
probe.load_done()
for number in range(2):
    with probe.request(fps=60) as request:
        request.preprocess_done()
        for frame in range(70):
            with request.span("decode"):
                time.sleep(0.004)
            with request.span("forward"):
                end = time.monotonic() + 0.006
                while time.monotonic() < end:
                    pass
            if frame in (30, 50):
                time.sleep(0.09)
            request.frame(count=2)
            if frame == 40:
                probe.mark("half")
"""


def page(summary: Summary, folder: Path) -> str:
    """The report, but for what only a reader of the folder knows."""
    session = msgspec.structs.replace(summary.session, path=str(folder.resolve()), live=False)
    return render(msgspec.structs.replace(summary, session=session))


@pytest.mark.e2e
def test_live_and_replayed_reports_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    mgtop = [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(folder), "--"]
    run = subprocess.Popen(
        [*mgtop, sys.executable, str(script)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while not (folder / LOG_NAME).exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        feed = Feed(folder)
        looked = 0
        while time.monotonic() < deadline:
            ended = run.poll() is not None
            feed.poll()
            now = feed.now_ns()
            feed.model.view(now, now - 10_000_000_000, now, 100)  # looking must change nothing
            looked += 1
            if ended and feed.caught_up:
                break
            time.sleep(0.03)
        feed.poll()
        assert looked > 20
        assert run.wait() == 0
    finally:
        run.kill()
        run.wait()
    live, replayed = feed.model.summary(), summarise(folder)
    assert replayed.tails.count >= 2
    assert page(live, folder) == page(replayed, folder)
