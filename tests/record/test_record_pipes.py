"""The FIFO from the reader's side."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path

import pytest

from mgtop.record.pipes import (
    PIPE_BYTES,
    EventPipe,
    PipeError,
    remove_abandoned,
    runtime_folder,
)


def test_it_is_private_and_large_and_locked(tmp_path: Path) -> None:
    path = tmp_path / "a.fifo"
    pipe = EventPipe(path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert pipe.capacity == PIPE_BYTES
    other = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    pipe.close(remove=False)
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(other)
    assert path.exists()


def test_reading_never_waits_and_takes_all(tmp_path: Path) -> None:
    pipe = EventPipe(tmp_path / "a.fifo")
    assert pipe.read() == b""
    writer = os.open(pipe.path, os.O_RDWR | os.O_NONBLOCK)
    data = os.urandom(4096) * 200
    assert os.write(writer, data) == len(data)
    assert pipe.read() == data
    assert pipe.read() == b""
    os.close(writer)
    assert pipe.read() == b""  # no end of file: the reader itself holds the other end
    pipe.close(remove=True)
    assert not pipe.path.exists()


def test_a_second_reader_is_refused(tmp_path: Path) -> None:
    pipe = EventPipe(tmp_path / "a.fifo")
    with pytest.raises(PipeError, match="already being read"):
        EventPipe(tmp_path / "a.fifo")
    pipe.close(remove=True)


def test_what_an_existing_fifo_holds_is_kept(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.fifo")
    writer = os.open(tmp_path / "a.fifo", os.O_RDWR | os.O_NONBLOCK)
    os.write(writer, b"the past")
    pipe = EventPipe(tmp_path / "a.fifo")
    assert pipe.read() == b"the past"
    pipe.close(remove=True)
    os.close(writer)


def test_a_file_or_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipeError, match="not a FIFO"):
        EventPipe(tmp_path / "file")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(PipeError, match="Cannot open"):
        EventPipe(tmp_path / "link")
    with pytest.raises(PipeError, match="Cannot open"):
        EventPipe(tmp_path / "nowhere" / "a.fifo")


def test_the_runtime_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MGTOP_RUNTIME", str(tmp_path / "run"))
    folder = runtime_folder()
    assert folder == tmp_path / "run"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert runtime_folder() == folder


def test_a_runtime_folder_that_others_can_write_is_refused_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setenv("MGTOP_RUNTIME", str(folder))
    with pytest.raises(PipeError, match="MGTOP_RUNTIME"):
        runtime_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777


def test_only_abandoned_fifos_are_removed(tmp_path: Path) -> None:
    long_ago = time.time() - 3600
    abandoned, held, young = (tmp_path / f"{name}.fifo" for name in ("gone", "held", "young"))
    for path in (abandoned, held, young):
        os.mkfifo(path)
    (tmp_path / "file.fifo").write_text("no pipe")
    holder = os.open(held, os.O_RDWR | os.O_NONBLOCK)
    for path in (abandoned, held, tmp_path / "file.fifo"):
        os.utime(path, (long_ago, long_ago))
    assert remove_abandoned(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "file.fifo",
        "held.fifo",
        "young.fifo",
    ]
    os.close(holder)
