from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from mgtop.record.host.threads import MOST_THREADS, Threads
from mgtop.record.schedule import MetricGone, NoValue
from mgtop.wire.records import HostThread

S = 1_000_000_000


def write_thread(proc: Path, pid: int, tid: int, cpu_ns: int, delay_ns: int) -> None:
    folder = proc / str(pid) / "task" / str(tid)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{cpu_ns} {delay_ns} 12\n")
    numbers = ["S", *["0"] * 8, "7", *["0"] * 29, "25", *["0"] * 10]
    (folder / "stat").write_text(f"{tid} (a (strange) name) {' '.join(numbers)}\n")
    (folder / "status").write_text("Name:\tx\nnonvoluntary_ctxt_switches:\t31\n")


def test_only_threads_that_did_something_are_written(tmp_path: Path) -> None:
    for tid in (10, 11, 12):
        write_thread(tmp_path, 10, tid, 0, 0)
    threads = Threads(lambda: [10], tmp_path)
    assert threads(0) == []
    write_thread(tmp_path, 10, 10, 300_000_000, 0)  # ran
    write_thread(tmp_path, 10, 11, 0, 200_000_000)  # waited for a core
    write_thread(tmp_path, 10, 12, 1_000, 0)  # hardly anything
    records = threads(S)
    assert [r.tid for r in records if isinstance(r, HostThread)] == [10, 11]
    first = records[0]
    assert isinstance(first, HostThread)
    assert first.name == "a (strange) name"
    assert (first.cpu_ns, first.run_delay_ns) == (300_000_000, 0)
    assert (first.major_faults, first.involuntary, first.state) == (7, 31, "S")
    assert first.disk_wait_ns == 25 * S // os.sysconf("SC_CLK_TCK")


def test_the_busiest_are_kept(tmp_path: Path) -> None:
    tids = range(100, 100 + 2 * MOST_THREADS)
    for tid in tids:
        write_thread(tmp_path, 100, tid, 0, 0)
    threads = Threads(lambda: [100], tmp_path)
    threads(0)
    for tid in tids:
        write_thread(tmp_path, 100, tid, (tid - 99) * 20_000_000, 0)
    written = [r.tid for r in threads(S) if isinstance(r, HostThread)]
    assert written == list(reversed(tids))[:MOST_THREADS]


def test_a_kernel_without_schedstat_is_said(tmp_path: Path) -> None:
    (tmp_path / "10" / "task" / "10").mkdir(parents=True)
    with pytest.raises(MetricGone, match="schedstat"):
        Threads(lambda: [10], tmp_path)(0)


def test_no_process_is_no_failure(tmp_path: Path) -> None:
    with pytest.raises(NoValue):
        Threads(list, tmp_path)(0)


def test_a_real_busy_thread_is_found() -> None:
    stop = threading.Event()
    tids: list[int] = []

    def work() -> None:
        tids.append(threading.get_native_id())
        while not stop.is_set():
            sum(range(1000))

    worker = threading.Thread(target=work)
    worker.start()
    try:
        threads = Threads(lambda: [os.getpid()])
        threads(time.monotonic_ns())
        time.sleep(0.3)
        records = [r for r in threads(time.monotonic_ns()) if isinstance(r, HostThread)]
    finally:
        stop.set()
        worker.join()
    (busy,) = [r for r in records if r.tid == tids[0]]
    assert busy.cpu_ns > 50_000_000


class TestDiskWait:
    def read(self, proc: Path, ticks: int) -> int | None:
        write_thread(proc, 10, 10, 0, 0)
        threads = Threads(lambda: [10], proc)
        threads(0)
        write_thread(proc, 10, 10, S, 0)
        stat = proc / "10" / "task" / "10" / "stat"
        stat.write_text(stat.read_text().replace(" 25 ", f" {ticks} "))
        (record,) = threads(S)
        assert isinstance(record, HostThread)
        return record.disk_wait_ns

    @pytest.mark.parametrize(
        ("switch", "ticks", "known"),
        [("1", 0, True), ("1", 5, True), ("0", 0, False), (None, 0, False), (None, 5, True)],
    )
    def test_a_kernel_that_does_not_count_waiting_says_nothing_of_it(
        self, tmp_path: Path, switch: str | None, ticks: int, known: bool
    ) -> None:
        if switch is not None:
            (tmp_path / "sys" / "kernel").mkdir(parents=True)
            (tmp_path / "sys" / "kernel" / "task_delayacct").write_text(switch + "\n")
        expected = ticks * S // os.sysconf("SC_CLK_TCK") if known else None
        assert self.read(tmp_path, ticks) == expected
