"""Folders and the event pipe: real ones, and each way in which they can be unusable."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from mgtop.record.health import recording
from mgtop.record.health.finding import Finding
from mgtop.record.health.recording import check_recording, file_system_of, in_gib

FIRST = {"recording.runtime", "recording.pipe", "recording.sessions", "recording.disk"}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MGTOP_RUNTIME", str(tmp_path / "runtime"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def look(root: Path = Path("/")) -> dict[str, Finding]:
    return {finding.id: finding for finding in check_recording(root)}


def unusable(found: dict[str, Finding]) -> set[str]:
    return {id_ for id_, f in found.items() if f.essential and f.state == "missing"}


def test_all_is_well_and_nothing_is_left_behind(folders: Path) -> None:
    found = look()
    assert set(found) == FIRST
    assert unusable(found) == set()
    assert found["recording.runtime"].measured["mode"] == "0700"
    assert found["recording.sessions"].value.startswith(str(folders / "state"))
    assert sorted(path.name for path in folders.rglob("*")) == ["runtime"]
    assert stat.S_IMODE((folders / "runtime").stat().st_mode) == 0o700


def test_the_pipe_was_really_made(folders: Path) -> None:
    pipe = look()["recording.pipe"]
    assert pipe.measured["wanted_kib"] == 1024
    assert pipe.measured["capacity_kib"] >= 4
    assert f"{pipe.measured['capacity_kib']:,} KiB" in pipe.value


def link(folder: Path) -> str:
    (folder / "elsewhere").mkdir(mode=0o700)
    (folder / "runtime").symlink_to(folder / "elsewhere")
    return "is not a folder"


def open_to_all(folder: Path) -> str:
    (folder / "runtime").mkdir()
    (folder / "runtime").chmod(0o777)
    return "can be written to by other users"


def a_file(folder: Path) -> str:
    (folder / "runtime").touch()
    return "is not a folder"


@pytest.mark.parametrize("spoil", [link, open_to_all, a_file])
def test_a_runtime_folder_that_cannot_be_trusted(
    folders: Path, spoil: Callable[[Path], str]
) -> None:
    why = spoil(folders)
    found = look()
    assert unusable(found) == {"recording.runtime"}
    bad = found["recording.runtime"]
    assert why in (bad.reason or "")
    assert "MGTOP_RUNTIME=DIR" in (bad.remedy or "")


def test_a_runtime_folder_in_which_no_pipe_can_be_made(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MGTOP_RUNTIME", f"/proc/{os.getpid()}")  # ours alone, and no place for it
    found = look()
    assert unusable(found) == {"recording.pipe"}
    assert "Cannot open the event pipe" in (found["recording.pipe"].reason or "")


@pytest.mark.parametrize(
    ("largest", "do"),
    [(65_536, "fs.pipe-max-size=1048576"), (1 << 20, "fs.pipe-user-pages-soft=0")],
)
def test_a_small_pipe_is_weak_and_says_which_limit_it_met(
    folders: Path, monkeypatch: pytest.MonkeyPatch, largest: int, do: str
) -> None:
    limits = folders / "root" / "proc/sys/fs"
    limits.mkdir(parents=True)
    (limits / "pipe-max-size").write_text(f"{largest}\n")
    (limits / "pipe-user-pages-soft").write_text("16384\n")
    monkeypatch.setattr("mgtop.record.pipes._grow", lambda _fd: 65_536)
    pipe = look(folders / "root")["recording.pipe"]
    assert (pipe.state, pipe.essential) == ("weak", False)
    assert pipe.value == "made; holds 64 KiB instead of 1,024"
    assert do in (pipe.remedy or "")


def test_a_sessions_folder_that_cannot_be_written(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/state")
    found = look()
    assert unusable(found) == {"recording.sessions"}
    bad = found["recording.sessions"]
    assert "nothing can be written in /proc" in (bad.reason or "")
    assert "--out DIR" in (bad.remedy or "")


@pytest.mark.parametrize(
    ("free", "state", "essential"),
    [(200 << 30, "ok", False), (300 << 20, "weak", False), (1 << 20, "missing", True)],
)
def test_space(
    folders: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str, essential: bool
) -> None:
    monkeypatch.setattr(recording, "_free_bytes", lambda _folder: free)
    disk = look()["recording.disk"]
    assert (disk.state, disk.essential) == (state, essential)
    assert disk.measured["free_mib"] == free >> 20


def test_a_remote_file_system_is_weak(folders: Path) -> None:
    mounts = folders / "root" / "proc/self/mounts"
    mounts.parent.mkdir(parents=True)
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {folders} nfs4 rw 0 0\n")
    found = look(folders / "root")["recording.sessions"]
    assert (found.state, found.measured["file_system"]) == ("weak", "nfs4")
    assert found.value.endswith("on nfs4")


def test_the_mount_that_counts_is_the_deepest_and_the_last(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "none / overlay rw 0 0\n/dev/a /home ext4 rw 0 0\n/dev/b /home/a\\040b xfs rw 0 0\n"
        "/dev/c /home btrfs rw 0 0\nbroken\n"
    )
    assert file_system_of(Path("/home/me"), mounts) == "btrfs"
    assert file_system_of(Path("/home/a b/c"), mounts) == "xfs"
    assert file_system_of(Path("/homes"), mounts) == "overlay"
    assert file_system_of(Path("/home"), tmp_path / "none") is None


@pytest.mark.parametrize(("size", "text"), [(0, "0 MiB"), (5 << 20, "5 MiB"), (3 << 29, "1.5 GiB")])
def test_sizes(size: int, text: str) -> None:
    assert in_gib(size) == text
