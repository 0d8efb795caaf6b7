"""Pipes instead of files, links to nowhere, logs of the future, two that begin at once."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.config import files
from mgtop.config.load import load_config
from mgtop.record.launch import LaunchError, Recording, start
from mgtop.record.plan import Plan
from mgtop.session.folder import list_sessions
from mgtop.session.writer import LogWriter
from mgtop.wire.records import SCHEMA, SessionStart
from tests.export.recorded import unpack
from tests.faults.full_disk import files_of_at_most
from tests.record.recording import of, read


def said(capsys: pytest.CaptureFixture[str], code: int, *words: str) -> str:
    assert run(list(words)) == code
    return capsys.readouterr().err


def test_a_pipe_that_nobody_writes_to_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PATIENCE_S", 0.05)
    pipe = tmp_path / "run.yaml"
    os.mkfifo(pipe)
    for words in (["run", "--headless"], ["smoke"], ["sweep", "--vary", "steps=1,2"]):
        assert "nothing came through it" in said(capsys, 2, words[0], str(pipe), *words[1:])
    writer = threading.Thread(target=pipe.write_text, args=("command: [echo]\n",))
    monkeypatch.undo()
    writer.start()
    assert load_config(pipe).command == ["echo"]
    writer.join()


def test_a_link_to_nowhere_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.yaml").symlink_to("run.yaml")
    assert "leads nowhere" in said(capsys, 2, "run", "--headless", str(tmp_path / "run.yaml"))


def test_a_session_of_a_newer_form_is_not_misread(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start_of = SessionStart(t_ns=1, wall_ns=1, schema=SCHEMA + 1, mgtop="9.0", name="x")
    (tmp_path / "later").mkdir()
    LogWriter(tmp_path / "later").append([start_of])
    session = str(tmp_path / "later")
    for words in (["report"], ["export", "--to", "csv"], ["compare", session], ["compact"]):
        text = said(capsys, 2, words[0], session, *words[1:])
        assert "written by mgtop 9.0" in text
        assert "update mgtop" in text
    assert [entry.name for entry in list_sessions(tmp_path)] == ["later"]  # ls still shows it


def test_of_several_that_begin_in_one_folder_at_once_one_records(
    tmp_path: Path, started: list[Recording]
) -> None:
    commands = [["sh", "-c", f"echo {number}"] for number in range(4)]

    def begin(command: list[str]) -> Recording | str:
        try:
            return start(Plan(name="x", command=command, cwd="/"), out=tmp_path / "session")
        except LaunchError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(begin, commands))
    started += [one for one in found if isinstance(one, Recording)]
    assert len(started) == 1
    refused = [text for text in found if isinstance(text, str)]
    assert all("already holds a session" in text for text in refused)
    assert started[0].wait(30).exit_code == 0
    mine = next(n for n, one in enumerate(found) if isinstance(one, Recording))
    assert (started[0].folder / "stdout.log").read_text() == f"{mine}\n"
    assert len(of(SessionStart, read(started[0].folder))) == 1


@pytest.mark.parametrize("words", [["report", "--html"], ["export", "--to", "jsonl", "-o"]])
def test_where_the_disk_is_full_what_was_there_before_stays(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = unpack(tmp_path / "stormlight")
    place = tmp_path / "out"
    place.write_text("from before")
    with files_of_at_most(2048):
        text = said(capsys, 4, words[0], str(session), *words[1:], str(place))
    assert "free some space" in text
    assert place.read_text() == "from before"
    assert sorted(os.listdir(tmp_path)) == ["out", "stormlight"]


def test_no_half_tables_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="parquet is an extra")
    session = unpack(tmp_path / "stormlight")
    place = tmp_path / "tables"
    with files_of_at_most(2048):
        text = said(capsys, 4, "export", str(session), "--to", "parquet", "-o", str(place))
    assert "free some space" in text
    assert os.listdir(place) == []
