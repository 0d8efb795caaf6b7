"""``mgtop import`` and the report on what it made."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.session.reader import LogReader
from mgtop.wire.records import FrameEmit, SessionEnd, SessionStart

EXAMPLE = """\
[req 7f3a] T+0     request_received    w=1280 h=720 steps=24 fps=16
[req 7f3a] T+38    preprocess_done     frames=48 decode=14ms resize=10ms h2d=6ms
[req 7f3a] T+1120  first_frame_emit    steps_done=24
[req 7f3a] T+1168  frame_emit idx=1    dt=48
[req 7f3a] T+1219  frame_emit idx=2    dt=51
[req 7f3a] T+1690  frame_emit idx=11   dt=214
[req 7f3a] T+1732  frame_emit idx=12   dt=42
[req 7f3a] T+2601  stream_end         frames=30
"""


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "generator.log"
    path.write_text(EXAMPLE)
    return path


def imported(capsys: pytest.CaptureFixture[str], *arguments: object) -> Path:
    assert run(["import", *map(str, arguments)]) == 0
    return Path(capsys.readouterr().out.splitlines()[-1])


def report(capsys: pytest.CaptureFixture[str], session: Path) -> dict:
    assert run(["report", str(session), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def start_of(session: Path) -> SessionStart:
    first = LogReader(session).poll()[0]
    assert isinstance(first, SessionStart)
    return first


def test_the_session_folder_is_the_last_line_and_holds_the_log(
    log: Path, capsys: pytest.CaptureFixture[str]
):
    assert run(["import", str(log)]) == 0
    said = capsys.readouterr()
    session = Path(said.out.splitlines()[-1])
    assert said.err == "8 events read; 0 other lines, 0 malformed, 0 repeated\n"
    assert "generator" in session.name
    records = LogReader(session).poll()
    assert isinstance(records[0], SessionStart)
    assert isinstance(records[-1], SessionEnd)
    assert len([record for record in records if isinstance(record, FrameEmit)]) == 5


def test_the_reading_of_the_example(log: Path, capsys: pytest.CaptureFixture[str]):
    read = report(capsys, imported(capsys, log))
    assert read["target"]["route"] == "log"
    assert read["session"]["params"] == {"w": 1280, "h": 720, "steps": 24, "fps": 16}
    assert read["session"]["started"] is None
    first = read["first_frame_ms"]
    assert (first["count"], first["p50"]) == (1, 1120)
    assert (first["preprocess_p50"], first["sampling_p50"]) == (38, 1082)
    (request,) = read["requests"]
    assert (request["id"], request["preprocess_ms"], request["ended"]) == ("7f3a", 38, True)
    assert (request["spans"]["decode"], request["spans"]["resize"]) == (14, 10)
    assert request["spans"]["h2d"] == 6
    intervals = read["interval_ms"]
    assert (intervals["count"], intervals["p50"], intervals["max"]) == (4, 49.5, 214)
    (tail,) = read["tails"]["frames"]
    assert (tail["index"], tail["interval_ms"], tail["excess_ms"]) == (11, 214, 166)
    assert read["playout"]["target_fps"] == 16
    verdict = read["verdict"]
    assert verdict["code"] == "stalls"
    assert "steady rhythm" in verdict["text"].lower()
    assert "occasional stalls" in verdict["text"].lower()


def test_the_text_report_of_the_example(log: Path, capsys: pytest.CaptureFixture[str]):
    session = imported(capsys, log)
    assert run(["report", str(session)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("VERDICT  stalls")
    assert "spans, P50     decode 14.0 ms, resize 10.0 ms, h2d 6.0 ms" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "interval, ms, over time, s" in text


def test_a_report_is_the_same_every_time(log: Path, capsys: pytest.CaptureFixture[str]):
    session = imported(capsys, log)
    texts = []
    for arguments in (["report", str(session)], ["report", str(session), "--json"]) * 2:
        assert run(arguments) == 0
        texts.append(capsys.readouterr().out)
    assert texts[:2] == texts[2:]


def test_no_warm_up_is_left_out_unless_the_configuration_says_so(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert start_of(imported(capsys, log)).settings["warmup"] == {"requests": 0, "emits": 0}
    config = tmp_path / "run.yaml"
    config.write_text("name: mine\nparams: {seed: 7, steps: 99}\ntarget_fps: 24\n")
    start = start_of(imported(capsys, log, "--config", config))
    assert start.settings["warmup"] == {"requests": 0, "emits": 0}
    assert start.settings["target_fps"] == 24
    assert start.name == "mine"
    assert start.params == {"seed": 7, "steps": 24, "w": 1280, "h": 720, "fps": 16}
    config.write_text("warmup: {requests: auto, emits: 2}\n")
    start = start_of(imported(capsys, log, "--config", config))
    assert start.settings["warmup"] == {"requests": "auto", "emits": 2}
    assert start.settings["target_fps"] == 16
    round_ = tmp_path / "round.yaml"
    round_.write_text("baseline: run.yaml\n")
    start = start_of(imported(capsys, log, "--config", round_))
    assert start.settings["warmup"] == {"requests": "auto", "emits": 2}


def test_the_session_keeps_the_log_and_how_it_was_read(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    session = imported(capsys, log)
    assert (session / "stdout.log").read_bytes() == log.read_bytes()
    assert not (session / "config.yaml").exists()
    config = tmp_path / "base.yaml"
    config.write_text("params: {hf_token: hush, seed: 7}\ntarget_fps: 24\nwarmup: {emits: 1}\n")
    round_ = tmp_path / "round.yaml"
    round_.write_text("baseline: base.yaml\npython: /not/on/this/machine\nname: mine\n")
    session = imported(capsys, log, "--config", round_)
    assert start_of(session).params["hf_token"] == "***"
    assert "hush" not in (session / "config.yaml").read_text()
    again = imported(capsys, log, "--config", session / "config.yaml")
    first, second = start_of(session), start_of(again)
    assert (first.settings, first.params, first.name) == (
        second.settings,
        second.params,
        second.name,
    )
    round_.write_text("target_fps: 24\n")
    session = imported(capsys, log, "--config", round_)
    again = imported(capsys, log, "--config", session / "config.yaml")
    assert start_of(again).settings["warmup"] == {"requests": 0, "emits": 0}


def test_a_pattern_of_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = tmp_path / "other.log"
    log.write_text("chunk 0 at 900\nnoise\nchunk 1 at 950\nchunk 2 at 1001\n")
    config = tmp_path / "run.yaml"
    config.write_text(r"frames: {log: {pattern: 'chunk (?P<index>\d+) at (?P<t_ms>\d+)'}}")
    session = imported(capsys, log, "--config", config)
    emits = [record for record in LogReader(session).poll() if isinstance(record, FrameEmit)]
    assert [emit.index for emit in emits] == [0, 1, 2]
    config.write_text("frames: {log: {pattern: '(?P<index>'}}")
    assert run(["import", str(log), "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert f"{config}:1: frames.log.pattern: is no regular expression" in said
    config.write_text("frames: {log: {pattern: 'nothing'}}")
    assert run(["import", str(log), "--config", str(config)]) == 2
    assert "none of 4 lines matches the pattern 'nothing'" in capsys.readouterr().err


def test_the_folder_can_be_chosen_once(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = tmp_path / "chosen"
    assert imported(capsys, log, "--out", folder) == folder.resolve()
    assert run(["import", str(log), "--out", str(folder)]) == 4
    assert "already holds a session" in capsys.readouterr().err


def test_standard_input(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "import", "-", "--out", str(tmp_path / "s")],
        input=EXAMPLE,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, f"{tmp_path / 's'}\n")
    assert start_of(tmp_path / "s").name == "stdin"
    assert (tmp_path / "s" / "stdout.log").read_text() == EXAMPLE


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n", bytes(range(256)) * 50])
def test_what_is_no_log_is_refused_with_the_shape(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert run(["import", str(path), "--out", str(tmp_path / "s")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "[req ID] T+MILLISECONDS EVENT" in said.err
    assert not (tmp_path / "s").exists()


def test_a_log_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]):
    assert run(["import", "/nowhere/x.log"]) == 2
    assert "/nowhere/x.log" in capsys.readouterr().err


def test_a_wrong_configuration_names_file_line_and_key(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config = tmp_path / "run.yaml"
    config.write_text("name: x\nwarmpu: {emits: 1}\n")
    assert run(["import", str(log), "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert f"{config}:2" in said
    assert "warmpu" in said


def test_a_session_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]):
    assert run(["report", "nothing-like-it"]) == 2
    assert "nothing-like-it" in capsys.readouterr().err
