"""What mgtop writes to is full, read-only, removed or damaged."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mgtop.record.launch import LaunchError, Recording
from mgtop.record.status import read_status
from mgtop.session.reader import LogReader
from mgtop.session.writer import LOG_NAME
from mgtop.wire.records import AnyRecord, FrameEmit, SessionEnd, SourceState
from tests.faults.programs_at_fault import Program
from tests.record.recording import losses, of, read, record, until

pytestmark = pytest.mark.e2e

LATE_CHILDREN = """
import os, sys, time
from mgtop import probe
def emit(name):
    with probe.request(name, fps=100) as request:
        for _ in range(20):
            request.frame()
emit("first")
print("first", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
emit("second")
if os.fork() == 0:
    emit("child")
    sys.exit(0)
os.wait()
sys.exit(7)
"""


@pytest.mark.parametrize("what", ["the FIFO", "its folder"])
def test_a_fifo_that_is_removed_is_made_anew(
    tmp_path: Path, runtime: Path, started: list[Recording], what: str
) -> None:
    """Who had it open writes on; who starts later finds the new one of the same name."""
    go = tmp_path / "go"
    recording = record(tmp_path, [sys.executable, "-c", LATE_CHILDREN, str(go)])
    started.append(recording)
    until(lambda: (recording.folder / "stdout.log").read_text() == "first\n")
    (fifo,) = runtime.glob("*.fifo")
    fifo.unlink()
    if what == "its folder":
        for path in runtime.iterdir():
            path.unlink()
        runtime.rmdir()
    until(fifo.exists)
    go.touch()
    outcome = recording.wait(20)
    assert (outcome.exit_code, outcome.target_code) == (0, 7)
    records = read(recording.folder)
    frames = of(FrameEmit, records)
    assert len(frames) == 60
    assert len({frame.proc for frame in frames}) == 2
    assert losses(records) == (0, 0)
    assert not fifo.exists()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder in which nothing can be made: for root, a file system mounted read-only."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.getuid() != 0:
        yield folder
        return
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("root may write anywhere, and mounting is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_in_a_read_only_folder_the_program_is_not_started(tmp_path: Path, read_only: Path) -> None:
    touched = tmp_path / "touched"
    done = subprocess.run(
        [sys.executable, "-m", "mgtop", "run", "--headless", "--out", str(read_only / "session"),
         "--", "touch", str(touched)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == LaunchError("", 4).code == 4
    assert str(read_only / "session") in done.stderr
    assert "Traceback" not in done.stderr
    assert not touched.exists()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[AnyRecord]]:
    """The log of a real recording, and what is in it."""
    folder = tmp_path_factory.mktemp("damage")
    before = os.environ.get("MGTOP_RUNTIME")
    os.environ["MGTOP_RUNTIME"] = str(folder / "runtime")
    try:
        recording = record(folder, Program(folder, 60, 100).command)
        assert recording.wait(30).exit_code == 0
    finally:
        if before is None:
            del os.environ["MGTOP_RUNTIME"]
        else:
            os.environ["MGTOP_RUNTIME"] = before
    return (recording.folder / LOG_NAME).read_bytes(), read(recording.folder)


def records_of(folder: Path, data: bytes) -> tuple[list[AnyRecord], LogReader]:
    (folder / LOG_NAME).write_bytes(data)
    reader = LogReader(folder)
    records: list[AnyRecord] = []
    while not reader.at_end:
        records += reader.poll()
    return records, reader


def test_a_recorded_log_cut_off_anywhere_keeps_all_before_the_cut(
    tmp_path: Path, session: tuple[bytes, list[AnyRecord]]
) -> None:
    """Each byte of its last 4 KiB: what was appended whole before the cut is read."""
    data, whole = session
    lengths = []
    for size in range(len(data), max(0, len(data) - 4096) - 1, -1):
        records, reader = records_of(tmp_path, data[:size])
        assert records == whole[: len(records)]
        assert reader.malformed_chunks == 0
        lengths.append(len(records))
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] == len(whole)
    # One append is lost, not more: the next one before it is whole until the cut reaches it.
    assert len(set(lengths)) >= 2


def test_a_bit_flipped_anywhere_in_a_recorded_log_costs_one_append(
    tmp_path: Path, session: tuple[bytes, list[AnyRecord]]
) -> None:
    data, whole = session
    largest = 0
    for place in random.Random(12).sample(range(len(data)), min(700, len(data))):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        records, _reader = records_of(tmp_path, bytes(damaged))
        before = next(
            (n for n, (a, b) in enumerate(zip(records, whole, strict=False)) if a != b),
            len(records),
        )
        after = len(records) - before
        assert records[before:] == whole[len(whole) - after :]  # one run is missing, no more
        largest = max(largest, len(whole) - len(records))
    assert 0 < largest < len(whole) / 2


def test_a_folder_moved_while_it_is_recorded_holds_the_recording_to_its_end(
    tmp_path: Path, started: list[Recording]
) -> None:
    program = Program(tmp_path, 20, 0, "wait", shell=False)
    started.append(record(tmp_path, program.command))
    until(lambda: program.returned() >= 20)
    moved = tmp_path / "moved"
    started[0].folder.rename(moved)
    program.let_go()
    outcome = started[0].wait(30)
    assert "moved or deleted" in outcome.message
    status = read_status(moved)
    assert status is not None
    assert (status.state, status.exit_code, status.target_code) == ("ended", 0, 7)
    records = read(moved)
    assert isinstance(records[-1], SessionEnd)
    assert len(of(FrameEmit, records)) == program.returned()


SLOW = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 11 && !memcmp(path + length - 11, "session.log", 11)) usleep(300000);
    return real(fd, data, size);
}
"""


def test_a_slow_folder_loses_nothing_and_holds_up_nobody(
    tmp_path: Path, started: list[Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a network folder can be: each append takes 0.3 s."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here")
    source, library = tmp_path / "slow.c", tmp_path / "slow.so"
    source.write_text(SLOW)
    command = [compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    program = Program(tmp_path, 1000, 1000, shell=False)
    started.append(record(tmp_path, program.command))
    monkeypatch.delenv("LD_PRELOAD")
    assert started[0].wait(60).target_code == 7
    records = read(started[0].folder)
    assert len(of(FrameEmit, records)) == program.returned() == 1000
    assert losses(records) == (0, 0)
    states = [r for r in records if isinstance(r, SourceState) and r.source == "probe"]
    assert len(states) < 10  # it was slow
