"""What single processes have a GPU do: the one figure that shows a neighbour that never grows.

The call costs 1.4 to 2 ms on an H200, two hundred times one of memory. So it is made once a
second at most, and only while a process that is not the target's shares a GPU with it.
"""

from __future__ import annotations

from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import Device
from mgtop.record.nvml.processes import Processes
from mgtop.record.schedule import NoValue, SourceLost
from mgtop.wire.records import GpuProcessWork, Record

LONGEST_NS = 3_000_000_000
"""A mean over more than this says nothing of a frame."""


class ProcessWork:
    """``nvmlDeviceGetProcessUtilization``: each process's mean since the time asked for.

    Args:
        calls: into NVML.
        device: which one.
        processes: the list of that device's processes, as last read.
    """

    def __init__(self, calls: Calls, device: Device, processes: Processes) -> None:
        self._calls, self._device, self._processes = calls, device, processes
        self._seen_us = 0
        self._last_ns: int | None = None

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class.

        Raises:
            NoValue: nobody shares the GPU with the target, so that nothing was asked.
            SourceLost: the driver does not even list processes.
        """
        if self._processes.lost is not None:
            raise SourceLost(self._processes.lost)
        relations = self._processes.relations()
        if "neighbour" not in relations.values() or "target" not in relations.values():
            self._last_ns = None
            raise NoValue("the target has the GPU to itself")
        try:
            answers = self._calls(
                "nvmlDeviceGetProcessUtilization", self._device.handle, self._seen_us
            )
        except NoValue:  # no sample since: nobody worked
            answers = []
        last_ns, self._last_ns = self._last_ns, now_ns
        stamps = [int(answer.timeStamp) for answer in answers]
        first = self._seen_us == 0
        self._seen_us = max([self._seen_us, *stamps])
        if first or last_ns is None or now_ns - last_ns > LONGEST_NS:
            return []  # that mean reaches back to before it was asked for
        worked = {int(answer.pid): float(answer.smUtil) for answer in answers}
        return [
            GpuProcessWork(
                t_ns=now_ns,
                gpu=self._device.gpu,
                pid=pid,
                sm_percent=min(100.0, worked.get(pid, 0.0)),
                period_ns=now_ns - last_ns,
                relation=relation,
            )
            for pid, relation in relations.items()
        ]
