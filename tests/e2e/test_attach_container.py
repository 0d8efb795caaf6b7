"""Processes in pid and mount namespaces of their own, as containers have: seen from outside,
from a sidecar, and with mgtop as the first process inside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mgtop.record.attach.process import find, look
from mgtop.record.tree import children
from mgtop.session.reader import LogReader
from mgtop.wire.records import AnyRecord, FrameEmit, HostThread, TargetExit, TargetStart
from tests.e2e.attaching import Mgtop, last_line
from tests.record.attach.programs import FRAMES, ROOT, until
from tests.record.inject.targets import EVERY, PYTHONS

NAMESPACES = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]


def _can_make_namespaces() -> bool:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    return subprocess.run([*NAMESPACES, "true"], capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        not _can_make_namespaces(), reason="needs root that may make namespaces (unshare)"
    ),
]


@pytest.fixture
def mgtop(tmp_path: Path) -> Iterator[Mgtop]:
    command = Mgtop(tmp_path)
    yield command
    command.close()


def own_tmp() -> str:
    """Mounts an empty /tmp; a checkout that lies in the old one is put back into its place."""
    if not ROOT.is_relative_to("/tmp"):
        return "mount -t tmpfs none /tmp"
    return (
        f"mount --bind '{ROOT}' /mnt && mount -t tmpfs none /tmp"
        f" && mkdir -p '{ROOT}' && mount --bind /mnt '{ROOT}'"
    )


@contextmanager
def contained(shell: str, **env: str) -> Iterator[int]:
    """A program that is process 1 of a container with a /tmp of its own; its pid out here."""
    environment = {name: value for name, value in os.environ.items() if "MGTOP" not in name}
    outer = subprocess.Popen(
        [*NAMESPACES, "sh", "-c", f"{own_tmp()} && {shell}"],
        env={**environment, "PYTHONPATH": str(ROOT), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        inner = until(lambda: children(outer.pid))[0]
        yield inner
    finally:
        outer.kill()
        outer.wait()


def records_of(folder: Path) -> list[AnyRecord]:
    reader = LogReader(folder)
    records: list[AnyRecord] = []
    while more := reader.poll():
        records += more
    return records


def python(code: str, *arguments: object, exe: str = sys.executable) -> str:
    words = [exe, "-c", code, *map(str, arguments)]
    return "exec " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def test_a_process_in_a_container_is_seen_from_outside(mgtop: Mgtop) -> None:
    with contained(python(FRAMES, 0.01)) as pid:
        until(lambda: Path(f"/proc/{pid}/root/tmp/mgtop-0/1.fifo").exists())
        process = find(pid)
        assert (process.inner_pid, process.is_contained) == (1, True)
        ours = Path("/tmp/mgtop-0/1.fifo")  # left there by whoever was killed, if at all
        assert not ours.exists() or not ours.samefile(f"/proc/{pid}/root{ours}")
        done = mgtop.run("attach", pid, "--headless", "--seconds", 1.5)
        assert done.returncode == 0, done.stderr
        assert look(pid) is not None
    folder = last_line(done.stdout)
    assert mgtop.report(folder)["target"]["route"] == "probe"
    records = records_of(folder)
    (started,) = [record for record in records if isinstance(record, TargetStart)]
    frames = [record for record in records if isinstance(record, FrameEmit)]
    assert len(frames) > 50
    # Events say the pids of here, so that they meet what is measured here.
    assert {frame.proc for frame in frames} == {started.proc} == {process.proc}
    assert {frame.tid for frame in frames} == {pid}
    threads = {(thread.pid, thread.tid) for thread in records if isinstance(thread, HostThread)}
    assert threads <= {(pid, pid)}


def test_the_runtime_folder_of_its_own_environment(mgtop: Mgtop) -> None:
    shell = "mkdir -m 700 /tmp/run && " + python(FRAMES, 0.01)
    with contained(shell, MGTOP_RUNTIME="/tmp/run") as pid:
        done = mgtop.run("attach", pid, "--headless", "--seconds", 1.5)
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "probe"


def test_a_log_inside_the_container(mgtop: Mgtop) -> None:
    code = (
        "import time; n = 0\nwhile True: n += 1; time.sleep(0.02); "
        "print(f'[req a] T+{20 * n} frame_emit idx={n}', flush=True)"
    )
    with contained(python(code).replace("exec ", "exec > /tmp/app.log; exec ")) as pid:
        until(lambda: Path(f"/proc/{pid}/root/tmp/app.log").exists())
        time.sleep(0.5)
        done = mgtop.run("attach", pid, "--headless", "--seconds", 1)
    assert "through its text log /tmp/app.log" in done.stderr
    assert mgtop.report(last_line(done.stdout))["target"]["route"] == "log"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="Python before 3.14: x86-64 only")
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="no Python outside of /work")
@pytest.mark.parametrize("exe", ["/usr/bin/python3", *EVERY[len(PYTHONS) :]])
def test_a_container_without_our_files_gets_a_copy_of_the_probe(exe: str, mgtop: Mgtop) -> None:
    code = (
        "import sys, time\n"
        "while True:\n"
        "    probe = sys.modules.get('mgtop.probe')\n"
        "    probe and probe.frame()\n"
        "    time.sleep(0.01)"
    )
    hide = f"mount -t tmpfs none {ROOT.parent} && "
    with contained(hide + python(code, exe=exe), PYTHONPATH="") as pid:
        until(lambda: "python" in find(pid).name)
        assert not Path(f"/proc/{pid}/root{ROOT}/mgtop").exists()
        done = mgtop.run("attach", pid, "--inject", "--headless", "--seconds", 1)
        assert done.returncode == 0, done.stderr
        copies = [path.name for path in Path(f"/proc/{pid}/root/tmp/mgtop-0").iterdir()]
    assert "the probe is in process" in done.stderr
    assert sorted(copies) == ["1.fifo", *[name for name in sorted(copies) if "code-" in name]]
    assert len(copies) == 2
    report = mgtop.report(last_line(done.stdout))
    assert report["target"]["route"] == "probe"
    assert report["requests"][0]["frames"] > 20


def test_mgtop_as_a_sidecar_with_a_shared_runtime_folder(mgtop: Mgtop) -> None:
    """In the same pid namespace (Kubernetes: shareProcessNamespace), other files of its own."""
    mgtop.runtime.mkdir(mode=0o700)
    state = mgtop.folder / "state"
    inside = (
        f"{python(FRAMES, 0.01).replace('exec ', '')} & "
        f"unshare --mount sh -c 'mount -t tmpfs none /mnt && "
        f"{sys.executable} -m mgtop attach $(pgrep -f number.+=.1 | head -1) "
        "--headless --seconds 1.5'"
    )
    done = subprocess.run(
        [*NAMESPACES, "sh", "-c", inside],
        env={**mgtop.env, "XDG_STATE_HOME": str(state)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "through the probe in it" in done.stderr
    assert mgtop.report(last_line(done.stdout))["target"]["route"] == "probe"


def run_as_first_process(mgtop: Mgtop, code: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "mgtop", "run", "--headless", *options, "--", sys.executable]
    return subprocess.Popen(
        [*NAMESPACES, *command, "-c", code],
        env=mgtop.env,
        cwd=mgtop.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


ORPHANS = """
import os, subprocess, sys, time
from mgtop import probe
print("hello from inside", os.getpid(), flush=True)
for _ in range(5):  # children whose parent goes: they come to mgtop
    subprocess.run(["sh", "-c", "sleep 0.05 & exit 0"])
