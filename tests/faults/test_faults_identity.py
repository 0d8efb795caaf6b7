"""Pids that are given out again, clocks that are stepped, a machine that slept."""

from __future__ import annotations

import json
import os
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mgtop.cli.main import run
from mgtop.record.launch import Recording
from mgtop.session.lock import LOCK_NAME, SessionLock, this_machine
from mgtop.session.writer import LogWriter
from mgtop.wire.records import FrameEmit, SessionStart
from tests.faults.programs_at_fault import Program
from tests.record.recording import ROOT, losses, of, read, record, until

pytestmark = pytest.mark.e2e

NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
ONE_PID_TWICE = """
import os, sys, time
from mgtop import probe
def emit(name, pid):
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(pid - 1))
    child = os.fork()
    if child == 0:
        with probe.request(name, fps=100) as request:
            for _ in range(20):
                request.frame()
        sys.exit(0)
    assert child == pid, (child, pid)
    os.waitpid(child, 0)
emit("first", 4000)
time.sleep(0.05)  # a start time counts hundredths of a second
emit("second", 4000)
"""
OTHER_PROGRAM = """
import json, os, signal, subprocess, sys, time
from pathlib import Path
from mgtop.record.launch import start
from mgtop.record.plan import Plan
from mgtop.session.lock import read_owner
folder = Path(sys.argv[1])
recording = start(Plan(name="x", command=["sleep", "60"], cwd="/", env={}), out=folder)
pid = recording.target_pid
recording.recorder.kill()
recording.recorder.wait()
os.kill(pid, signal.SIGKILL)
while os.path.exists(f"/proc/{pid}"):  # this process is the namespace's init: it reaps it
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
    time.sleep(0.01)
Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
other = subprocess.Popen(["sleep", "60"])
stop = [sys.executable, "-m", "mgtop", "stop", str(folder), "--target"]
done = subprocess.run(stop, capture_output=True, text=True)
print(json.dumps([pid, other.pid, other.poll(), done.returncode, done.stdout + done.stderr]))
other.kill()
"""


@pytest.fixture
def namespace(tmp_path: Path) -> list[str]:
    """A command before others that gives them pids of their own to hand out."""
    last = "/proc/sys/kernel/ns_last_pid"
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", f"echo 100 > {last}"], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("this system allows no pid namespaces, or not to choose pids in them")
    return NAMESPACE


def test_two_programs_of_one_pid_are_told_apart(
    tmp_path: Path, started: list[Recording], namespace: list[str]
) -> None:
    recording = record(tmp_path, [*namespace, sys.executable, "-c", ONE_PID_TWICE])
    started.append(recording)
    outcome = recording.wait(30)
    assert outcome.target_code == 0, (recording.folder / "stdout.log").read_text()
    records = read(recording.folder)
    frames = of(FrameEmit, records)
    assert len(frames) == 40
    assert len({frame.proc for frame in frames}) == 2
    assert losses(records) == (0, 0)


