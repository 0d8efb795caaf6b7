"""``mgtop prune`` drops what it was told, says so, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mgtop.cli.main import run
from mgtop.session.lock import SessionLock
from mgtop.session.log_files import finished, log_bytes
from mgtop.session.reader import read_all
from mgtop.session.rolling import RollingLog
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import FrameEmit, LogGap, SessionStart

S = 1_000_000_000
Prune = Callable[..., tuple[int, str]]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    root = tmp_path / "mgtop" / "sessions"
    for name in ("first", "second"):
        folder = root / name
        folder.mkdir(parents=True)
        log = RollingLog(folder, after_ns=60 * S, least_bytes=1)
        log.append([SessionStart(t_ns=5, wall_ns=1, schema=1, mgtop="0", name=name)])
        for n in range(600):
            log.append([FrameEmit(n * S, n, 77, 1, 1, n, n, 1, cpu_ns=n * 1000)])
        log.close()
    return root


@pytest.fixture
def prune(capsys: pytest.CaptureFixture[str]) -> Prune:
    def call(*words: str) -> tuple[int, str]:
        code = run(["prune", *words])
        return code, capsys.readouterr().out

    return call


def test_of_a_session(root: Path, prune: Prune) -> None:
    size, other = log_bytes(root / "first"), log_bytes(root / "second")
    half = str(size / 2**21)
    code, said = prune("first", "--size-mib", half, "--dry-run")
    assert (code, said[:22]) == (0, "first: would drop 6 of")
    assert log_bytes(root / "first") == size
    code, said = prune("first", "--size-mib", half)
    assert (code, said) == (0, "first: dropped 6 of the log's files, 0.0 MiB, 6 min 1 s\n")
    assert isinstance(next(read_all(root / "first")), LogGap)
    code, said = prune("first", "--size-mib", half)
    assert "nothing is to be dropped" in said
    assert log_bytes(root / "second") == other


def test_a_live_one_keeps_its_newest_file(root: Path, prune: Prune) -> None:
    with SessionLock(root / "first"):
        assert prune("first", "--age-hours", "0.000001")[0] == 0
    assert finished(root / "first") == [9]
    assert (root / "first" / LOG_NAME).stat().st_size > 100


def test_whole_sessions(root: Path, prune: Prune) -> None:
    with SessionLock(root / "first"):
        code, said = prune("--all", "--size-mib", "0.0001")
    assert (code, said.startswith("second: dropped all of it")) == (0, True)
    assert [path.name for path in root.iterdir()] == ["first"]
    assert prune("--all", "--age-hours", "1000")[1] == "Nothing is to be dropped.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["first"], "Say what may stay"),
        (["--size-mib", "1"], "Name sessions"),
        (["first", "--all", "--size-mib", "1"], "Name sessions"),
        (["first", "--size-mib", "0"], "size-mib"),
    ],
)
def test_what_is_not_said_clearly_is_not_done(
    root: Path, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = log_bytes(root / "first")
    assert run(["prune", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert log_bytes(root / "first") == before
