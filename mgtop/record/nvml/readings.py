"""Memory, clocks, power, temperature, ECC and clock-event counters of one device."""

from __future__ import annotations

from typing import Any

from mgtop.record.nvml.calls import Calls, sort_code
from mgtop.record.nvml.devices import MOST_BYTES, Device
from mgtop.record.schedule import MetricGone, Missing, NoValue, SourceLost, Unchanged
from mgtop.wire.records import GpuMemory, GpuState, GpuThrottle, Record

REASONS = "nvmlDeviceGetCurrentClocksEventReasons"
OLD_REASONS = "nvmlDeviceGetCurrentClocksThrottleReasons"
"""The same call, as drivers before 535 know it."""


class Memory:
    """Device memory in use.

    v2 tells what the driver reserves apart from what is used; v1 counts both as used, so
    the two never mix within one session.
    """

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._news = Unchanged()
        self._arguments: tuple[Any, ...] = (device.handle,)
        version = calls.constant("nvmlMemory_v2")
        if version is not None and device.reserved_bytes is not None:
            self._arguments = (device.handle, version)

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        used = int(self._calls("nvmlDeviceGetMemoryInfo", *self._arguments).used)
        total = self._device.total_bytes
        if used >= MOST_BYTES:  # all ones, as some drivers say it
            raise MetricGone("the driver does not tell it")
        if total is not None and used > total:
            raise NoValue("more used than there is")
        if not self._news.is_news("used", used, now_ns):
            return []
        return [GpuMemory(t_ns=now_ns, gpu=self._device.gpu, used_bytes=used)]


class State:
    """Clocks, power, temperature and the reasons that hold clocks down, in one record.

    What a device does not have stays None; the record is there as long as one field is.

    Attributes:
        missing: why a field of the last record is None.
    """

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._news = Unchanged()
        handle = device.handle
        self._fields: dict[str, tuple[Any, ...]] = {
            "sm_mhz": ("nvmlDeviceGetClockInfo", handle, calls.constant("NVML_CLOCK_SM", 1)),
            "memory_mhz": ("nvmlDeviceGetClockInfo", handle, calls.constant("NVML_CLOCK_MEM", 2)),
            "power_mw": ("nvmlDeviceGetPowerUsage", handle),
            "temperature_c": _temperature(calls, handle),
            "clock_event_reasons": (REASONS, handle),
            "power_limit_mw": ("nvmlDeviceGetEnforcedPowerLimit", handle),
        }
        self.missing: dict[str, Missing] = {}

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        values: dict[str, int] = {}
        for field in list(self._fields):
            try:
                values[field] = self._read(field)
                self.missing.pop(field, None)
            except NoValue as nothing:
                self.missing[field] = Missing(str(nothing), gone=False)
            except MetricGone as gone:
                self.missing[field] = Missing(str(gone), gone=True)
                del self._fields[field]
        if not self._fields:
            raise MetricGone("no clock, power or temperature reading is supported")
        if not self._news.is_news("state", values, now_ns):
            return []
        return [GpuState(t_ns=now_ns, gpu=self._device.gpu, **values)]

    def _read(self, field: str) -> int:
        name, *arguments = self._fields[field]
        try:
            return int(self._calls(name, *arguments))
        except MetricGone:
            if name != REASONS:
                raise
        self._fields[field] = (OLD_REASONS, *arguments)
        return int(self._calls(OLD_REASONS, *arguments))


def _temperature(calls: Calls, handle: Any) -> tuple[Any, ...]:
    sensor = calls.constant("NVML_TEMPERATURE_GPU", 0)
    if calls.constant("nvmlDeviceGetTemperatureV") is not None:
        try:
            calls("nvmlDeviceGetTemperatureV", handle, sensor)
        except (MetricGone, NoValue, SourceLost):
            pass  # a new binding over a driver that has only the old call
        else:
            return ("nvmlDeviceGetTemperatureV", handle, sensor)
    return ("nvmlDeviceGetTemperature", handle, sensor)


class Ecc:
    """Uncorrected memory errors since the driver was loaded."""

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._last: int | None = None
        self._arguments = (
            calls.constant("NVML_MEMORY_ERROR_TYPE_UNCORRECTED", 1),
            calls.constant("NVML_VOLATILE_ECC", 0),
        )

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        errors = int(
            self._calls("nvmlDeviceGetTotalEccErrors", self._device.handle, *self._arguments)
        )
        if errors == self._last:
            return []
        self._last = errors
        return [GpuState(t_ns=now_ns, gpu=self._device.gpu, ecc_uncorrected=errors)]


class Throttle:
    """Time for which the clocks were held down, by reason.

    Counters, so that nothing between two readings is missed, as it is with the momentary
    reasons.

    Attributes:
        missing: why a field of the last record is None.
    """

    FIELDS = (
        ("power_cap_ns", "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP", 74),
        ("thermal_sw_ns", "NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN", 269),
        ("thermal_hw_ns", "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN", 270),
        ("power_brake_ns", "NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN", 271),
        ("sync_boost_ns", "NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST", 76),
    )

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._news = Unchanged()
        self._ids = [calls.constant(name, number) for _field, name, number in self.FIELDS]
        self.missing: dict[str, Missing] = {}

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        answers = self._calls("nvmlDeviceGetFieldValues", self._device.handle, self._ids)
        values: dict[str, int] = {}
        for (field, _name, _number), answer in zip(self.FIELDS, answers, strict=False):
            if answer.nvmlReturn == 0:
                values[field] = _field_value(answer)
                self.missing.pop(field, None)
            else:
                error = sort_code(answer.nvmlReturn)
                self.missing[field] = Missing(str(error), gone=isinstance(error, MetricGone))
        if not values:
            raise MetricGone("this driver has no clock-event time counters")
        if not self._news.is_news("throttle", values, now_ns):
            return []
        return [GpuThrottle(t_ns=now_ns, gpu=self._device.gpu, **values)]


_VALUE_FIELDS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}


def _field_value(answer: Any) -> int:
    """The member of the union that the answer says it is."""
    return int(getattr(answer.value, _VALUE_FIELDS.get(answer.valueType, "ullVal")))
