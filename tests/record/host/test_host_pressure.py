from __future__ import annotations

from pathlib import Path

import pytest

from mgtop.record.host.pressure import Pressure
from mgtop.record.schedule import MetricGone
from mgtop.wire.records import Pressure as PressureRecord


def write(folder: Path, cpu: int, io: int) -> None:
    some = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}"
    full = "full avg10=0.00 avg60=0.00 avg300=0.00 total={}"
    (folder / "cpu").write_text(some.format(cpu) + "\n" + full.format(0) + "\n")
    (folder / "io").write_text(some.format(io) + "\n" + full.format(io // 2) + "\n")


def test_totals_are_in_nanoseconds_and_missing_files_are_none(tmp_path: Path) -> None:
    write(tmp_path, 10, 8)
    assert Pressure(tmp_path)(3) == [
        PressureRecord(
            t_ns=3,
            cpu_some_ns=10_000,
            memory_some_ns=None,
            memory_full_ns=None,
            io_some_ns=8_000,
            io_full_ns=4_000,
        )
    ]


def test_only_changes_are_written(tmp_path: Path) -> None:
    write(tmp_path, 10, 8)
    read = Pressure(tmp_path)
    assert len(read(0)) == 1
    assert read(10) == []
    write(tmp_path, 11, 8)
    assert len(read(20)) == 1


def test_a_kernel_without_pressure_is_said(tmp_path: Path) -> None:
    with pytest.raises(MetricGone, match="pressure"):
        Pressure(tmp_path / "none")(0)
