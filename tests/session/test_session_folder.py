"""Session folders: names, finding one, listing them."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_records import emit, start, write

from mgtop.session.folder import (
    NAME_BYTES,
    SessionAmbiguous,
    SessionNotFound,
    claimed,
    create,
    find,
    folder_name,
    list_sessions,
    newest_live,
    sessions_root,
    word_for,
)
from mgtop.session.lock import SessionLock
from mgtop.session.writer import LOG_NAME, SessionWriteError
from mgtop.wire.records import Record, SessionEnd, TargetExit

WALL_NS = 1_796_073_300_000_000_000


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "mgtop" / "sessions"


@pytest.fixture
def berlin() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


def make(root: Path, name: str, wall_ns: int, *more: Record) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    write(folder, [start(wall_ns), emit(0)], *([record] for record in more))
    return folder


# ----------------------------------------------------------------------------- names


@pytest.mark.usefixtures("berlin")
def test_a_name_carries_local_time_name_and_what_varies() -> None:
    name = folder_name("stormlight", {"steps": 16}, WALL_NS)
    assert name == "20261130-221500-stormlight-steps=16"


@pytest.mark.parametrize(
    ("name", "varied", "end"),
    [
        ("a/../b", {}, "-a_.._b"),
        ("../../etc", {}, "-etc"),
        ("two words; rm *", {}, "-two_words_rm"),
        ("-rf", {}, "-rf"),
        ("暴风 2", {"画质": "高"}, "-暴风_2-画质=高"),
        ("", {}, ""),
        ("...", {"a": 1, "b": "x y"}, "-a=1-b=x_y"),
        ("n\x1b[31m\n", {}, "-n_31m"),
        ("odd \udcff", {}, "-odd"),
        ("r", {"resolution": "1280x720", "steps": [4, 2]}, "-r-resolution=1280x720-steps=_4_2"),
    ],
)
def test_names_that_are_safe_in_a_shell_and_in_a_file_system(
    name: str, varied: dict[str, object], end: str
) -> None:
    made = folder_name(name, varied, WALL_NS)
    assert re.fullmatch(r"\d{8}-\d{6}", made[:15])
    assert made[15:] == end


def test_a_long_name_is_cut_before_what_varies() -> None:
    made = folder_name("n" * 500, {"steps": 16}, WALL_NS)
    assert len(made) == NAME_BYTES
    assert made.endswith("nnn-steps=16")


@given(st.text(), st.dictionaries(st.text(), st.text() | st.integers(), max_size=4))
def test_every_name_is_one_that_a_folder_can_have(name: str, varied: dict[str, object]) -> None:
    made = folder_name(name, varied, WALL_NS)
    assert len(made.encode()) <= NAME_BYTES
    assert not re.search(r"[\s/\\\x00-\x1f*?;&|<>$`'\"()]", made)
    assert made[0].isdigit()


# -------------------------------------------------------------------------- creating


def test_a_new_folder_is_the_users_alone(root: Path) -> None:
    folder = create("n", {}, None, WALL_NS)
    assert folder.parent == root == sessions_root()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_clash_of_names_gets_a_number(root: Path) -> None:
    names = [create("n", {}, None, WALL_NS).name for _ in range(3)]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]


def test_out_is_taken_as_it_is(tmp_path: Path) -> None:
    assert create("n", {"a": 1}, tmp_path / "x" / "y", WALL_NS) == tmp_path / "x" / "y"
    assert create("n", {}, tmp_path / "x" / "y", WALL_NS) == tmp_path / "x" / "y"  # still empty


def test_out_that_holds_a_session_is_refused(tmp_path: Path) -> None:
    make(tmp_path, "s", WALL_NS)
    with pytest.raises(SessionWriteError) as caught:
        create("n", {}, tmp_path / "s", WALL_NS)
    assert str(caught.value) == f"{tmp_path}/s already holds a session; choose another folder"


def test_out_of_a_recorder_that_has_not_written_yet_is_refused(tmp_path: Path) -> None:
    with SessionLock(tmp_path), pytest.raises(SessionWriteError, match="already holds a session"):
        create("n", {}, tmp_path, WALL_NS)


def test_out_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionWriteError) as caught:
        create("n", {}, tmp_path / "file", WALL_NS)
    assert str(caught.value) == f"cannot make {tmp_path}/file: File exists"


def test_out_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionWriteError, match=r"cannot make .*: Not a directory"):
        create("n", {}, tmp_path / "file" / "x", WALL_NS)


# --------------------------------------------------------------------------- finding


def test_a_folder_its_log_or_a_part_of_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storm = make(root, "20261130-210000-stormlight-steps=16", 1)
    make(root, "20261130-220000-other", 2)
    for text in (str(storm), str(storm / LOG_NAME), storm.name, "storm", "=16", "210000"):
        assert find(text) == storm
    monkeypatch.chdir(storm)
    assert find(".") == find(LOG_NAME) == storm


def test_what_to_call_a_session_on_a_command_line(root: Path, tmp_path: Path) -> None:
    ours, elsewhere = make(root, "20261130-210000-n", 1), make(tmp_path, "my session", 2)
    assert word_for(ours, root) == "20261130-210000-n"
    assert word_for(elsewhere, root) == f"'{elsewhere}'"


def test_a_whole_name_wins_over_names_that_it_is_part_of(root: Path) -> None:
    first = make(root, "20261130-210000-n", 1)
    make(root, "20261130-210000-n-2", 2)
    assert find("20261130-210000-n") == first


def test_a_value_is_no_part_of_a_longer_one(root: Path) -> None:
    one = make(root, "20261130-210000-tiny-steps=1", 1)
    make(root, "20261130-210500-tiny-steps=16", 2)
    with SessionLock(root / "20261130-210500-tiny-steps=16"):
        assert find("steps=1") == find("tiny-steps=1") == one
    make(root, "20261130-220000-other-steps=1", 3)
    with pytest.raises(SessionAmbiguous, match=r"other-steps=1, .*tiny-steps=1; give more"):
        find("steps=1")


def test_several_that_match_are_named(root: Path) -> None:
    for n in range(7):
        make(root, f"run-{n}", n + 1)
    with pytest.raises(SessionAmbiguous) as caught:
        find("run")
    assert str(caught.value) == (
        "'run' could be run-6, run-5, run-4, run-3, run-2 and 2 more; give more of the name"
    )


def test_of_several_that_match_the_only_live_one_is_meant(root: Path) -> None:
    for n in range(3):
        make(root, f"run-{n}", n + 1)
    with SessionLock(root / "run-1"):
        assert find("run") == root / "run-1"
        with SessionLock(root / "run-0"), pytest.raises(SessionAmbiguous):
            find("run")


def test_none_that_matches(root: Path) -> None:
    with pytest.raises(SessionNotFound) as caught:
        find("storm")
    assert str(caught.value) == (
        "no session is called 'storm'; there are none yet (mgtop ls shows all)"
    )
    make(root, "20261130-220000-stormlight", 2)
    with pytest.raises(SessionNotFound, match="the newest is 20261130-220000-stormlight"):
        find("zzz")
    with pytest.raises(SessionNotFound, match=r"did you mean 20261130-220000-stormlight\?"):
        find("20261130-220000-stromlight")


def test_a_folder_without_a_log(root: Path, tmp_path: Path) -> None:
    with pytest.raises(SessionNotFound) as caught:
        find(str(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path} is a folder, but holds no session (session.log is missing)"
    )
    (tmp_path / "generator.log").touch()
    with pytest.raises(SessionNotFound, match="is a file and no session; mgtop import makes one"):
        find(str(tmp_path / "generator.log"))


# --------------------------------------------------------------------------- listing


def test_live_ones_first_then_the_newest(root: Path) -> None:
    make(root, "a-old", 10, SessionEnd(t_ns=9, reason="stopped"))
    make(root, "b-live-old", 20)
    make(root, "c-new", 40, TargetExit(t_ns=9, code=0, signal=None))
    make(root, "d-cut", 30)
    make(root, "e-live-new", 35)
    with SessionLock(root / "b-live-old"), SessionLock(root / "e-live-new") as lock:
        lock.update(target_pid=os.getppid())
        entries = list_sessions()
        newest = newest_live()
    assert [(entry.name, entry.state) for entry in entries] == [
        ("e-live-new", "live"),
        ("b-live-old", "live"),
        ("c-new", "ended"),
        ("d-cut", "cut"),
        ("a-old", "ended"),
    ]
    assert newest == entries[0]
    assert entries[0].recorder_pid == os.getpid()
    assert entries[0].target_pid == os.getppid()
    assert entries[0].started_wall_ns == 35
    assert [entry.live for entry in entries] == [True, True, False, False, False]
    assert entries[2].recorder_pid is None
    assert newest_live() is None


def test_how_long_it_took_is_told_by_the_log_alone(root: Path) -> None:
    folder = root / "copied"
    folder.mkdir(parents=True)
    begin = start(50)
    end = SessionEnd(t_ns=begin.t_ns + 90 * 10**9, reason="target_exit")
    write(folder, [begin], [end, emit(1)])
    os.utime(folder / LOG_NAME, (2_000, 2_000))
    assert [entry.duration_ns for entry in list_sessions()] == [90 * 10**9]


def test_an_imported_log_has_no_start_and_stands_where_it_was_imported(root: Path) -> None:
    make(root, "before", 1_000 * 10**9)
    imported = make(root, "imported", 0, SessionEnd(t_ns=9, reason="imported"))
    make(root, "after", 3_000 * 10**9)
    os.utime(imported / LOG_NAME, (2_000, 2_000))
    entries = list_sessions()
    assert [entry.name for entry in entries] == ["after", "imported", "before"]
    assert entries[1].started_wall_ns is None


def test_no_root_no_sessions(root: Path) -> None:
    assert list_sessions() == []
    assert newest_live() is None


def test_whatever_else_lies_there(root: Path) -> None:
    good = make(root, "good", 10)
    (root / "file").touch()
    (root / "empty").mkdir()
    (root / "dangling").symlink_to("/nowhere")
    (root / "log-is-a-folder" / LOG_NAME).mkdir(parents=True)
    (root / "no-byte").mkdir()
    (root / "no-byte" / LOG_NAME).touch()
    (root / "garbage").mkdir()
    (root / "garbage" / LOG_NAME).write_bytes(os.urandom(5000))
    (root / "locked-half").mkdir()
    (root / "locked-half" / "recorder.lock").write_text("{not json")
    (root / "odd-lock").mkdir()
    (root / "odd-lock" / LOG_NAME).write_bytes((good / LOG_NAME).read_bytes()[:-3])
    (root / "odd-lock" / "recorder.lock").write_bytes(b"\xff\xfe{")
    listed = {entry.name: (entry.state, entry.started_wall_ns) for entry in list_sessions()}
    assert listed == {
        "good": ("cut", 10),
        "no-byte": ("cut", None),
        "garbage": ("cut", None),
        "odd-lock": ("cut", None),
    }


def test_a_first_and_a_last_chunk_of_any_size(root: Path) -> None:
    folder = root / "imported"
    folder.mkdir(parents=True)
    many: list[Record] = [emit(n) for n in range(20_000)]
    write(folder, [start(50), *many], [*many, SessionEnd(t_ns=1, reason="imported")])
    (entry,) = list_sessions()
    assert (entry.started_wall_ns, entry.state) == (50, "ended")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_log_of_another_user(root: Path) -> None:
    folder = make(root, "theirs", 10)
    (folder / LOG_NAME).chmod(0)
    for text in (str(folder), "theirs"):
        with pytest.raises(SessionNotFound, match="cannot be read: permission denied"):
            find(text)
    assert [entry.state for entry in list_sessions()] == ["cut"]


def test_a_root_that_may_not_be_read_is_not_called_empty(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.listdir", refuse)
    for ask in (list_sessions, newest_live, lambda: find("x")):
        with pytest.raises(SessionNotFound, match=f"{root} cannot be read: Permission denied"):
            ask()


def test_a_folder_is_claimed_until_the_session_is_there(tmp_path: Path) -> None:
    with claimed(tmp_path):
        other = claimed(tmp_path)
        with pytest.raises(SessionWriteError, match="already holds"):
            other.__enter__()
    with claimed(tmp_path):
        pass


@pytest.mark.parametrize("text", [".", "..", "", "./"])
def test_a_place_is_never_taken_for_a_part_of_a_name(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else ``mgtop report .`` shows whichever session has a dot in its name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sessions" / "20261201-1.5-..").mkdir(parents=True)
    write(tmp_path / "sessions" / "20261201-1.5-..", [start()])
    with pytest.raises(SessionNotFound):
        find(text, tmp_path / "sessions")
