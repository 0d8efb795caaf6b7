"""Who records: the lock goes with its holder, whatever way that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from mgtop.session.lock import (
    LOCK_NAME,
    Owner,
    SessionBusy,
    SessionLock,
    is_live,
    proc_number,
    read_owner,
    this_machine,
)
from mgtop.session.stop import CannotStop, NotLive, request_stop
from mgtop.session.writer import SessionWriteError
from mgtop.wire.records import pid_of

HOLDING = """
import signal, sys, time
from pathlib import Path
sys.path.insert(0, {root!r})
from mgtop.session.lock import SessionLock
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda n, _: (print(signal.Signals(n).name, flush=True), sys.exit(0)))
with SessionLock(Path(sys.argv[1])) as lock:
    lock.update(target_pid=1)
    print("held", flush=True)
    time.sleep(60)
"""


@contextmanager
def holder(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock and says which signal it got."""
    code = HOLDING.format(root=str(Path(__file__).parents[2]))
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_a_folder_without_a_lock_is_not_live(tmp_path: Path) -> None:
    assert not is_live(tmp_path)
    assert not is_live(tmp_path / "nowhere")
    assert read_owner(tmp_path) is None


def test_live_while_held_and_not_after(tmp_path: Path) -> None:
    with SessionLock(tmp_path):
        assert is_live(tmp_path)
    assert not is_live(tmp_path)
    assert (tmp_path / LOCK_NAME).exists()


def test_looking_does_not_take_it(tmp_path: Path) -> None:
    with SessionLock(tmp_path):
        pass
    for _ in range(3):
        assert not is_live(tmp_path)
    with SessionLock(tmp_path):
        assert is_live(tmp_path)


def test_only_one_at_a_time(tmp_path: Path) -> None:
    with holder(tmp_path), pytest.raises(SessionBusy, match="is being recorded already"):
        SessionLock(tmp_path)
    with SessionLock(tmp_path):
        pass


def test_it_goes_with_a_killed_holder(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        assert is_live(tmp_path)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not is_live(tmp_path)
        assert read_owner(tmp_path) is not None  # what it said is still to be read


def test_it_says_who_holds_it(tmp_path: Path) -> None:
    with SessionLock(tmp_path) as lock:
        own = proc_number(os.getpid())
        assert own is not None
        assert pid_of(own) == os.getpid()
        owner = read_owner(tmp_path)
        assert owner is not None
        assert (owner.pid, owner.proc, owner.here) == (os.getpid(), own, True)
        assert (owner.machine, owner.host) == (this_machine(), os.uname().nodename)
        lock.update(target_pid=os.getppid())
        told = read_owner(tmp_path)
        assert told is not None
        assert (told.pid, told.proc, told.target_pid) == (os.getpid(), own, os.getppid())
        assert told.target_proc == proc_number(os.getppid())


def test_a_target_that_is_gone_already(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    with SessionLock(tmp_path) as lock:
        lock.update(target_pid=process.pid)
        owner = read_owner(tmp_path)
    assert owner is not None
    assert (owner.target_pid, owner.target_proc) == (process.pid, None)


def test_a_program_started_under_it_does_not_hold_it_too(tmp_path: Path) -> None:
    with SessionLock(tmp_path):
        process = subprocess.Popen(["sleep", "60"], close_fds=False)
    assert not is_live(tmp_path)
    process.kill()
    process.wait()


def test_what_an_earlier_holder_wrote_is_overwritten_whole(tmp_path: Path) -> None:
    (tmp_path / LOCK_NAME).write_text('{"pid": 1, "proc": 2}' + "x" * 300)
    with SessionLock(tmp_path):
        owner = read_owner(tmp_path)
    assert owner is not None
    assert owner.pid == os.getpid()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff" * 600])
def test_unreadable_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / LOCK_NAME).write_bytes(content)
    assert read_owner(tmp_path) is None
    assert not is_live(tmp_path)
    with pytest.raises(NotLive):
        request_stop(tmp_path, target=False)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SessionWriteError, match=r"recorder\.lock: No such file or directory"):
        SessionLock(tmp_path / "gone")


def test_no_process_no_number() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert proc_number(process.pid) is None


# -------------------------------------------------------------------------- stopping


@pytest.mark.parametrize(("target", "name"), [(False, "SIGTERM"), (True, "SIGUSR1")])
@pytest.mark.parametrize("with_pidfd", [True, False])
def test_the_recorder_is_asked_by_signal(
    tmp_path: Path, target: bool, name: str, with_pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_here(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    if not with_pidfd:
        monkeypatch.setattr(os, "pidfd_open", not_here)
    with holder(tmp_path) as process:
        request_stop(tmp_path, target)
        assert process.stdout is not None
        assert process.stdout.readline() == f"{name}\n"
        assert process.wait(10) == 0


def test_nobody_to_ask(tmp_path: Path) -> None:
    folder = tmp_path / "stormlight"
    folder.mkdir()
    with pytest.raises(NotLive) as caught:
        request_stop(folder, target=False)
    assert str(caught.value) == "stormlight is not being recorded (any more)"


def test_a_pid_that_another_program_has_now_is_left_alone(tmp_path: Path) -> None:
    """The lock is held, but its content names a process of an earlier start time."""
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        with SessionLock(tmp_path):
            wrong = Owner(pid=bystander.pid, proc=(proc_number(bystander.pid) or 0) - (1 << 22))
            (tmp_path / LOCK_NAME).write_bytes(msgspec.json.encode(wrong))
            with pytest.raises(CannotStop, match="cannot be seen from here"):
                request_stop(tmp_path, target=True)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_another_users_recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(signal, "pidfd_send_signal", refuse)
    with holder(tmp_path), pytest.raises(CannotStop, match="only that user can stop it"):
        request_stop(tmp_path, target=False)
