"""Another program came onto the GPU, or grew there, inside the interval or shortly before.

Seen in the driver's list of processes. What its work cost is not told: at most what the
compute spans lost. A neighbour whose memory stays the same may work unseen, so with one
resident the answer is never *absent*.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.evidence import Claim, Finding, TailWindow
from mgtop.analysis.memory_log import MIB

NAME = "neighbour"
LETTER = "N"
SUMMARY = "another program on the GPU"
REMEDY = "Stop the other program, or give each its own GPU."
ORDER = 65

SOURCE = "nvml processes"
PERIOD_NS = 100_000_000
"""How often the list is read where the source does not say."""
RECENT_NS = 1_000_000_000
"""A program that came or grew so shortly before, and still holds it, is taken to be at work:
time on the GPU is shared as long as it works, not only in the frame in which it came."""


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Growth of other programs on the target's GPUs, widened by the list's period."""
    profile = channels.profile(window)
    devices = [d for d in channels.devices.of_target() if d.processes]
    if not devices:
        return Finding(state="not_resolved")
    grown, began_ns, resident = 0, None, False
    for device in devices:
        its, at_ns, any_here = _growth(window, device)
        resident = resident or any_here
        if its > grown:
            grown, began_ns = its, at_ns
    if grown >= channels.settings.thresholds.vram_drop_mib * MIB:
        return Finding(
            state="present",
            value=grown / MIB,
            unit="MiB",
            source=SOURCE,
            period_ns=PERIOD_NS,
            began_ns=began_ns,
            claims=(Claim(profile.around_ns(), "upper", ("compute",)),)
            if profile.has_spans("compute")
            else (),
        )
    return Finding(
        state="not_resolved" if resident else "absent",
        value=grown / MIB,
        unit="MiB",
        source=SOURCE,
        period_ns=PERIOD_NS,
    )


def _growth(window: TailWindow, device: Device) -> tuple[int, int | None, bool]:
    """Bytes that neighbours gained, since when, and whether any was there."""
    grown, began_ns, resident = 0, None, False
    # Who was there when the list was first read did not come then.
    firsts = [next(iter(log)).t_ns for log in device.processes.values() if len(log)]
    listed_ns = min(firsts, default=0) + PERIOD_NS
    for log in device.processes.values():
        last = log.last()
        if last is None or last.relation != "neighbour":
            continue
        before = log.at(max(window.begin_ns - RECENT_NS, listed_ns))
        had = before.used_bytes if before is not None else 0
        resident = resident or bool(had)
        at_begin = log.at(window.begin_ns - PERIOD_NS)
        readings = log.between(window.begin_ns - PERIOD_NS, window.end_ns + PERIOD_NS)
        for reading in [*([at_begin] if at_begin is not None else []), *readings]:
            if reading.used_bytes is None or had is None:
                continue
            resident = resident or reading.used_bytes > 0
            if reading.used_bytes - had > grown:
                grown = reading.used_bytes - had
                began_ns = reading.t_ns if began_ns is None else min(began_ns, reading.t_ns)
    return grown, began_ns, resident
