"""The process that reads along: started late, giving way, and none of the target's."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from mgtop.record.digester import AFTER_NS, LEAST_BYTES, Digester
from mgtop.record.target import Target
from mgtop.record.tree import children
from mgtop.session.lock import SessionLock
from mgtop.session.writer import LogWriter
from mgtop.wire.records import SessionStart

NOW_NS = 10 * AFTER_NS


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Path, SessionLock]]:
    """A session that is being recorded."""
    writer = LogWriter(tmp_path)
    writer.append([SessionStart(t_ns=1, wall_ns=1, schema=1, mgtop="0", name="nothing")])
    writer.close()
    lock = SessionLock(tmp_path)
    yield tmp_path, lock
    lock.release()


@pytest.mark.parametrize(
    ("begin_ns", "log_bytes"), [(NOW_NS - AFTER_NS + 1, LEAST_BYTES), (0, LEAST_BYTES - 1)]
)
def test_of_a_short_or_small_recording_there_is_none(tmp_path: Path, begin_ns: int, log_bytes: int):
    digester = Digester(tmp_path, begin_ns)
    digester.poll(NOW_NS, log_bytes)
    assert digester.pids() == set()
    assert digester.cpu_ns() == 0


def test_it_gives_way_is_none_of_the_targets_and_ends_with_the_recording(
    live: tuple[Path, SessionLock], tmp_path: Path
):
    folder, lock = live
    sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
    others = children(os.getpid())
    with open(os.devnull, "rb") as null:
        target = Target(sleep, "/", os.environ, tmp_path / "stdout.log", null.fileno())
    digester = Digester(folder, 0)
    target.beside = lambda: {*digester.pids(), *others}  # of tests that ran before in this process
    digester.poll(NOW_NS, LEAST_BYTES)
    (pid,) = digester.pids()
    process = psutil.Process(pid)
    try:
        assert target.pids() == [target.pid]
        deadline = time.monotonic() + 20
        while process.nice() != 19:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        target.stop()
        while not target.pursue(time.monotonic_ns()):
            assert time.monotonic() < deadline
            target.reap()
            time.sleep(0.01)
        assert process.is_running()
        assert process.status() != psutil.STATUS_ZOMBIE
        assert digester.cpu_ns() > 0
    finally:
        lock.release()
        process.kill()
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    digester.poll(NOW_NS, LEAST_BYTES)  # it is not started again
    assert digester.pids() == {pid}
    assert not process.is_running()