for _ in range(50):
    time.sleep(0.02)
    probe.frame()
states = []
for name in os.listdir("/proc"):
    if name.isdigit():
        stat = open(f"/proc/{name}/stat").read()
        states.append(stat.rpartition(")")[2].split()[0])
print("zombies", states.count("Z"), flush=True)
sys.exit(3)
"""


def test_mgtop_as_the_entrypoint_of_a_container(mgtop: Mgtop) -> None:
    process = run_as_first_process(mgtop, ORPHANS, "--out", "session")
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 3, stderr
    assert "hello from inside" in stderr  # it stands in the container's own log
    assert "zombies 0" in stderr
    assert last_line(stdout) == mgtop.folder / "session"
    records = records_of(mgtop.folder / "session")
    assert len([record for record in records if isinstance(record, FrameEmit)]) == 50
    (ended,) = [record for record in records if isinstance(record, TargetExit)]
    assert ended.code == 3
    assert "hello from inside" in (mgtop.folder / "session" / "stdout.log").read_text()


def test_stopping_the_container_stops_the_program_first(mgtop: Mgtop) -> None:
    code = (
        "import signal, sys, time\n"
        "def leave(*_): print('cleaning up', flush=True); time.sleep(0.3); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\nprint('up', flush=True)\n"
        "while True: time.sleep(0.05)"
    )
    process = run_as_first_process(mgtop, code, "--out", "session")
    assert process.stderr is not None
    assert process.stderr.readline() == "up\n"  # in the container's own log
    first = children(process.pid)[0]  # docker stop signals process 1
    os.kill(first, signal.SIGTERM)
    _, stderr = process.communicate(timeout=30)
    assert "cleaning up" in stderr
    assert process.returncode == 0
    records = records_of(mgtop.folder / "session")
    (ended,) = [record for record in records if isinstance(record, TargetExit)]
    assert ended.code == 0
