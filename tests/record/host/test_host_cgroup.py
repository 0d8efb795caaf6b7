from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import pytest

from mgtop.record.host.cgroup import Bandwidth, Group, find_group, memory_of
from mgtop.record.schedule import MetricGone, NoValue
from mgtop.wire.records import Cgroup

S = 1_000_000_000


def files(folder: Path, **contents: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("__", ".")).write_text(content + "\n")


@pytest.fixture
def v2(tmp_path: Path) -> tuple[Path, Path]:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    files(proc / "7", cgroup="0::/app/job")
    files(root / "app", cpu__max="300000 100000", cpu__stat="nr_periods 0")
    files(
        root / "app" / "job",
        cpu__max="150000 100000",
        cpu__stat="usage_usec 5\nnr_periods 100\nnr_throttled 4\nthrottled_usec 2500",
        memory__current="1048576",
        memory__max="max",
    )
    return root, proc


def test_version_2(v2: tuple[Path, Path]) -> None:
    root, proc = v2
    (record,) = Bandwidth(lambda: 7, root, proc)(5)
    assert record == Cgroup(
        t_ns=5, version=2, quota_cores=1.5, periods=100, throttled=4, throttled_ns=2_500_000
    )
    group = find_group(7, root, proc)
    assert group is not None
    assert memory_of(group) == (1048576, None)


def test_version_1(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    files(proc / "7", cgroup="4:memory:/job\n3:cpu,cpuacct:/job\n1:name=systemd:/job")
    files(
        root / "cpu,cpuacct" / "job",
        cpu__cfs_quota_us="50000",
        cpu__cfs_period_us="100000",
        cpu__stat="nr_periods 9\nnr_throttled 2\nthrottled_time 123456",
    )
    files(
        root / "memory" / "job",
        memory__usage_in_bytes="4096",
        memory__limit_in_bytes="9223372036854771712",
    )
    (record,) = Bandwidth(lambda: 7, root, proc)(5)
    assert record == Cgroup(
        t_ns=5, version=1, quota_cores=0.5, periods=9, throttled=2, throttled_ns=123456
    )
    group = find_group(7, root, proc)
    assert group is not None
    assert memory_of(group) == (4096, None)


def test_inside_a_container_the_root_is_the_group(tmp_path: Path) -> None:
    root, proc = tmp_path / "cgroup", tmp_path / "proc"
    files(proc / "7", cgroup="0::/system.slice/docker-1234.scope")
    files(
        root,
        cpu__max="max 100000",
        cpu__stat="nr_periods 0\nnr_throttled 0\nthrottled_usec 0",
        memory__current="77",
        memory__max="100",
    )
    (record,) = Bandwidth(lambda: 7, root, proc)(0)
    assert isinstance(record, Cgroup)
    assert (record.quota_cores, record.throttled_ns) == (None, 0)
    assert memory_of(Group(2, root, root)) == (77, 100)


def test_changes_and_one_a_second_are_written(v2: tuple[Path, Path]) -> None:
    root, proc = v2
    read = Bandwidth(lambda: 7, root, proc)
    assert len(read(0)) == 1
    assert read(S // 2) == []
    assert len(read(S)) == 1
    files(root / "app" / "job", cpu__stat="nr_periods 101\nnr_throttled 5\nthrottled_usec 9")
    assert len(read(S + 1)) == 1


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(MetricGone, match="control group"):
        Bandwidth(lambda: 7, tmp_path, tmp_path)(0)
    with pytest.raises(NoValue):
        Bandwidth(lambda: None, tmp_path, tmp_path)(0)


def test_this_machine_does_not_break_it() -> None:
    with contextlib.suppress(MetricGone):
        records = Bandwidth(os.getpid)(time.monotonic_ns())
        assert all(isinstance(record, Cgroup) for record in records)
