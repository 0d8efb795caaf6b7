"""Programs, arguments and folders whose names are any bytes: recorded and shown all the same."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.record.launch import Recording
from mgtop.wire.records import TargetStart
from tests.record.recording import of, read, record

BYTES = b"no\xff\xfe\n\x1b[31mtext"
NAME = os.fsdecode(BYTES)
PRINTS = "import os, sys; print(os.fsencode(sys.argv[1]).hex(), os.fsencode(os.getcwd()).hex())"


def test_arguments_and_folders_that_are_no_text_reach_the_program_as_they_are(
    tmp_path: Path, started: list[Recording]
) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    program = folder / f"{NAME}.py"
    program.write_text(PRINTS)
    started.append(record(folder, [sys.executable, str(program), NAME]))
    session = started[-1].folder
    outcome = started[-1].wait(30)
    assert (outcome.exit_code, outcome.target_code) == (0, 0)
    argument, where = (session / "stdout.log").read_text().split()
    assert bytes.fromhex(argument) == BYTES
    assert bytes.fromhex(where) == os.fsencode(folder)
    (target,) = of(TargetStart, read(session))
    assert "no??" in target.command[2]


def test_a_session_in_such_a_folder_is_shown_in_every_form(
    tmp_path: Path, started: list[Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / NAME
    folder.mkdir()
    started.append(record(folder, [sys.executable, "-c", "", NAME]))
    assert started[-1].wait(30).exit_code == 0
    session, page = str(started[-1].folder), tmp_path / "page.html"
    assert run(["report", session, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["session"]["path"].endswith("text/session")
    assert run(["report", session, "--html", str(page)]) == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    for words in (["report"], ["report", "--markdown"], ["export", "--to", "perfetto"]):
        assert run([words[0], session, *words[1:]]) == 0
    assert "\x1b" not in capsys.readouterr().out
