"""The driver moved GPU memory to system memory, since the card was full.

Drivers do that on Windows and under WSL2, without any error: memory stands at the limit and
a step takes a multiple of its usual time. On plain Linux they do not.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow
from mgtop.analysis.symptoms import memory_period_ns

NAME = "spill"
LETTER = "L"
SUMMARY = "GPU memory spilling into system memory"
REMEDY = (
    "Lower the resolution by one notch until memory stays below the limit; switch the "
    "driver's fallback to system memory off."
)
ORDER = 60

MULTIPLE = 2.0


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Memory at the limit, the step a multiple of before, and a driver that spills."""
    profile = channels.profile(window)
    system = " ".join(str(channels.environment.get(key, "")) for key in ("os", "kernel")).lower()
    if not system.strip():
        return Finding(state="not_resolved")
    if not any(word in system for word in ("microsoft", "wsl", "windows")):
        return Finding(state="absent", source="operating system")
    fullest: float | None = None
    period: int | None = None
    for device in channels.devices.of_target():
        reading = device.memory.at(window.end_ns)
        if reading is not None and device.total_bytes:
            fullest = max(fullest or 0.0, reading.used_bytes / device.total_bytes)
            period = memory_period_ns(channels, device)
    if fullest is None:
        return Finding(state="not_resolved")
    compute, usual = profile.get("compute"), profile.usual("compute")
    slower = compute is not None and usual is not None and compute >= MULTIPLE * usual > 0
    full = fullest >= channels.settings.thresholds.memory_share
    return Finding(
        state="present" if full and slower else "absent",
        value=100.0 * fullest,
        unit="% of memory",
        source="nvml memory",
        period_ns=period,
        claims=(Claim(profile.around_ns(), "upper", ("compute",)),) if full and slower else (),
    )
