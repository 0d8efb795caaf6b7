"""The target's processes: real ones, and those that only the log knows."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from mgtop.analysis.model import Model
from mgtop.session.lock import proc_number
from mgtop.view.process_rows import ORDERS, detail_rows, environment_rows, heading_row, process_row
from mgtop.view.process_table import Process, ProcessTable, environment_lines, in_tree_order
from mgtop.view.signalling import CannotSignal, Receiver, send
from mgtop.wire import records as r

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "--token", "s3cret"])
print(child.pid, flush=True)
time.sleep(60)
"""


class Tree:
    """A program with a child."""

    def __init__(self) -> None:
        self.parent = subprocess.Popen(
            [sys.executable, "-c", PARENT],
            stdout=subprocess.PIPE,
            text=True,
            env={"HF_TOKEN": "hf_abcdefghijklmnop", "PLAIN": "yes"},
        )
        assert self.parent.stdout is not None
        self.child = int(self.parent.stdout.readline())

    def model(self) -> Model:
        pid = self.parent.pid
        proc = proc_number(pid)
        assert proc is not None
        model = Model()
        model.feed(r.TargetStart(1, pid, proc, ["python", "parent.py"]))
        return model


@pytest.fixture
def tree() -> Iterator[Tree]:
    tree = Tree()
    yield tree
    subprocess.run(["kill", str(tree.child)], check=False, stderr=subprocess.DEVNULL)
    tree.parent.kill()
    tree.parent.communicate()


def test_a_tree_of_real_processes(tree: Tree) -> None:
    now_s = 0.0
    table = ProcessTable(tree.model(), lambda: now_s)
    parent, child = table.processes()
    assert (parent.pid, child.pid) == (tree.parent.pid, tree.child)
    assert (parent.depth, child.depth) == (0, 1)
    assert child.parent == parent.pid
    assert parent.alive
    assert parent.cpu is None  # one reading tells no rate
    assert parent.threads == 1
    assert (parent.rss_mib or 0) > 1
    assert "s3cret" not in child.name
    assert "--token ***" in child.name
    now_s = 1.0
    assert table.processes()[0].cpu is not None
    assert environment_lines(parent.pid) == [("HF_TOKEN", "***"), ("PLAIN", "yes")]


def test_gpu_memory_and_frames_are_told_per_process(tree: Tree) -> None:
    model = tree.model()
    child = proc_number(tree.child)
    assert child is not None
    for emit in range(3):
        model.feed(r.FrameEmit(emit, emit, child, 1, 1, emit, emit, 1))
    model.feed(r.GpuProcess(5, 0, tree.child, 3 << 30, "target", "pid"))
    model.feed(r.GpuProcess(5, 1, tree.child, None, "target", "pid"))
    _, one = ProcessTable(model).processes()
    assert one.emits
    assert one.gpu_mib == {0: 3072.0, 1: None}
    assert one.gpu_total_mib == 3072.0


def test_memory_under_a_number_of_another_namespace_is_inferred(tree: Tree) -> None:
    model = tree.model()
    child = proc_number(tree.child)
    assert child is not None
    model.feed(r.GpuProcess(5, 0, 999_997, 1 << 30, "target", "sole_tenant"))
    parent, one = ProcessTable(model).processes()
    assert not parent.gpu_mib  # it could be of either
    assert not one.gpu_mib
    model.feed(r.FrameEmit(6, 1, child, 1, 1, 0, 0, 1))
    parent, one = ProcessTable(model).processes()
    assert not parent.gpu_mib
    assert one.gpu_mib == {0: 1024.0}
    assert one.gpu_inferred
    memory_row = detail_rows(one, 90)[-1]  # after the command, whose rows its length decides
    assert "(inferred: the driver knows it by another pid)" in memory_row[2].text


def test_a_recorded_session_shows_what_the_log_knew() -> None:
    model = Model()
    model.feed(r.TargetStart(1, 999_999, r.proc_of(999_999, 5), ["python", "a.py", "--key", "x"]))
    model.feed(r.HostThread(2, 999_998, 1, "worker", 5))
    model.feed(r.GpuProcess(5, 0, 999_998, 1 << 30, "target", "pid"))
    target, worker = ProcessTable(model).processes()
    assert not target.alive
    assert target.name == "python a.py --key ***"
    assert target.rss_mib is None
    assert worker.threads == 1
    assert worker.gpu_total_mib == 1024.0
    row = "".join(run.text for run in process_row(worker, False, True, 80))
    assert "n/a" in row
    assert len(row) == 80


def test_parents_come_before_their_children() -> None:
    def one(pid: int, parent: int) -> Process:
        return Process(pid=pid, proc=None, parent=parent, depth=0, name="")

    mixed = [one(4, 2), one(1, 0), one(3, 1), one(2, 1)]
    assert [p.pid for p in in_tree_order(mixed)] == [1, 3, 2, 4]
    assert "".join(run.text for run in heading_row("CPU", 100)).rstrip().endswith("(by CPU)")
    busy = [one(1, 0), one(2, 0)]
    assert all(sorted(busy, key=key) for _, key in ORDERS)
    shown = environment_rows([], 7, 0, 5, 60)
    assert "cannot be read" in shown[0][0].text


# -------------------------------------------------------------------------------- signals


def test_a_signal_reaches_the_process_that_was_meant(tree: Tree) -> None:
    proc = proc_number(tree.child)
    assert proc is not None
    with pytest.raises(CannotSignal, match="another one has its number now"):
        send(Receiver(tree.child, proc + (1 << 22), "x"), signal.SIGTERM)
    assert proc_number(tree.child) == proc
    send(Receiver(tree.parent.pid, proc_number(tree.parent.pid) or 0, "x"), signal.SIGKILL)
    assert tree.parent.wait(10) == -signal.SIGKILL
    send(Receiver(tree.child, proc, "x"), signal.SIGTERM)
    deadline = time.monotonic() + 10
    while proc_number(tree.child) == proc and time.monotonic() < deadline:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(tree.child)], capture_output=True, text=True
        ).stdout
        if not state.strip() or state.startswith("Z"):
            break
        time.sleep(0.02)
    else:
        assert proc_number(tree.child) != proc


def test_a_process_that_is_gone(tree: Tree) -> None:
    proc = proc_number(tree.parent.pid)
    assert proc is not None
    tree.parent.kill()
    tree.parent.wait()
    with pytest.raises(CannotSignal, match="is gone"):
        send(Receiver(tree.parent.pid, proc, "x"), signal.SIGTERM)
