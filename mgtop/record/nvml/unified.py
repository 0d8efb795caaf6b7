"""Memory of a GPU that shares the machine's (GB10, Jetson): NVML does not tell it.

Written from NVIDIA's documentation: no such machine was seen.
"""

from __future__ import annotations

from mgtop.record.host.system import system_memory
from mgtop.record.nvml.devices import Device
from mgtop.record.schedule import MetricGone, Unchanged
from mgtop.wire.records import GpuMemory, Record


class UnifiedMemory:
    """What is used of the machine's memory, by the GPU or anybody else.

    The device's record says ``unified``, so that a reader knows whose memory it is.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._news = Unchanged()

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        try:
            memory = system_memory()
        except (OSError, ValueError, KeyError) as error:
            raise MetricGone(f"/proc/meminfo cannot be read: {error}") from None
        used = memory.total_bytes - memory.available_bytes
        if not self._news.is_news("used", used, now_ns):
            return []
        return [GpuMemory(t_ns=now_ns, gpu=self._device.gpu, used_bytes=used)]
