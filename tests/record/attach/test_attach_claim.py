"""One recording of a process at a time, and who it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mgtop.record.attach.claim import AlreadyAttached, Claim, holder, path_of, remove_stale


def test_the_second_learns_of_the_first(tmp_path: Path) -> None:
    session = tmp_path / "20261130-a"
    assert holder(tmp_path, 5) is None
    claim = Claim(tmp_path, 5, session)
    assert holder(tmp_path, 5) == session
    with pytest.raises(AlreadyAttached, match="recorded already in 20261130-a") as caught:
        Claim(tmp_path, 5, tmp_path / "b")
    assert caught.value.session == session
    other = Claim(tmp_path, 6, tmp_path / "b")
    claim.release()
    claim.release()
    assert holder(tmp_path, 5) is None
    again = Claim(tmp_path, 5, tmp_path / "b")
    again.release()
    other.release()
    assert list(tmp_path.iterdir()) == []


def test_a_recorder_that_died_holds_nothing(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        Claim(tmp_path, 5, tmp_path / "a")
        os._exit(0)
    os.waitpid(child, 0)
    assert path_of(tmp_path, 5).exists()
    assert holder(tmp_path, 5) is None
    held = Claim(tmp_path, 6, tmp_path / "b")
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["6.attached"]
    held.release()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("keep")
    path_of(tmp_path, 5).symlink_to(victim)
    with pytest.raises(OSError, match="Too many levels"):
        Claim(tmp_path, 5, tmp_path / "a")
    assert victim.read_text() == "keep"
