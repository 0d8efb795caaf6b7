"""A text log replayed at its own pace through files that really grow, while mgtop is attached."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mgtop.record.status import read_status
from tests.e2e.attaching import Mgtop, last_line
from tests.record.attach.programs import IDLE, program, python, until

pytestmark = pytest.mark.e2e

LOG = """\
[req 7f3a] T+0     request_received    w=1280 h=720 steps=24 fps=16
[req 7f3a] T+38    preprocess_done     frames=48 decode=14ms resize=10ms h2d=6ms
[req 7f3a] T+1120  first_frame_emit    steps_done=24
[req 7f3a] T+1168  frame_emit idx=1    dt=48
[req 7f3a] T+1219  frame_emit idx=2    dt=51
[req 7f3a] T+1690  frame_emit idx=11   dt=214
[req 7f3a] T+1732  frame_emit idx=12   dt=42
[req 7f3a] T+2601  stream_end         frames=30
"""
REPLAY = """
import os, re, sys, time
before, log, go, *own = sys.argv[1:]
out = open(own[0], "a") if own else sys.stdout
out.write(before); out.flush()
while not os.path.exists(go): time.sleep(0.01)
began = time.monotonic()
for line in log.splitlines(keepends=True):
    t = int(re.search(r"T[+](\\d+)", line)[1]) / 1000
    while time.monotonic() < began + t:
        time.sleep(max(0, min(0.09, began + t - time.monotonic())))
        out.write("\\r\\x1b[32m 42%|####      |\\x1b[0m"); out.flush()
    middle = len(line) // 2
    out.write("\\n" + line[:middle]); out.flush(); time.sleep(0.001)
    out.write(line[middle:]); out.flush()
time.sleep(60)
"""


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Mgtop]:
    command = Mgtop(tmp_path)
    yield command
    command.close()


def check(report: dict[str, Any]) -> None:
    """The reading of that log, as it must be."""
    assert report["target"]["route"] == "log"
    (request,) = [request for request in report["requests"] if request["id"] == "7f3a"]
    assert request["first_frame_ms"] == pytest.approx(1120, abs=0.01)
    assert request["preprocess_ms"] == pytest.approx(38, abs=0.01)
    assert request["spans"]["decode"] == 14
    assert report["interval_ms"]["count"] == 4  # 471 ms between idx 2 and idx 11 is none
    assert report["interval_ms"]["max"] == 214
    (tail,) = report["tails"]["frames"]
    assert (tail["index"], round(tail["excess_ms"])) == (11, 166)
    assert request["ended"] is True
    assert report["session"]["params"] == {"width": 1280, "height": 720, "steps": 24, "fps": 16}


def test_from_its_output_from_a_named_log_and_from_a_log_that_is_found(
    mgtop: Mgtop, tmp_path: Path
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        "params: {width: 1280, height: 720, steps: 24, fps: 16}\nwarmup: {requests: 0, emits: 0}\n"
    )
    out, found, go = tmp_path / "out.txt", tmp_path / "found.log", tmp_path / "go"
    earlier = "[req 11aa] T+5 first_frame_emit\n[req 11aa] T+9 stream_end frames=1\n"
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(out.open("w"))
        printing = stack.enter_context(program(*python(REPLAY, "", LOG, go), stdout=file))
        idle = stack.enter_context(program(*python(IDLE)))
        logging = stack.enter_context(program(*python(REPLAY, earlier, LOG, go, found)))
        until(found.exists)
        until(found.read_text)
        watching = [
            mgtop.start("attach", *words, "--config", config, "--headless", "--seconds", 5)
            for words in ([printing.pid], [idle.pid, "--log", out], [logging.pid])
        ]
        until(lambda: [s for s in map(read_status, mgtop.sessions()) if s is not None][2:], 20)
        until(lambda: all(s and s.state == "recording" for s in map(read_status, mgtop.sessions())))
        time.sleep(0.1)
        go.write_text("")
        done = [process.communicate(timeout=40) for process in watching]
    assert f"through its text log {found}" in done[2][1]
    for stdout, _ in done:
        check(mgtop.report(last_line(stdout)))