def test_a_program_that_got_the_pid_of_a_dead_target_is_left_alone(
    tmp_path: Path, namespace: list[str]
) -> None:
    done = subprocess.run(
        [*namespace, sys.executable, "-c", OTHER_PROGRAM, str(tmp_path / "session")],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pid, other, ended, code, said = json.loads(done.stdout.splitlines()[-1])
    assert other == pid
    assert ended is None, said
    assert code == 0
    assert "Traceback" not in said


SHIFTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
static const long long *shift;
int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) {
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
        int fd = open(getenv("SHIFT_FILE"), O_RDONLY | O_CLOEXEC);
        shift = (const long long *)mmap(0, 16, PROT_READ, MAP_SHARED, fd, 0);
    }
    int answer = real(clock, at);
    if (clock == CLOCK_REALTIME) at->tv_sec += shift[0];
    if (clock == CLOCK_BOOTTIME) at->tv_sec += shift[1];
    return answer;
}
"""


class Clocks:
    """Seconds added to CLOCK_REALTIME and CLOCK_BOOTTIME of programs, changed while they run.

    CLOCK_MONOTONIC stays true: it is never stepped, and stands still while a machine sleeps.
    """

    def __init__(self, folder: Path) -> None:
        source, self._library = folder / "shifted.c", folder / "shifted.so"
        self._file = folder / "shift"
        source.write_text(SHIFTED)
        self.step(0, 0)
        compiler = next((c for c in ("cc", "gcc", "g++") if shutil.which(c)), None)
        if compiler is None:
            pytest.skip("no C compiler here")
        command = [compiler, "-shared", "-fPIC", "-o", str(self._library), str(source), "-ldl"]
        subprocess.run(command, check=True, capture_output=True)

    def step(self, wall_s: int, boot_s: int) -> None:
        fd = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600)
        os.pwrite(fd, struct.pack("qq", wall_s, boot_s), 0)
        os.close(fd)

    def seen(self) -> tuple[float, float]:
        """By how much a running program sees wall time ahead after a step, and monotonic time."""
        code = (
            "import time\nclocks = time.time, time.monotonic\n"
            "print(*[c() for c in clocks], flush=True)\ninput()\nprint(*[c() for c in clocks])"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code], env={**os.environ, **self.environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        before = [float(word) for word in process.stdout.readline().split()]
        self.step(3600, 0)
        after, _ = process.communicate("\n")
        self.step(0, 0)
        wall, monotonic = (float(b) - a for a, b in zip(before, after.split(), strict=True))
        return wall, monotonic

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "SHIFT_FILE": str(self._file)}


@pytest.mark.parametrize("suspend", [False, True], ids=["on and back", "suspend"])
def test_stepped_clocks_are_in_no_interval(
    tmp_path: Path,
    started: list[Recording],
    monkeypatch: pytest.MonkeyPatch,
    suspend: bool,
) -> None:
    """Both, recorder and program, see the steps; at a suspend they stand still meanwhile."""
    clocks = Clocks(tmp_path)
    wall, monotonic = clocks.seen()
    assert 3600 <= wall - monotonic <= 3601  # the step reaches a program that runs
    for name, value in clocks.environment.items():
        monkeypatch.setenv(name, value)
    program = Program(tmp_path, 30, 100, "wait", shell=False)
    recording = record(tmp_path, program.command)
    started.append(recording)
    until(lambda: len(of(FrameEmit, read(recording.folder))) >= 30, 20)
    asleep = [recording.target_pid, recording.recorder.pid] if suspend else []
    for wall_s, boot_s in [(3600, 3600)] if suspend else [(3600, 0), (-3600, 0)]:
        for pid in asleep:
            os.kill(pid, signal.SIGSTOP)
        clocks.step(wall_s, boot_s)
        for pid in reversed(asleep):
            os.kill(pid, signal.SIGCONT)
        seen = len(of(FrameEmit, read(recording.folder)))
        until(lambda: len(of(FrameEmit, read(recording.folder))) >= seen + 20, 20)  # noqa: B023
    program.let_go()
    outcome = recording.wait(20)
    assert (outcome.exit_code, outcome.target_code) == (0, 7)
    records = read(recording.folder)
    assert len(of(FrameEmit, records)) == program.returned()
    assert losses(records) == (0, 0)
    report = reported(recording.folder)
    assert report["session"]["duration_ms"] < 1_800_000
    assert report["interval_ms"]["max"] < 1_800_000
    assert report["interval_ms"]["count"] > 40


def reported(folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "report", str(folder), "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_pids_of_another_machine_are_nobodys_here(
    tmp_path: Path, started: list[Recording], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two hosts share the folder of sessions: the numbers of the one mean others on the other."""
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        folder = tmp_path / "session"
        folder.mkdir()
        LogWriter(folder).append([SessionStart(1, 1, 1, "0", "x")])
        with SessionLock(folder) as lock:
            lock.update(target_pid=bystander.pid)
            path = folder / LOCK_NAME
            text = path.read_text()
            path.write_text(text.replace(this_machine(), "another boot pid:[1]"))
            assert run(["stop", str(folder), "--target"]) == 2
            assert "on another machine" in capsys.readouterr().err
        assert run(["stop", str(folder), "--target"]) == 0  # its lock is not seen from here
        assert bystander.poll() is None
        path.write_text(text)
        assert run(["stop", str(folder), "--target"]) == 0
        assert bystander.wait(15) == -signal.SIGTERM
    finally:
        bystander.kill()
