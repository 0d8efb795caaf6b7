"""The command line of the generator: what it takes, and what it says of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from watched import ROOT

from mgtop.demo.__main__ import main
from mgtop.demo.errors import DemoError
from mgtop.demo.options import parse


def test_defaults():
    options = parse([])
    assert (options.device, options.block, options.requests, options.frames) == ("auto", 4, 3, 240)
    assert (options.out, options.truth, options.faults) == (None, None, ())


def test_under_the_monitor_everything_goes_into_the_session(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MGTOP_SESSION", "/sessions/x")
    assert parse(["--fault", "gc"]).truth == Path("/sessions/x/truth.json")
    assert parse(["--fault", "gc"]).out == Path("/sessions/x/videos")
    assert parse([]).truth is None
    assert parse(["--fault", "gc", "--truth", "t"]).truth == Path("t")
    assert parse(["--out", "o"]).out == Path("o")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--width", "100"], "--width 100: it must be a multiple of 32, such as 96 or 128."),
        (["--height", "33"], "--height 33: it must be a multiple of 32, such as 32 or 64."),
        (["--width", "16"], "argument --width: 16 is not a whole number from 32 to 4096"),
        (["--block", "0"], "argument --block: 0 is not a whole number from 1 to 240"),
        (["--block", "x"], "x is not a whole number"),
        (["--fps", "0"], "argument --fps: 0 is not a number from 0.1 to 1000"),
        (["--frames", "-1"], "argument --frames: -1 is not a whole number from 1 on"),
        (["--device", "tpu"], "argument --device: invalid choice: 'tpu'"),
        (["--fault", "gcc"], "did you mean 'gc'?"),
        (["--fault", "gc", "--fault", "gc:ms=3"], "the same fault is ordered twice"),
        (["--fault", "queue", "--concurrent", "2"], "--fault queue: it needs --concurrent 1."),
        (["--fault", "vram", "--device", "cpu"], "--fault vram: it needs --device cuda."),
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--req", "3"], "unrecognized arguments: --req 3"),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(arguments: list[str], said: str):
    with pytest.raises(DemoError) as caught:
        parse(arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("mgtop.demo.needs.find_spec", lambda name: None)
    assert main([]) == 2
    assert capsys.readouterr().err == (
        "mgtop.demo: The demo needs torch and av, missing here: pip install 'mgtop[demo]'.\n"
    )


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mgtop.demo", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if "MGTOP" not in key},
        timeout=60,
        check=False,
    )


def _imported(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_wrong_option_ends_with_two_before_torch_is_imported():
    done = _run("--fault", "gcc")
    lines = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 2
    assert lines == ["mgtop.demo: --fault gcc: there is no fault 'gcc'; did you mean 'gc'?"]
    assert "torch" not in _imported(done)


def test_help_names_every_fault_and_imports_little():
    done = _run("--help")
    assert done.returncode == 0
    assert "random" in done.stdout
    for name in ("stall", "cpu", "gc", "output", "compute", "queue", "leak", "vram", "compile"):
        assert f"\n  {name} " in done.stdout
    assert "torch" not in _imported(done)
