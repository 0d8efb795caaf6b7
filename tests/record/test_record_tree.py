"""Processes and their descendants, and what they use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record import tree
from mgtop.record.host.processes import ProcessTree
from mgtop.record.host.quota import quota_cores
from mgtop.record.host.system import system_cpu, system_memory
from mgtop.wire.records import pid_of

BURN = "import time\nend = time.process_time() + {}\nwhile time.process_time() < end: pass\n"
CHILD = "import os\nprint(os.getpid(), flush=True)\ninput()\n"
"""It says itself that it is there: for a moment a new process has no environment to be read."""
FAMILY = (
    "import subprocess, sys\n"
    f"p = subprocess.Popen([sys.executable, '-c', {CHILD!r}], stdin=subprocess.PIPE)\n"
    "input()\n"
    "p.communicate(b'\\n')\n"
)


@pytest.fixture
def family() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with a child of its own; both end when the first gets a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", FAMILY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    process.communicate("\n")


def test_descendants_and_identity(family: tuple[subprocess.Popen[str], int]) -> None:
    process, child = family
    assert tree.children(process.pid) == [child]
    assert tree.descendants([process.pid]) == [process.pid, child]
    assert {process.pid, child} <= set(tree.descendants([os.getpid()]))
    number = tree.proc_number(child)
    assert number is not None
    assert pid_of(number) == child
    assert tree.is_running(child, number)
    assert not tree.is_running(child, number + (1 << 22))  # the same pid, started later
    assert tree.environment_of(child)["PATH"] == os.environ["PATH"]


def test_without_children_files_parents_are_asked(
    family: tuple[subprocess.Popen[str], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    process, child = family
    monkeypatch.setattr(tree, "HAS_CHILDREN_FILES", False)
    assert tree.children(process.pid) == [child]
    assert tree.descendants([process.pid]) == [process.pid, child]


def test_a_process_that_ended_is_not_running() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    number = tree.proc_number(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not tree.is_running(process.pid, number)  # a zombie
    process.wait()
    assert tree.proc_number(process.pid) is None
    assert tree.environment_of(process.pid) == {}
    assert tree.children(process.pid) == []


def test_cpu_of_members_that_ended_stays_counted() -> None:
    process = subprocess.Popen([sys.executable, "-c", BURN.format(0.3) + "input()"],
                               stdin=subprocess.PIPE)  # fmt: skip
    members = ProcessTree(lambda: [process.pid])
    deadline = time.monotonic() + 20
    while (members.cpu_ns(time.monotonic_ns()) or 0) < 300_000_000:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    memory = members.memory()
    assert memory is not None
    assert memory.threads >= 1
    assert 1 << 20 < memory.rss_bytes < 1 << 30
    before = members.cpu_ns(time.monotonic_ns())
    process.communicate(b"\n")
    assert before is not None
    after = members.cpu_ns(time.monotonic_ns())
    assert after is not None
    assert after >= before
    assert members.members == []
    assert members.memory() is None


def test_before_there_is_a_member_nothing_is_known() -> None:
    assert ProcessTree(list).cpu_ns(1) is None


def test_system_figures_grow_and_add_up() -> None:
    first = system_cpu()
    time.sleep(0.1)
    second = system_cpu()
    grown = second.busy_ns + second.idle_ns - first.busy_ns - first.idle_ns
    assert 0 < grown < 10 * 10**9 * (os.cpu_count() or 1)
    memory = system_memory()
    assert 0 < memory.available_bytes <= memory.total_bytes


def _group(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def test_the_tightest_quota_on_the_way_up_counts(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    _group(proc / "7", cgroup="0::/a/b")
    root = tmp_path / "v2"
    _group(root / "a" / "b", cpu__max="max 100000")
    (root / "a" / "cpu.max").write_text("150000 100000\n")
    assert quota_cores(7, root, proc) == 1.5


def test_quota_of_version_1_and_none(tmp_path: Path) -> None:
    proc = tmp_path / "proc"
    _group(proc / "7", cgroup="4:memory:/x\n3:cpu,cpuacct:/job\n0::/")
    root = tmp_path / "v1"
    _group(root / "cpu,cpuacct" / "job", cpu__cfs_quota_us="50000", cpu__cfs_period_us="100000")
    assert quota_cores(7, root, proc) == 0.5
    (root / "cpu,cpuacct" / "job" / "cpu.cfs_quota_us").write_text("-1\n")
    assert quota_cores(7, root, proc) is None
    assert quota_cores(8, root, proc) is None
