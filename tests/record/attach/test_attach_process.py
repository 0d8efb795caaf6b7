"""Which pids can be attached to, and what is said of those that cannot."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mgtop.record.attach.process import CannotAttach, find, is_mgtop, look
from mgtop.record.tree import proc_number
from tests.record.attach.programs import IDLE, program, python, until


def test_a_process_is_known_by_pid_and_start_time() -> None:
    with program(*python(IDLE)) as running:
        process = find(running.pid)
        assert process.proc == proc_number(running.pid)
    assert process.inner_pid == running.pid
    assert process.inner_proc == process.proc
    assert process.inner_uid == os.geteuid()
    assert not process.is_contained
    assert process.command == tuple(python(IDLE))


def test_no_such_process() -> None:
    with pytest.raises(CannotAttach, match="There is no process 4194303 here"):
        find(4194303)
    assert look(4194303) is None


def test_a_zombie_has_ended_already() -> None:
    code = "import os, time\nif os.fork() == 0: os._exit(0)\ntime.sleep(60)"
    with program(*python(code)) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        zombie = int(until(lambda: children.read_text().split())[0])
        until(lambda: look(zombie) is None)
        with pytest.raises(CannotAttach, match=rf"waits for its parent {parent.pid}"):
            find(zombie)


def test_a_thread_names_its_process() -> None:
    tids: list[int] = []
    over = threading.Event()

    def run() -> None:
        tids.append(threading.get_native_id())
        over.wait(10)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: tids)
    with pytest.raises(CannotAttach, match=rf"is a thread of process {os.getpid()}; attach to"):
        find(tids[0])
    over.set()
    thread.join()


@pytest.mark.skipif(not os.path.exists("/proc/2/stat"), reason="no kernel threads in this view")
def test_a_kernel_thread_is_no_program() -> None:
    with pytest.raises(CannotAttach, match="thread of the kernel"):
        find(2)


def test_mgtop_itself_is_refused() -> None:
    with program(*python("import time; time.sleep(60)")) as other:
        assert find(other.pid)
    for command in (
        ("/usr/bin/python3", "-m", "mgtop", "run"),
        ("python", "-m", "mgtop.record", "/tmp/x"),
        ("/venv/bin/python3", "/venv/bin/mgtop", "view"),
        ("mgtop", "serve"),
    ):
        assert is_mgtop(command), command
    for command in (
        ("python", "-m", "mgtop.demo"),
        ("python", "infer.py", "mgtop"),
        ("python", "mgtop_like.py"),
        (),
    ):
        assert not is_mgtop(command), command


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_users_process_says_whose_it_is() -> None:
    with program(*python(IDLE)) as running:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            text = "attached"
            try:
                os.setgid(65534)
                os.setuid(65534)
                find(running.pid)
            except CannotAttach as error:
                text = str(error)
            finally:
                os.write(writer, text.encode())
                os._exit(0)
        os.waitpid(child, 0)
        os.close(writer)
        said = os.read(reader, 4096).decode()
        os.close(reader)
    assert f"Process {running.pid}" in said
    assert "belongs to user root" in said
    assert "run mgtop as root" in said
