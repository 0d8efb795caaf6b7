"""``mgtop demo``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from watched import ROOT

from mgtop.cli.main import run
from mgtop.session.reader import LogReader
from mgtop.wire.records import FrameEmit, SessionStart, StreamEnd, TargetExit


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fault", "gcc"], "mgtop: --fault gcc: there is no fault 'gcc'; did you mean 'gc'?"),
        (["--fault", "vram", "--device", "cpu"], "mgtop: --fault vram: it needs --device cuda."),
        (["--block", "0"], "mgtop: argument --block: 0 is not a whole number from 1 to 240"),
        (["--width", "100"], "mgtop: --width 100: it must be a multiple of 32, such as 96 or 128."),
    ],
)
def test_what_does_not_fit_is_said_before_anything_starts(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    out = tmp_path / "session"
    assert run(["demo", "--headless", "--out", str(out), *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not out.exists()


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(
        "mgtop.demo.needs.find_spec", lambda name: None if name == "av" else object()
    )
    assert run(["demo", "--headless"]) == 2
    assert capsys.readouterr().err == (
        "mgtop: The demo needs av, missing here: pip install 'mgtop[demo]'.\n"
    )


@pytest.mark.e2e
def test_a_headless_demo_leaves_a_session_with_its_truth(tmp_path: Path):
    out = tmp_path / "session"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mgtop", "demo", "--headless", "--requests", "2"),
            *("--device", "cpu", "--width", "64", "--height", "64", "--frames", "30"),
            *("--fault", "stall:at=5,ms=200", "--out", str(out)),
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "MGTOP_RUNTIME": str(tmp_path / "runtime")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(out)
    assert "RANDOM" in done.stderr
    (strike,) = map(json.loads, (out / "truth.json").read_text().splitlines())
    records = LogReader(out).poll()
    emits = [record for record in records if isinstance(record, FrameEmit)]
    assert [sum(e.count for e in emits if e.request == number) for number in (1, 2)] == [33, 33]
    assert len([record for record in records if isinstance(record, StreamEnd)]) == 2
    late = [e for e in emits if e.request == 1 and e.emit == strike["emit"]]
    assert strike["t_begin_ns"] < strike["t_end_ns"] < late[0].t_ns
    (begun,) = [record for record in records if isinstance(record, SessionStart)]
    assert begun.name == "demo-stall"
    assert begun.params["fault"] == "stall:at=5,ms=200"
    (ended,) = [record for record in records if isinstance(record, TargetExit)]
    assert (ended.code, ended.signal) == (0, None)
    assert len(list((out / "videos").iterdir())) == 2


@pytest.mark.e2e
def test_what_stopped_the_demo_is_in_its_output(tmp_path: Path):
    """What only the generator can find out (there is no GPU here, say) is told all the same."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mgtop", "demo", "--headless", "--device", "cuda"),
            *("--out", str(tmp_path / "session")),
        ],
        cwd=tmp_path,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT),
            "MGTOP_RUNTIME": str(tmp_path / "runtime"),
            "CUDA_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 3
    assert "mgtop.demo: --device cuda: this torch sees no GPU" in done.stderr
    assert "Traceback" not in done.stderr
