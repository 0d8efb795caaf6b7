"""``mgtop attach --inject``: frames of running programs that know nothing of mgtop."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.attach.process import look
from mgtop.record.status import read_status
from tests.e2e.attaching import Mgtop, last_line
from tests.record.attach.programs import until
from tests.record.inject.targets import EVERY, target

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        os.uname().machine != "x86_64", reason="before Python 3.14 this way in knows x86-64 only"
    ),
]

MODULE = """
import time
class Decoder:
    def decode(self, latents):
        time.sleep(0.02)
        return [latents] * 4
def upscale(frames):
    time.sleep(0.005)
    return frames
"""
PROGRAM = """
import sys; sys.path.insert(0, sys.argv[1])
from pipeline import Decoder, upscale
def write(frames):
    return len(frames)
decoder = Decoder()
print("ready", flush=True)
while True:
    write(upscale(decoder.decode(1)))
"""
HOOKS = """
target_fps: 160
frames:
  hooks:
    - {target: "pipeline:Decoder.decode", event: frame_emit, count: "len(result)"}
    - {target: "pipeline:upscale", span: postprocess}
    - {target: "__main__:write", event: mark}
"""
VIDEO = """
import sys, time
import av
out = av.open(sys.argv[1], "w")
stream = out.add_stream("mpeg4", rate=25)
stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
print("ready", flush=True)
while True:
    time.sleep(0.02)
    for packet in stream.encode(av.VideoFrame(64, 48, "yuv420p")):
        out.mux(packet)
"""


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Mgtop]:
    command = Mgtop(tmp_path)
    yield command
    command.close()


@pytest.mark.parametrize("python", [sys.executable, EVERY[-1]])
def test_hooks_of_a_configuration(python: str, mgtop: Mgtop, tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(MODULE)
    config = tmp_path / "run.yaml"
    config.write_text(HOOKS)
    runtime = {"MGTOP_RUNTIME": str(mgtop.runtime)}
    mgtop.runtime.mkdir(mode=0o700)
    with target(PROGRAM, tmp_path, python=python, env=runtime) as running:
        options = ("--inject", "--config", config, "--headless", "--seconds", 1.5)
        done = mgtop.run("attach", running.pid, *options)
        assert done.returncode == 0, done.stderr
        assert look(running.pid) is not None
        again = mgtop.run("attach", running.pid, *options)
        assert again.returncode == 0, again.stderr
    assert "Frames are seen by the hooks of run.yaml" in done.stderr
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "hooks"
    (request,) = report["requests"]
    assert request["frames"] == 4 * request["blocks"]
    assert request["blocks"] > 20
    # The program has it by `from … import`; it is hooked there, too.
    assert request["spans"]["postprocess"] >= 5
    assert len(report["marks"]) > 20  # by a function of the script itself
    assert "there is a probe in process" in again.stderr
    twice = mgtop.report(last_line(again.stdout))
    (request,) = twice["requests"]
    assert request["frames"] == 4 * request["blocks"]
    assert twice["interval_ms"]["p50"] > 20  # and hooked once


def test_frames_that_leave_through_a_library_which_is_imported_already(
    mgtop: Mgtop, tmp_path: Path
) -> None:
    pytest.importorskip("av")
    mgtop.runtime.mkdir(mode=0o700)
    runtime = {"MGTOP_RUNTIME": str(mgtop.runtime)}
    with target(VIDEO, tmp_path / "out.mp4", env=runtime) as running:
        time.sleep(0.2)
        done = mgtop.run("attach", running.pid, "--inject", "--headless", "--seconds", 1.5)
        assert done.returncode == 0, done.stderr
    assert "where a library writes, encodes or sends them" in done.stderr
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "sinks"
    assert report["requests"][0]["frames"] > 30


def test_into_a_program_that_is_being_recorded_already(mgtop: Mgtop, tmp_path: Path) -> None:
    (tmp_path / "pipeline.py").write_text(MODULE)
    config = tmp_path / "run.yaml"
    config.write_text(HOOKS)
    mgtop.runtime.mkdir(mode=0o700)
    with target(PROGRAM, tmp_path, env={"MGTOP_RUNTIME": str(mgtop.runtime)}) as running:
        watching = mgtop.start("attach", running.pid, "--headless", "--seconds", 6)
        until(lambda: [s for s in map(read_status, mgtop.sessions()) if s is not None])
        options = ("--inject", "--config", config, "--headless", "--seconds", 0.1)
        done = mgtop.run("attach", running.pid, *options)
        assert done.returncode == 0, done.stderr
        assert "is being recorded already" in done.stderr
        stdout, stderr = watching.communicate(timeout=30)
    assert "there is no probe in it" in stderr
    report = mgtop.report(last_line(stdout))
    assert report["target"]["route"] == "hooks"
    assert report["target"]["advice"] is None
    assert report["requests"][0]["frames"] > 40


def test_hooks_that_cannot_be_are_refused_before_anything_is_touched(
    mgtop: Mgtop, tmp_path: Path
) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("frames:\n  hooks:\n    - {target: nonsense, event: frame_emit}\n")
    with target("print('ready')\nimport time; time.sleep(60)") as running:
        options = ("--inject", "--config", config, "--headless", "--seconds", 1)
        done = mgtop.run("attach", running.pid, *options)
    assert done.returncode == 2
    assert "run.yaml" in done.stderr
    assert "frames.hooks[0].target" in done.stderr
    assert not list(mgtop.runtime.glob("*.fifo"))
