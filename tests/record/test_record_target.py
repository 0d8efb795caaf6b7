"""Starting, reaping and stopping programs."""

from __future__ import annotations

import os
import signal
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from mgtop.record import target as target_module
from mgtop.record.target import Target, TargetNotStarted
from mgtop.record.tree import is_running

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(0.05)
"""


def launch(tmp_path: Path, *command: str, cwd: str | None = None) -> Target:
    return Target(
        command,
        cwd or str(tmp_path),
        dict(os.environ),
        tmp_path / "stdout.log",
        os.open("/dev/null", 0),
    )


@pytest.fixture(autouse=True)
def nobody_else() -> None:
    """Orphans of other tests, which this process has adopted as a recorder does, are let go."""
    left = psutil.Process().children(recursive=True)
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, timeout=5)


def until_ended(target: Target, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while True:
        target.reap()
        if target.pursue(time.monotonic_ns()) if target.stopping else target.exited:
            return
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for(path: Path, text: str) -> None:
    deadline = time.monotonic() + 10
    while not path.exists() or text not in path.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_output_of_both_streams_goes_to_a_private_file(tmp_path: Path) -> None:
    code = "import sys; print('out', flush=True); print('err', file=sys.stderr); sys.exit(3)"
    target = launch(tmp_path, sys.executable, "-c", code)
    until_ended(target)
    assert target.exited == (3, None)
    log = tmp_path / "stdout.log"
    assert log.read_text() == "out\nerr\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_it_leads_a_session_of_its_own_and_gets_no_terminal_signals(tmp_path: Path) -> None:
    target = launch(tmp_path, "sleep", "30")
    assert os.getsid(target.pid) == target.pid
    assert os.getpgid(target.pid) == target.pid
    target.stop()
    until_ended(target)
    assert target.exited == (None, signal.SIGTERM)


def test_a_target_that_ignores_term_is_killed_with_its_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_module, "STOP_PATIENCE_NS", 300_000_000)
    script = tmp_path / "stubborn.py"
    script.write_text(STUBBORN)
    # The second one leaves the group, as a daemon does.
    target = launch(
        tmp_path,
        "sh",
        "-c",
        f'setsid "{sys.executable}" {script} & exec "{sys.executable}" {script}',
    )
    wait_for(tmp_path / "stdout.log", "ready\nready\n")
    members = target.pids()
    assert len(members) == 2
    target.stop()
    began = time.monotonic()
    until_ended(target)
    assert 0.25 < time.monotonic() - began < 5
    assert target.exited == (None, signal.SIGKILL)
    assert not any(map(is_running, members))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-command-at-all"], "'no-such-command-at-all' was not found on PATH"),
        (["./missing.py"], "'./missing.py' does not exist"),
        (["./plain.txt"], "not executable"),
        (["./broken"], "interpreter in its first line"),
        (["./noformat"], "Exec format error"),
        (["a\0b"], "cannot be run"),
    ],
)
def test_what_cannot_be_started_is_explained(
    tmp_path: Path, command: list[str], words: str
) -> None:
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "broken").write_text("#!/no/such/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    (tmp_path / "noformat").write_bytes(b"\x7fELFnot")
    (tmp_path / "noformat").chmod(0o755)
    with pytest.raises(TargetNotStarted, match=words):
        launch(tmp_path, *command)


def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(TargetNotStarted, match="working directory '/no/where' does not exist"):
        launch(tmp_path, "true", cwd="/no/where")


def test_python_where_there_is_python3_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TargetNotStarted, match="'python' was not found on PATH; python3 is there"):
        launch(tmp_path, "python", "infer.py")


def test_a_program_that_signals_stop_and_let_go_on(tmp_path: Path) -> None:
    target = launch(tmp_path, sys.executable, "-c", STUBBORN)
    wait_for(tmp_path / "stdout.log", "ready")
    target.reap()
    assert target.stops.take() == []
    began_ns = time.monotonic_ns()
    os.kill(target.pid, signal.SIGSTOP)
    _until_seen(target)
    os.kill(target.pid, signal.SIGCONT)
    _until_seen(target, 2)
    first, second = target.stops.take()
    assert (first.proc, first.stopped) == (target.proc, True)
    assert (second.proc, second.stopped) == (target.proc, False)
    assert began_ns <= first.t_ns <= second.t_ns
    assert target.exited is None
    os.killpg(target.pid, signal.SIGKILL)
    until_ended(target)
    assert target.exited == (None, signal.SIGKILL)
    assert target.stops.take() == []


def _until_seen(target: Target, changes: int = 1) -> None:
    deadline = time.monotonic() + 5
    while len(target.stops._changes) < changes:
        target.reap()
        assert time.monotonic() < deadline
        time.sleep(0.005)
