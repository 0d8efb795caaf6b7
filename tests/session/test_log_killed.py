"""Whoever writes, compacts or drops may be killed at any moment: what was written is there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from log_records import read
from test_log_segments import S, roll, session

from mgtop.session.compact import alone, compact_finished
from mgtop.session.folder import describe
from mgtop.session.log_files import finished
from mgtop.session.reader import read_all
from mgtop.session.retention import drop_oldest
from mgtop.session.rolling import RollingLog
from mgtop.wire.records import LogGap

CALLS = ("open", "write", "link", "replace", "unlink", "fsync", "close", "utime", "ftruncate")


def killed_at(number: int, work: Callable[[], None]) -> bool:
    """Do work in a process of its own that dies before its n-th system call; whether it did."""
    pid = os.fork()
    if pid == 0:
        left = number

        def counted(real: Callable[..., object]) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                nonlocal left
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), 9)
                return real(*arguments, **named)

            return call

        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def test_while_it_is_written(tmp_path: Path) -> None:
    """At every third system call of four seconds with an append each 250 ms."""
    appends = session(64)
    every = [appends[0], *[[r for part in appends[n : n + 4] for r in part]
             for n in range(1, len(appends), 4)]]  # fmt: skip
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        told = folder / "told"

        def work(folder: Path = folder, told: Path = told) -> None:
            log = RollingLog(folder, after_ns=S, least_bytes=1)
            with open(told, "wb", buffering=0) as file:
                for records in every:
                    log.append(records)
                    file.write(b".")

        was_killed = killed_at(number, work)
        if told.exists():
            written = [r for part in every[: told.stat().st_size] for r in part]
            found, reader = read(folder)
            assert found[: len(written)] == written, number
            assert [record for part in every for record in part][: len(found)] == found
            assert reader.malformed_chunks == 0
            assert describe(folder).state in ("cut", "ended") or not found
        if not was_killed:
            break
        number += 3
    assert number > 30
    assert finished(folder) == [1, 2, 3]


@pytest.mark.parametrize("what", ["compact", "drop"])
def test_while_it_is_kept_small(tmp_path: Path, what: str) -> None:
    number = 0
    while True:
        folder = tmp_path / str(number)
        folder.mkdir()
        records = roll(folder, session(64))
        size = sum(path.stat().st_size for path in folder.iterdir())

        def work(folder: Path = folder, size: int = size) -> None:
            if what == "drop":
                drop_oldest(folder, size / 2 / 2**20, None)
            else:
                with alone(folder):
                    compact_finished(folder)

        was_killed = killed_at(number, work)
        found = list(read_all(folder))
        kept = [record for record in found if not isinstance(record, LogGap)]
        if what == "compact":
            assert found == records, number
        else:
            newest = next((r.until_ns for r in found if isinstance(r, LogGap)), 0)
            later = [record for record in records if record.t_ns > newest]
            assert kept[len(kept) - len(later) :] == later, number
            assert len(kept) == len(records) or newest
        work()
        assert not list(folder.glob(".compact.*"))
        if not was_killed:
            break
        number += 2
    assert number > 5
