"""Which GPUs there are, and which of them the target means by its CUDA ordinals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mgtop.record.host.system import system_memory
from mgtop.record.nvml.calls import Calls, text
from mgtop.record.schedule import MetricGone, NoValue, SourceLost
from mgtop.wire.records import GpuDevice

MOST_BYTES = 1 << 50
"""More than any GPU has: such a number is none."""


@dataclass(frozen=True)
class Device:
    """One GPU, or one MIG instance of a GPU (then ``parent`` is the GPU's handle)."""

    gpu: int
    handle: Any
    uuid: str
    name: str
    total_bytes: int | None
    reserved_bytes: int | None
    unified: bool = False
    parent: Any = None
    instance: int | None = None

    @property
    def mig(self) -> bool:
        """Whether this is a MIG instance."""
        return self.parent is not None

    def record(
        self, t_ns: int, ordinals: Sequence[int], driver: str | None, cuda: str | None
    ) -> GpuDevice:
        """The device as a log record."""
        return GpuDevice(
            t_ns=t_ns,
            gpu=self.gpu,
            uuid=self.uuid,
            name=self.name,
            total_bytes=self.total_bytes,
            reserved_bytes=self.reserved_bytes,
            ordinals=list(ordinals),
            mig=self.mig,
            unified=self.unified,
            driver=driver,
            cuda=cuda,
        )


def discover(calls: Calls) -> list[Device]:
    """All devices, in NVML's order; a GPU in MIG mode is replaced by its instances.

    Raises:
        MetricGone, SourceLost: not even the count can be had.
    """
    devices: list[Device] = []
    for index in range(calls("nvmlDeviceGetCount")):
        try:
            handle = calls("nvmlDeviceGetHandleByIndex", index)
        except (MetricGone, NoValue, SourceLost):
            continue  # a lost GPU keeps its index; the others are still there
        instances = _mig_instances(calls, handle)
        if instances is None:
            devices.append(_describe(calls, len(devices), handle))
            continue
        for instance in instances:
            devices.append(_describe(calls, len(devices), instance, parent=handle))
    return devices


def _mig_instances(calls: Calls, handle: Any) -> list[Any] | None:
    try:
        current, _pending = calls("nvmlDeviceGetMigMode", handle)
        if not current:
            return None
        count = calls("nvmlDeviceGetMaxMigDeviceCount", handle)
    except (MetricGone, NoValue, SourceLost):
        return None
    found = []
    for index in range(count):
        try:
            found.append(calls("nvmlDeviceGetMigDeviceHandleByIndex", handle, index))
        except (MetricGone, NoValue, SourceLost):
            continue
    return found


def _describe(calls: Calls, gpu: int, handle: Any, parent: Any = None) -> Device:
    total, reserved, unified = read_capacity(calls, handle)
    if unified:
        total = _machine_bytes()
    instance = None
    if parent is not None:
        instance = _optional(calls, "nvmlDeviceGetGpuInstanceId", handle)
    return Device(
        gpu=gpu,
        handle=handle,
        uuid=text(_optional(calls, "nvmlDeviceGetUUID", handle) or f"unknown-{gpu}"),
        name=text(_optional(calls, "nvmlDeviceGetName", handle) or "unknown GPU"),
        total_bytes=total,
        reserved_bytes=reserved,
        unified=unified,
        parent=parent,
        instance=instance,
    )


def _optional(calls: Calls, name: str, *arguments: Any) -> Any:
    try:
        return calls(name, *arguments)
    except (MetricGone, NoValue, SourceLost):
        return None


def _machine_bytes() -> int | None:
    try:
        return system_memory().total_bytes
    except (OSError, ValueError, KeyError):
        return None


def read_capacity(calls: Calls, handle: Any) -> tuple[int | None, int | None, bool]:
    """Total bytes, bytes reserved by the driver (v2 only), and whether memory is unified.

    A GPU that shares the machine's memory (GB10, Jetson) answers "not supported"; that is
    the only sign there is, so ``unified`` is inferred from it. A total that no card has
    (drivers send all ones for "not told") is None.
    """
    version = calls.constant("nvmlMemory_v2")
    if version is not None:
        try:
            memory = calls("nvmlDeviceGetMemoryInfo", handle, version)
        except (MetricGone, NoValue, SourceLost):
            pass
        else:
            return _told(memory.total), _told(memory.reserved), False
    try:
        return _told(calls("nvmlDeviceGetMemoryInfo", handle).total), None, False
    except MetricGone as gone:
        return None, None, "not supported" in str(gone)
    except (NoValue, SourceLost):
        return None, None, False


def _told(value: Any) -> int | None:
    return int(value) if value is not None and 0 <= int(value) < MOST_BYTES else None


def cuda_ordinals(devices: Sequence[Device], environment: Mapping[str, str]) -> dict[int, int]:
    """CUDA ordinal → ``gpu`` for a process with this environment.

    ``CUDA_VISIBLE_DEVICES`` holds indices, UUIDs or their beginnings; CUDA stops reading at
    the first that it cannot resolve. Indices follow CUDA's own order, which is NVML's (by
    bus) only under ``CUDA_DEVICE_ORDER=PCI_BUS_ID`` or where all GPUs are of one kind; else
    an index says nothing certain, and is left out. Of MIG instances CUDA shows a process
    just one, the first where none is named.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    by_bus = environment.get("CUDA_DEVICE_ORDER", "") == "PCI_BUS_ID"
    same_kind = len({device.name for device in devices}) <= 1
    if any(device.mig for device in devices) and (visible is None or visible.isdigit()):
        first = next(device for device in devices if device.mig)
        return {0: first.gpu} if visible is None else {}
    if visible is None:
        if not (by_bus or same_kind):
            return {}
        return {ordinal: device.gpu for ordinal, device in enumerate(devices)}
    ordinals: dict[int, int] = {}
    for ordinal, token in enumerate(part.strip() for part in visible.split(",")):
        if token.isdigit():
            if int(token) >= len(devices):
                break
            if not (by_bus or same_kind):
                continue
            ordinals[ordinal] = devices[int(token)].gpu
            continue
        if not token.startswith(("GPU-", "MIG-")):
            break
        matches = [device for device in devices if device.uuid.startswith(token)]
        if len(matches) != 1:
            break
        ordinals[ordinal] = matches[0].gpu
    return ordinals
