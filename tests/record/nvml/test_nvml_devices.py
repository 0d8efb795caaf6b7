from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mgtop.record.host.system import system_memory
from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import Device, cuda_ordinals, discover
from mgtop.record.nvml.readings import Memory
from mgtop.record.nvml.unified import UnifiedMemory
from mgtop.record.schedule import MetricGone
from mgtop.wire.records import GpuMemory


def device(gpu: int, uuid: str, name: str = "NVIDIA H200") -> Device:
    return Device(gpu, object(), uuid, name, 1 << 37, 1 << 29)


SAME = [device(0, "GPU-aaaa1111"), device(1, "GPU-aaaa2222"), device(2, "GPU-bbbb3333")]
MIXED = [device(0, "GPU-aaaa", "NVIDIA RTX 3060"), device(1, "GPU-bbbb", "NVIDIA RTX 4090")]


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        (None, {0: 0, 1: 1, 2: 2}),
        ("", {}),
        ("1", {0: 1}),
        ("2,0", {0: 2, 1: 0}),
        ("0,-1,1", {0: 0}),  # CUDA stops at the first that does not resolve
        ("0,7,1", {0: 0}),
        ("GPU-bbbb", {0: 2}),
        ("GPU-aaaa", {}),  # ambiguous
        ("GPU-aaaa2,GPU-bbbb3333", {0: 1, 1: 2}),
        ("nonsense", {}),
    ],
)
def test_ordinals_of_equal_gpus(visible: str | None, expected: dict[int, int]) -> None:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert cuda_ordinals(SAME, environment) == expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, {}),  # CUDA puts the fastest first; which that is, NVML does not say
        ({"CUDA_VISIBLE_DEVICES": "0"}, {}),
        ({"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}, {0: 1}),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, {0: 0, 1: 1}),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}, {0: 1}),
    ],
)
def test_indices_of_unequal_gpus_are_not_guessed(
    environment: dict[str, str], expected: dict[int, int]
) -> None:
    assert cuda_ordinals(MIXED, environment) == expected


class FakeDriver:
    """Answers as documented for a machine with a MIG GPU, a lost one and a unified one."""

    class NVMLError(Exception):
        def __init__(self, value: int) -> None:
            super().__init__(str(value))
            self.value = value

    nvmlMemory_v2 = 1

    def nvmlDeviceGetCount(self) -> int:
        return 3

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        if index == 1:
            raise self.NVMLError(15)
        return ("gpu", index)

    def nvmlDeviceGetMigMode(self, handle: Any) -> tuple[int, int]:
        if handle[1] != 0:
            raise self.NVMLError(3)
        return 1, 1

    def nvmlDeviceGetMaxMigDeviceCount(self, _handle: Any) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, _handle: Any, index: int) -> Any:
        if index > 1:
            raise self.NVMLError(6)
        return ("mig", index)

    def nvmlDeviceGetGpuInstanceId(self, handle: Any) -> int:
        return 10 + int(handle[1])

    def nvmlDeviceGetUUID(self, handle: Any) -> str:
        return f"{'MIG' if handle[0] == 'mig' else 'GPU'}-{handle[1]}"

    def nvmlDeviceGetName(self, _handle: Any) -> bytes:
        return b"NVIDIA Something"

    def nvmlDeviceGetMemoryInfo(self, handle: Any, version: int | None = None) -> Any:
        if handle == ("gpu", 2):
            raise self.NVMLError(3)
        return SimpleNamespace(total=100, used=40, reserved=7)


def test_mig_instances_stand_for_their_gpu_and_a_lost_gpu_takes_nothing_along() -> None:
    devices = discover(Calls(FakeDriver()))
    assert [(d.gpu, d.uuid, d.mig, d.instance) for d in devices] == [
        (0, "MIG-0", True, 10),
        (1, "MIG-1", True, 11),
        (2, "GPU-2", False, None),
    ]
    assert devices[0].total_bytes == 100
    assert devices[0].reserved_bytes == 7
    assert devices[2].unified
    assert devices[2].total_bytes == system_memory().total_bytes  # it has no memory of its own


def test_a_card_that_tells_all_ones_for_its_memory_tells_nothing() -> None:
    driver = FakeDriver()
    ones = SimpleNamespace(total=(1 << 64) - 1, used=(1 << 64) - 1, reserved=(1 << 64) - 1)
    driver.nvmlDeviceGetMemoryInfo = lambda *_: ones  # type: ignore[method-assign]
    device = discover(Calls(driver))[0]
    assert (device.total_bytes, device.reserved_bytes, device.unified) == (None, None, False)
    with pytest.raises(MetricGone, match="does not tell"):
        Memory(Calls(driver), device)(0)


def test_unified_memory_is_the_machines() -> None:
    device = discover(Calls(FakeDriver()))[2]
    (record,) = UnifiedMemory(device)(5)
    assert isinstance(record, GpuMemory)
    total = system_memory().total_bytes
    assert (record.t_ns, record.gpu) == (5, 2)
    assert 0 < record.used_bytes < total


@pytest.mark.parametrize(
    ("visible", "expected"),
    [(None, {0: 0}), ("MIG-bb", {0: 1}), ("MIG-aa,MIG-bb", {0: 0, 1: 1}), ("0", {}), ("1", {})],
)
def test_of_mig_instances_cuda_shows_one_unless_they_are_named(
    visible: str | None, expected: dict[int, int]
) -> None:
    instances = [
        Device(gpu, object(), uuid, "NVIDIA H200 MIG 1g.18gb", 1 << 34, 0, parent=object())
        for gpu, uuid in enumerate(("MIG-aa11", "MIG-bb22"))
    ]
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert cuda_ordinals(instances, environment) == expected
