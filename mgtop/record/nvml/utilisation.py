"""GPU utilisation, by whichever way resolves most on this machine.

What NVML calls utilisation is the share of a *past* period in which any kernel ran; the
period is 1/6 s to 1 s by product, and the figure is seen up to a period late. So each
record says over which period it speaks and whose word it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any

from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import Device
from mgtop.record.schedule import MetricGone, NoValue, SourceLost, Unchanged
from mgtop.wire.records import GpuUtilisation, Record

LONGEST_PERIOD_NS = 1_000_000_000
"""NVML's documented upper bound; used until the real one is known."""


class Poll:
    """``nvmlDeviceGetUtilizationRates``: the value in force, of unknown age."""

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._news = Unchanged()
        self.period_ns = LONGEST_PERIOD_NS

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        rates = self._calls("nvmlDeviceGetUtilizationRates", self._device.handle)
        value = (int(rates.gpu), int(rates.memory))
        if not 0 <= value[0] <= 100:
            raise NoValue("out of range")
        if not self._news.is_news("rates", value, now_ns):
            return []
        return [
            GpuUtilisation(
                t_ns=now_ns,
                gpu=self._device.gpu,
                percent=value[0],
                memory_percent=value[1] if 0 <= value[1] <= 100 else None,
                period_ns=self.period_ns,
                source="poll",
            )
        ]


class Ring:
    """``nvmlDeviceGetSamples``: the driver's own buffer, with time stamps.

    The stamps are microseconds of a clock that depends on machine and driver: Unix time on
    most, time since boot on some. It is recognised by which clock they are close to.
    """

    MOST_APART_NS = 180_000_000_000  # the buffer holds at most about two minutes

    def __init__(
        self,
        calls: Calls,
        device: Device,
        poll: Poll | None = None,
        wall: Callable[[], int] = time.time_ns,
        boot: Callable[[], int] = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
        monotonic: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._calls, self._device, self._poll = calls, device, poll
        self._clocks = {"wall": wall, "boot": boot, "monotonic": monotonic}
        self._monotonic = monotonic
        self._kind = calls.constant("NVML_GPU_UTILIZATION_SAMPLES", 1)
        self._seen_us = 0
        self._last_ns: int | None = None
        self.clock: str | None = None

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        _type, samples = self._calls(
            "nvmlDeviceGetSamples", self._device.handle, self._kind, self._seen_us
        )
        stamps = sorted(
            (int(s.timeStamp), int(s.sampleValue.uiVal)) for s in samples if s.timeStamp
        )
        stamps = [(us, value) for us, value in stamps if us > self._seen_us and value <= 100]
        if not stamps:
            return []
        first = self._seen_us == 0
        self._seen_us = stamps[-1][0]
        offset = self._offset_ns(stamps[-1][0])
        spacing = _spacing_ns([us for us, _ in stamps])
        if spacing and self._poll is not None:
            self._poll.period_ns = spacing
        records: list[Record] = []
        for us, value in stamps:
            t_ns = us * 1000 + offset
            period = t_ns - self._last_ns if self._last_ns is not None else (spacing or 0)
            self._last_ns = t_ns
            # The buffer's past is older than this session; only what is new belongs to it.
            if first or not 0 < period <= LONGEST_PERIOD_NS:
                continue
            records.append(
                GpuUtilisation(
                    t_ns=t_ns,
                    gpu=self._device.gpu,
                    percent=value,
                    memory_percent=None,
                    period_ns=period,
                    source="ring",
                )
            )
        return records

    def _offset_ns(self, stamp_us: int) -> int:
        """What turns a stamp into ``CLOCK_MONOTONIC``; read anew, since wall time steps."""
        apart = {name: clock() - stamp_us * 1000 for name, clock in self._clocks.items()}
        if self.clock is None or not self._is_near(apart[self.clock]):
            near = [name for name in apart if self._is_near(apart[name])]
            if not near:
                raise MetricGone("the time stamps of the driver's samples belong to no known clock")
            self.clock = near[0]
        return self._monotonic() - self._clocks[self.clock]()

    def _is_near(self, apart_ns: int) -> bool:
        return -1_000_000_000 <= apart_ns <= self.MOST_APART_NS


def _spacing_ns(stamps_us: list[int]) -> int | None:
    gaps = [b - a for a, b in pairwise(stamps_us)]
    return int(median(gaps) * 1000) if len(gaps) >= 4 else None


class Gpm:
    """GPU performance monitoring (Hopper and later): the share of the time between two samples.

    Below 100 ms between them the driver answers 0, which means nothing.
    """

    SHORTEST_NS = 110_000_000

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._metric = calls.constant("NVML_GPM_METRIC_GRAPHICS_UTIL", 1)
        self._spare: Any = None
        self._last: tuple[Any, int] | None = None

    @staticmethod
    def supported(calls: Calls, device: Device) -> str | None:
        """None where the device has it, else the reason why not."""
        handle = device.parent if device.mig else device.handle
        try:
            answer = calls("nvmlGpmQueryDeviceSupport", handle)
        except (MetricGone, NoValue, SourceLost) as error:
            return str(error)
        return None if answer.isSupportedDevice else "needs a Hopper GPU or later"

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        if self._last is not None and now_ns - self._last[1] < self.SHORTEST_NS:
            return []
        sample = self._spare if self._spare is not None else self._calls("nvmlGpmSampleAlloc")
        self._spare = None
        if self._device.mig:
            arguments = (self._device.parent, self._device.instance, sample)
            self._calls("nvmlGpmMigSampleGet", *arguments)
        else:
            self._calls("nvmlGpmSampleGet", self._device.handle, sample)
        last, self._last = self._last, (sample, now_ns)
        if last is None:
            return []
        self._spare = last[0]
        if now_ns - last[1] > 2 * LONGEST_PERIOD_NS:
            return []  # the thread was held up; a mean over seconds says nothing of a frame
        query = self._calls.structure("c_nvmlGpmMetricsGet_t")
        query.version = self._calls.constant("NVML_GPM_METRICS_GET_VERSION", 1)
        query.numMetrics = 1
        query.sample1, query.sample2 = last[0], sample
        query.metrics[0].metricId = self._metric
        answer = self._calls("nvmlGpmMetricsGet", query)
        metric = answer.metrics[0]
        if metric.nvmlReturn != 0 or not 0 <= metric.value <= 100:
            raise NoValue("no GPM value")
        return [
            GpuUtilisation(
                t_ns=now_ns,
                gpu=self._device.gpu,
                percent=round(float(metric.value), 1),
                memory_percent=None,
                period_ns=now_ns - last[1],
                source="gpm",
            )
        ]
