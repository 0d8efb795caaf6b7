"""Memory, clocks, power, temperature, ECC and clock-event counters of one device."""

from __future__ import annotations

from typing import Any

from mgtop.record.nvml.calls import Calls
from mgtop.record.nvml.devices import MOST_BYTES, Device
from mgtop.record.schedule import MetricGone, NoValue, SourceLost, Unchanged
from mgtop.wire.records import GpuMemory, GpuState, GpuThrottle, Record


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
    """

    def __init__(self, calls: Calls, device: Device) -> None:
        self._calls, self._device = calls, device
        self._news = Unchanged()
        reasons = "nvmlDeviceGetCurrentClocksEventReasons"
        handle = device.handle
        self._fields: dict[str, tuple[Any, ...]] = {
            "sm_mhz": ("nvmlDeviceGetClockInfo", handle, calls.constant("NVML_CLOCK_SM", 1)),
            "memory_mhz": ("nvmlDeviceGetClockInfo", handle, calls.constant("NVML_CLOCK_MEM", 2)),
            "power_mw": ("nvmlDeviceGetPowerUsage", handle),
            "temperature_c": _temperature(calls, handle),
            "clock_event_reasons": (reasons, handle),
            "power_limit_mw": ("nvmlDeviceGetEnforcedPowerLimit", handle),
        }
        self.missing: dict[str, str] = {}

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        values: dict[str, int] = {}
        for field, call in list(self._fields.items()):
            try:
                values[field] = int(self._calls(*call))
            except NoValue:
                continue
            except MetricGone as gone:
                if field == "clock_event_reasons" and call[0].endswith("EventReasons"):
                    # Drivers before 535 know the call by its old name only.
                    old = "nvmlDeviceGetCurrentClocksThrottleReasons"
                    self._fields[field] = (old, *call[1:])
                    continue
                self.missing[field] = str(gone)
                del self._fields[field]
        if not self._fields:
            raise MetricGone("no clock, power or temperature reading is supported")
        if not self._news.is_news("state", values, now_ns):
            return []
        return [GpuState(t_ns=now_ns, gpu=self._device.gpu, **values)]


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

    def __call__(self, now_ns: int) -> list[Record]:
        """Read once; see the class."""
        answers = self._calls("nvmlDeviceGetFieldValues", self._device.handle, self._ids)
        values: dict[str, int] = {}
        for (field, _name, _number), answer in zip(self.FIELDS, answers, strict=False):
            if answer.nvmlReturn == 0:
                values[field] = _field_value(answer)
        if not values:
            raise MetricGone("this driver has no clock-event time counters")
        if not self._news.is_news("throttle", values, now_ns):
            return []
        return [GpuThrottle(t_ns=now_ns, gpu=self._device.gpu, **values)]


_VALUE_FIELDS = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}


def _field_value(answer: Any) -> int:
    """The member of the union that the answer says it is."""
    return int(getattr(answer.value, _VALUE_FIELDS.get(answer.valueType, "ullVal")))
