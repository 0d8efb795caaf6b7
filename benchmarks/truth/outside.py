"""Faults that come from outside the program: its cores, its quota, signals, its reader, memory.

Each strikes at random known times while the generator runs, and writes down when.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from benchmarks.truth.truth import Strike, TruthFile

_HOG = "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass"
HOGS = 4
"""Busy processes beside the generator on its core: it gets a fifth of it."""

QUOTA_US, PERIOD_US = 20_000, 100_000
"""A fifth of a core, in periods of 100 ms."""

V1, V2 = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
MEMORY_V1 = Path("/sys/fs/cgroup/memory")
MEMORY_TAKEN = 64 << 20
"""While it strikes, the program's memory limit is by so much below what it uses."""

Act = Callable[[float], None]
"""Strike for so many seconds."""


class NotHere(Exception):
    """This machine cannot have that fault; the text says why."""


def strike_at_random(
    fault: str, act: Act, truth: TruthFile, *, seconds: float, interval_ms: float, seed: int
) -> None:
    """Strike again and again for ``seconds``, with rests between; block until then."""
    draw = random.Random(f"{seed} {fault}")
    end = time.monotonic() + seconds
    time.sleep(20 * interval_ms / 1e3)
    while time.monotonic() < end - 1.0:
        time.sleep(interval_ms / 1e3 * draw.uniform(8, 20))
        # Log-uniform, as inside the program; but long enough to be felt through a time slice.
        size = 3.0 * (20.0 / 3.0) ** draw.random()
        began_ns = time.monotonic_ns()
        act(size * interval_ms / 1e3)
        truth.strike(Strike(fault, None, None, began_ns, time.monotonic_ns()))


@contextmanager
def hogs(core: int, nice: int) -> Iterator[Act]:
    """Busy processes on one core, stopped but while they strike."""
    # Each in a session of its own: the kernel shares a core out among sessions.
    started = [
        subprocess.Popen([sys.executable, "-c", _HOG], start_new_session=True) for _ in range(HOGS)
    ]

    def act(seconds: float) -> None:
        for hog in started:
            hog.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        for hog in started:
            hog.send_signal(signal.SIGSTOP)

    try:
        for hog in started:
            os.waitid(os.P_PID, hog.pid, os.WSTOPPED)
            os.sched_setaffinity(hog.pid, {core})
            with contextlib.suppress(PermissionError):
                os.setpriority(os.PRIO_PROCESS, hog.pid, nice)
            with contextlib.suppress(OSError):
                Path(f"/proc/{hog.pid}/autogroup").write_text(str(nice))
        yield act
    finally:
        for hog in started:
            hog.kill()
            hog.wait()


@contextmanager
def quota(pid: int) -> Iterator[Act]:
    """A CPU quota of a control group that the program is put into; versions 1 and 2.

    Raises:
        NotHere: there is no such group to be made.
    """
    name = f"mgtop-truth-{pid}"
    if (V1 / "cpu.cfs_quota_us").exists() or (V1 / "cgroup.procs").exists():
        group, file, on, off = V1 / name, "cpu.cfs_quota_us", str(QUOTA_US), "-1"
    elif "cpu" in _read(V2 / "cgroup.subtree_control").split():
        group, file = V2 / name, "cpu.max"
        on, off = f"{QUOTA_US} {PERIOD_US}", f"max {PERIOD_US}"
    else:
        raise NotHere("no control group with a cpu controller can be made here")
    with _group(group, pid):

        def act(seconds: float) -> None:
            (group / file).write_text(on)
            time.sleep(seconds)
            (group / file).write_text(off)

        yield act


@contextmanager
def stopping(pid: int) -> Iterator[Act]:
    """SIGSTOP, later SIGCONT."""

    def act(seconds: float) -> None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    yield act


