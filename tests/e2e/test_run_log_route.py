"""``mgtop run`` on a program whose output tells of frames; and which source counts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.session.reader import LogReader
from mgtop.wire.records import AnyRecord, FrameEmit, OutputLine, SourceState
from tests.e2e.attaching import Mgtop, last_line

pytestmark = pytest.mark.e2e

BOTH = """
import sys, time
from mgtop import probe
began = time.monotonic()
print("[req 7f3a] T+0 request_received w=1280 steps=24 fps=50", flush=True)
request = probe.request("from-the-probe") if "--probe" in sys.argv else None
for index in range(40):
    time.sleep(0.02)
    t = round((time.monotonic() - began) * 1000)
    kind = "frame_emit" if index else "first_frame_emit"
    print(f"\\r 10%|#   | [req 7f3a] T+{t} {kind} idx={index}", flush=True)
    if request: request.frame()
if request: request.end()
print(f"[req 7f3a] T+{t + 5} stream_end frames=40", flush=True)
oom = "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 24.00 GiB total capacity;"
print(f"RuntimeError: {oom}")
print("AttributeError: 'NoneType' object has no attribute 'shape'")
"""


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Mgtop]:
    command = Mgtop(tmp_path)
    (tmp_path / "both.py").write_text(BOTH)
    yield command
    command.close()


def run(mgtop: Mgtop, frames: str, *options: str) -> Path:
    config = mgtop.folder / "run.yaml"
    words = ", ".join(["python", "both.py", *options])
    config.write_text(f"command: [{words}]\npython: {sys.executable}\n{frames}\n")
    done = mgtop.run("run", config, "--headless")
    assert done.returncode == 0, done.stderr
    return last_line(done.stdout)


def records_of(folder: Path) -> list[AnyRecord]:
    reader = LogReader(folder)
    records: list[AnyRecord] = []
    while more := reader.poll():
        records += more
    return records


def routes(folder: Path) -> set[int]:
    return {record.route for record in records_of(folder) if isinstance(record, FrameEmit)}


def test_a_log_on_standard_output_is_a_source(mgtop: Mgtop) -> None:
    folder = run(mgtop, "")
    report = mgtop.report(folder)
    assert report["target"]["route"] == "log"
    (request,) = report["requests"]
    assert (request["id"], request["frames"], request["ended"]) == ("7f3a", 40, True)
    assert 15 <= report["interval_ms"]["p50"] <= 60
    assert report["first_frame_ms"]["p50"] is not None
    sources = {r.source for r in records_of(folder) if isinstance(r, SourceState)}
    assert "log" in sources
    lines = [record for record in records_of(folder) if isinstance(record, OutputLine)]
    assert [line.kind for line in lines] == ["oom", "error"]
    assert lines[0].amounts == {"requested": 2 << 30, "total": 24 << 30}
    assert report["verdict"]["code"] == "memory"
    assert report["verdict"]["cause"] == "oom"


def test_the_probe_counts_before_the_log_and_nothing_twice(mgtop: Mgtop) -> None:
    folder = run(mgtop, "", "--probe")
    report = mgtop.report(folder)
    assert report["target"]["route"] == "probe"
    assert [request["frames"] for request in report["requests"]] == [40]


def test_the_log_alone_if_that_is_wanted(mgtop: Mgtop) -> None:
    folder = run(mgtop, "frames: {from: log}", "--probe")
    report = mgtop.report(folder)
    assert report["target"]["route"] == "log"
    assert [request["frames"] for request in report["requests"]] == [40]
    assert routes(folder) == {3}
    assert report["losses"]["events_dropped"] == 0


def test_the_probe_alone_if_that_is_wanted(mgtop: Mgtop) -> None:
    assert routes(run(mgtop, "frames: {from: probe}", "--probe")) == {0}


def test_a_pattern_of_ones_own(mgtop: Mgtop) -> None:
    (mgtop.folder / "both.py").write_text(
        "import time\nfor n in range(30):\n"
        "    time.sleep(0.02); print(f'Generated block {n} (12 frames)')"
    )
    pattern = r"Generated block (?P<index>\d+) \((?P<count>\d+) frames\)"
    folder = run(mgtop, f"frames: {{log: {{pattern: '{pattern}'}}}}\nparams: {{fps: 600}}")
    report = mgtop.report(folder)
    assert report["target"]["route"] == "log"
    assert report["requests"][0]["frames"] == 360
    assert list(report["interval_ms_by_count"]) == ["12"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [("'block ('", "no regular expression"), ("'(?P<frame>x)'", "the group 'frame'")],
)
def test_a_pattern_that_cannot_be_used(mgtop: Mgtop, pattern: str, said: str) -> None:
    config = mgtop.folder / "run.yaml"
    config.write_text(f"command: ['true']\nframes:\n  log:\n    pattern: {pattern}\n")
    done = mgtop.run("run", config, "--headless")
    assert done.returncode == 2
    assert said in done.stderr
    assert "run.yaml" in done.stderr
