from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import Device
from mgtop.record.nvml.processes import UNKNOWN_MEMORY, Processes
from mgtop.wire.records import GpuProcess

MIB = 1 << 20
DEVICE = Device(0, "handle", "GPU-1", "NVIDIA H200", 1000 * MIB, None)


class Driver:
    """Lists what it is told to list."""

    class NVMLError(Exception):
        value = 3

    def __init__(self) -> None:
        self.listed: dict[int, int | None] = {}
        self.graphics: dict[int, int | None] = {}

    def nvmlDeviceGetGraphicsRunningProcesses(self, _handle: Any) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.graphics.items()]

    def nvmlDeviceGetComputeRunningProcesses(self, _handle: Any) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.listed.items()]


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    def process(pid: int, name: str, inner: int | None = None, gpu: bool = False) -> None:
        folder = tmp_path / str(pid)
        (folder / "fd").mkdir(parents=True)
        (folder / "comm").write_text(name + "\n")
        spaces = f"{pid}" if inner is None else f"{pid}\t{inner}"
        (folder / "status").write_text(f"Name:\t{name}\nNSpid:\t{spaces}\n")
        if gpu:
            (folder / "fd" / "5").symlink_to("/dev/nvidia0")

    process(100, "python")
    process(200, "python", inner=7)
    process(300, "python", gpu=True)
    process(400, "other")
    return tmp_path


def read(proc: Path, listed: dict[int, int | None], own: set[int]) -> list[GpuProcess]:
    driver = Driver()
    driver.listed = listed
    records = Processes(Calls(driver), DEVICE, lambda: own, proc)(0)
    assert all(isinstance(record, GpuProcess) for record in records)
    return records  # type: ignore[return-value]


def relations(records: list[GpuProcess]) -> dict[int, tuple[str, str]]:
    return {record.pid: (record.relation, record.how) for record in records}


def test_own_pid(proc: Path) -> None:
    records = read(proc, {100: 300 * MIB, 400: 10 * MIB}, {100})
    assert relations(records) == {100: ("target", "pid"), 400: ("neighbour", "none")}
    assert {r.pid: r.name for r in records} == {100: "python", 400: "other"}
    assert records[0].user  # whoever runs the test


def test_pid_of_another_namespace(proc: Path) -> None:
    assert relations(read(proc, {7: 5 * MIB}, {200})) == {7: ("target", "nspid")}


def test_the_only_process_unknown_here_is_taken_for_the_target(proc: Path) -> None:
    assert relations(read(proc, {31337: 5 * MIB}, {300})) == {31337: ("target", "sole_tenant")}


@pytest.mark.parametrize(
    ("listed", "own", "why"),
    [
        ({31337: MIB}, {100}, "the target has no GPU open"),
        ({31337: MIB, 31338: MIB}, {300}, "two could be meant"),
        ({400: MIB}, {300}, "a process of this machine that is not the target"),
    ],
)
def test_nothing_is_guessed(
    proc: Path, listed: dict[int, int | None], own: set[int], why: str
) -> None:
    assert {r for r, _ in relations(read(proc, listed, own)).values()} == {"neighbour"}, why


@pytest.mark.parametrize("sentinel", [None, *UNKNOWN_MEMORY, 2000 * MIB])
def test_memory_that_the_driver_does_not_tell_is_none(proc: Path, sentinel: int | None) -> None:
    assert read(proc, {100: sentinel}, {100})[0].used_bytes is None


def test_a_process_that_leaves_is_written_once_with_nothing_used(proc: Path) -> None:
    driver = Driver()
    processes = Processes(Calls(driver), DEVICE, lambda: {100}, proc)
    driver.listed = {100: 3 * MIB, 400: MIB}
    assert len(processes(0)) == 2
    driver.listed = {100: 3 * MIB}
    (gone,) = processes(1)
    assert isinstance(gone, GpuProcess)
    assert (gone.pid, gone.used_bytes, gone.relation, gone.name) == (400, 0, "neighbour", "other")
    assert processes(2) == []


class TestGraphics:
    """Desktops and GeForce cards: processes with graphics contexts stand in a list of their own."""

    def both(self, proc: Path, driver: Driver, own: set[int]) -> tuple[Processes, Processes]:
        calls = Calls(driver)
        compute = Processes(calls, DEVICE, lambda: own, proc)
        return compute, Processes(calls, DEVICE, lambda: own, proc, compute=compute)

    def test_a_process_in_both_lists_is_written_once_and_does_not_leave(self, proc: Path) -> None:
        driver = Driver()
        compute, graphics = self.both(proc, driver, {100})
        driver.listed = {100: 3 * MIB}
        driver.graphics = {100: 3 * MIB, 400: 2 * MIB}
        assert relations(compute(0)) == {100: ("target", "pid")}  # type: ignore[arg-type]
        assert relations(graphics(0)) == {400: ("neighbour", "none")}  # type: ignore[arg-type]
        driver.graphics = {400: 2 * MIB}
        assert graphics(1) == []

    def test_a_graphics_process_that_starts_to_compute_does_not_leave(self, proc: Path) -> None:
        driver = Driver()
        compute, graphics = self.both(proc, driver, {100})
        driver.graphics = {100: MIB}
        compute(0)
        assert relations(graphics(0)) == {100: ("target", "pid")}  # type: ignore[arg-type]
        driver.listed = {100: 9 * MIB}
        (record,) = compute(1)
        assert isinstance(record, GpuProcess)
        assert record.used_bytes == 9 * MIB
        assert graphics(2) == []

    def test_the_desktop_is_never_taken_for_the_target(self, proc: Path) -> None:
        driver = Driver()
        driver.graphics = {31337: 20 * MIB}  # not of this namespace, and the only one
        _compute, graphics = self.both(proc, driver, {300})
        assert relations(graphics(0)) == {31337: ("neighbour", "none")}  # type: ignore[arg-type]


def test_a_list_that_grows_while_it_is_read_is_no_failure(proc: Path) -> None:
    class Growing(Driver):
        class NVMLError(Exception):
            value = 7

        def nvmlDeviceGetComputeRunningProcesses(self, _handle: Any) -> list[Any]:
            raise self.NVMLError

    assert Processes(Calls(Growing()), DEVICE, lambda: {100}, proc)(0) == []