class MemoryGroup:
    """A memory limit below what the program needs: its file pages go, and are read again.

    Only its own control group is short of memory, not the machine. The program must be born in
    it, since what a process uses stays with the group that it was in.

    Raises:
        NotHere: there is no such group to be made.
    """

    def __init__(self) -> None:
        lines = (line.split(":", 2) for line in _read(Path("/proc/self/cgroup")).splitlines())
        own = next((path for _, controllers, path in lines if controllers == "memory"), None)
        if own is None or not (MEMORY_V1 / "memory.limit_in_bytes").exists():
            raise NotHere("no memory control group of version 1 here")
        self.path = MEMORY_V1 / own.strip("/") / f"mgtop-truth-{os.getpid()}"
        try:
            self.path.mkdir()
        except OSError as error:
            raise NotHere(f"{self.path}: {error.strerror}") from None

    def __enter__(self) -> Act:
        return self._press

    def __exit__(self, *_: object) -> None:
        self._limit("-1")

    def _press(self, seconds: float) -> None:
        used = int(_read(self.path / "memory.usage_in_bytes"))
        self._limit(str(used - MEMORY_TAKEN))
        time.sleep(seconds)
        self._limit("-1")

    def _limit(self, text: str) -> None:
        with contextlib.suppress(OSError):  # it cannot give so much back at once
            (self.path / "memory.limit_in_bytes").write_text(text)

    def remove(self) -> None:
        """The program has ended."""
        _remove(self.path)


class SlowReader:
    """Reads a pipe that the program writes its frames to, and rests when told."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path, 0o600)
        self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._file, 1031, 4096)  # F_SETPIPE_SZ
        os.set_blocking(self._file, True)
        self._reading = threading.Event()
        self._reading.set()
        self._thread = threading.Thread(target=self._read, name="reader", daemon=True)

    def __enter__(self) -> Act:
        self._thread.start()
        return self._rest

    def __exit__(self, *_: object) -> None:
        self._reading.set()  # and it reads on: the program may still write

    def _rest(self, seconds: float) -> None:
        self._reading.clear()
        time.sleep(seconds)
        self._reading.set()

    def _read(self) -> None:
        while True:
            self._reading.wait()
            if not os.read(self._file, 1 << 16):
                time.sleep(0.005)  # nobody has opened it yet, or nobody has it open any more


@contextmanager
def _group(group: Path, pid: int) -> Iterator[None]:
    try:
        group.mkdir()
    except OSError as error:
        raise NotHere(f"{group}: {error.strerror}") from None
    try:
        for file, share in (("cpu.shares", "262144"), ("cpu.weight", "10000")):
            if (group / file).exists():  # it competes with everybody's group from now on
                (group / file).write_text(share)
        (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        _remove(group)


def _remove(group: Path) -> None:
    for task in _read(group / "cgroup.procs").split():
        with contextlib.suppress(OSError):
            (group.parent / "cgroup.procs").write_text(task)
    for _ in range(50):
        with contextlib.suppress(OSError):
            group.rmdir()
            break
        time.sleep(0.1)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


Prepared = SlowReader | MemoryGroup
"""What must be there before the program starts."""


def prepare(fault: str | None, folder: Path) -> Prepared | None:
    """Make it, for the faults that need it.

    Raises:
        NotHere: the machine cannot have the fault.
    """
    if fault == "slow_reader":
        return SlowReader(folder / "pipe")
    return MemoryGroup() if fault == "memory" else None


def context_of(
    fault: str, pid: int, core: int, nice: int, prepared: Prepared | None
) -> AbstractContextManager[Act]:
    """What must be set up for a fault while the program runs; entering it gives the act.

    Raises:
        NotHere: on entering, where the machine cannot have it.
    """
    if fault == "hog":
        return hogs(core, nice)
    if fault == "quota":
        return quota(pid)
    if fault == "stopped":
        return stopping(pid)
    assert prepared is not None
    return prepared


OUTSIDE = ("hog", "quota", "stopped", "slow_reader", "memory")
