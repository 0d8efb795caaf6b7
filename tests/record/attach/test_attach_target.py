"""The attached process and its descendants: found, followed to their end, stopped if asked."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from mgtop.record.attach import target as target_module
from mgtop.record.attach.process import CannotAttach, find
from mgtop.record.attach.target import AttachedTarget
from mgtop.record.tree import is_running
from tests.record.attach.programs import IDLE, program, python, until

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c",
    "import subprocess, sys, time\\n"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\\n"
    "time.sleep(float(sys.argv[1]))", sys.argv[1]])
child.wait()
time.sleep(60)
"""


def attach(pid: int, *apart: int) -> AttachedTarget:
    return AttachedTarget(pid, find(pid).proc, apart)


def killed(pids: list[int]) -> None:
    for pid in pids:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def quick_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "LIST_PERIOD_NS", 0)


def test_descendants_belong_to_it_and_orphans_stay() -> None:
    with program(*python(PARENT, 1.0)) as running:
        target = attach(running.pid)
        pids = until(lambda: target.pids() if len(target.pids()) == 3 else None)
        assert pids[0] == running.pid
        until(lambda: not is_running(pids[1]))  # the grandchild has lost its parent
        assert target.pids() == [pids[0], pids[2]]
        killed(pids)
        target.close()


def test_mgtops_own_processes_do_not_belong_to_it() -> None:
    with program(*python(PARENT, 60)) as running:
        target = attach(running.pid)
        pids = until(lambda: target.pids() if len(target.pids()) == 3 else None)
        apart = attach(running.pid, pids[1])
        assert apart.pids() == [running.pid]
        killed(pids)
        target.close()
        apart.close()


def test_its_end_is_seen_but_not_its_code() -> None:
    with program(*python("import sys, time; time.sleep(0.3); sys.exit(7)")) as running:
        target = attach(running.pid)
        target.reap()
        assert target.exited is None
        until(lambda: target.reap() or target.exited)  # a zombie: its parent has not collected it
        assert target.exited == (None, None)
        target.close()
        assert running.wait() == 7  # the code is still there for its parent


def test_a_pid_that_was_given_away_is_noticed() -> None:
    with program(*python(IDLE)) as running:
        other = find(running.pid).proc + (1 << 22)
        with pytest.raises(CannotAttach, match="its pid may mean another one"):
            AttachedTarget(running.pid, other)


def test_without_pid_handles_the_end_is_seen_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(38, "not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    with program(*python(IDLE)) as running:
        target = attach(running.pid)
        target.reap()
        assert target.exited is None
        running.kill()
        running.wait()
        target.reap()
        assert target.exited == (None, None)
        target.close()


def test_it_is_stopped_only_when_asked_with_its_descendants() -> None:
    with program(*python(PARENT, 60)) as running:
        target = attach(running.pid)
        pids = until(lambda: target.pids() if len(target.pids()) == 3 else None)
        assert not target.stopping
        assert not target.pursue(time.monotonic_ns())
        target.stop()
        assert target.stopping
        until(lambda: running.poll() is not None and target.pursue(time.monotonic_ns()))
        assert not any(map(is_running, pids))
        target.close()


def test_what_ignores_term_is_killed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)\n"
    with program(*python(code + IDLE), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        target = attach(running.pid)
        target.stop()
        now = time.monotonic_ns()
        assert not target.pursue(now + 5_000_000_000)
        assert running.poll() is None
        target.pursue(now + target_module.STOP_PATIENCE_NS + 1)
        assert running.wait(5) == -signal.SIGKILL
        running.stdout.close()
        target.close()
