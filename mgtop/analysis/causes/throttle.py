"""The GPU's clocks were held down, for heat or for power.

The driver counts for how long, by reason. The counters are read about once a second, so
what they show lies somewhere around the interval, and a lower clock only stretches the
work: an upper bound within the compute spans. What is usual is taken off; a card that runs
at its power limit all day does so in good frames too. And a clock that fell by a tenth makes
the GPU's work a tenth longer, not twice as long: where clocks are read, no more is claimed
than they account for.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import mean, median

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.evidence import Claim, Finding, TailWindow, matters, strongest
from mgtop.analysis.summary import EvidenceState
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
CLOCK_NS, WIDE_NS = 500_000_000, 3_000_000_000
"""How far from the interval a reading of the clock still speaks of it: its period; and where
readings were thinned, since the driver was busy."""
REASONS = ("power_cap_ns", "thermal_sw_ns", "thermal_hw_ns", "power_brake_ns", "sync_boost_ns")


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time with lowered clocks between the readings that enclose the interval."""
    profile = channels.profile(window)
    has_compute = profile.has_spans("compute")
    devices = channels.devices.of_target()
    work_ns = max(profile.get("gpu_busy") or 0, profile.get("compute") or 0)
    return strongest(
        _device(window, device, has_compute, work_ns) for device in devices
    ) or Finding(state="not_resolved")


def _device(window: TailWindow, device: Device, has_compute: bool, work_ns: int) -> Finding:
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
    state: EvidenceState = "present" if matters(beyond, window) else "absent"
    if state == "present" and any(reading.sm_mhz for reading in device.state):
        lowered = _lowered(window, device)
        beyond = min(beyond, (lowered or 0.0) * work_ns)
        if not matters(beyond, window):
            state = "not_resolved" if lowered is None else "absent"
    return Finding(
        state=state,
        value=step / 1e6,
        unit="ms",
        source=SOURCE,
        period_ns=period,
        claims=(Claim(beyond, "upper", ("compute",)),)
        if state == "present" and has_compute
        else (),
    )


def _lowered(window: TailWindow, device: Device) -> float | None:
    """By which share the clock was below its usual; None: there is nothing to compare.

    Work of so many cycles takes usual / now times as long as usual.
    """
    usual = [s.sm_mhz for s in list(device.state)[-HISTORY:] if s.sm_mhz]
    near = device.state.between(window.begin_ns - CLOCK_NS, window.end_ns + CLOCK_NS)
    around = near or device.state.between(window.begin_ns - WIDE_NS, window.end_ns + WIDE_NS)
    now = [s.sm_mhz for s in around if s.sm_mhz]
    if not now or len(usual) < 3:
        return None
    return max(0.0, 1.0 - mean(now) / median(usual))


def _step(before: GpuThrottle, after: GpuThrottle) -> int | None:
    """The reason that grew most; reasons hold at the same time, so they do not add up."""
    steps = [
        getattr(after, reason) - getattr(before, reason)
        for reason in REASONS
        if getattr(after, reason) is not None and getattr(before, reason) is not None
    ]
    return max(0, *steps) if steps else None
