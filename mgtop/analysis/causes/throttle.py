"""The GPU's clocks were held down, for heat or for power.

The driver counts for how long, by reason. The counters are read about once a second, so
what they show lies somewhere around the interval, and a lower clock only stretches the
work: an upper bound within the compute spans. What is usual is taken off; a card that runs
at its power limit all day does so in good frames too.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.evidence import Claim, Finding, TailWindow, matters, strongest
from mgtop.wire.records import GpuThrottle

NAME = "throttle"
LETTER = "T"
SUMMARY = "lowered GPU clocks"
REMEDY = (
    "Look at the temperature, the power limit and the airflow; a lower power limit held all "
    "the time is steadier than one that is hit now and then."
)
ORDER = 70

SOURCE = "nvml throttle counters"
HISTORY = 240
REASONS = ("power_cap_ns", "thermal_sw_ns", "thermal_hw_ns", "power_brake_ns", "sync_boost_ns")


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time with lowered clocks between the readings that enclose the interval."""
    profile = channels.profile(window)
    has_compute = profile.has_spans("compute")
    devices = channels.devices.of_target()
    return strongest(_device(window, device, has_compute) for device in devices) or Finding(
        state="not_resolved"
    )


def _device(window: TailWindow, device: Device, has_compute: bool) -> Finding:
    before, after = device.throttle.at(window.begin_ns), device.throttle.after(window.end_ns)
    if before is None or after is None:
        return Finding(state="not_resolved", source=SOURCE if len(device.throttle) else None)
    step = _step(before, after)
    period = after.t_ns - before.t_ns
    if step is None:
        return Finding(state="not_resolved", source=SOURCE, period_ns=period)
    rates = [
        its / (b.t_ns - a.t_ns)
        for a, b in pairwise(list(device.throttle)[-HISTORY:])
        if b.t_ns > a.t_ns and (its := _step(a, b)) is not None
    ]
    beyond = step - (median(rates) if len(rates) > 2 else 0.0) * period
    present = matters(beyond, window)
    return Finding(
        state="present" if present else "absent",
        value=step / 1e6,
        unit="ms",
        source=SOURCE,
        period_ns=period,
        claims=(Claim(beyond, "upper", ("compute",)),) if present and has_compute else (),
    )


def _step(before: GpuThrottle, after: GpuThrottle) -> int | None:
    """The reason that grew most; reasons hold at the same time, so they do not add up."""
    steps = [
        getattr(after, reason) - getattr(before, reason)
        for reason in REASONS
        if getattr(after, reason) is not None and getattr(before, reason) is not None
    ]
    return max(0, *steps) if steps else None
