"""Another program came onto the GPU, or grew there, inside the interval or shortly before.

Seen in three ways, the first of them the quickest: the memory used on the device rose while
the target asked the driver for none and another program was there; a program's memory rose in
the driver's list of processes; or a program that stayed the same worked more than it usually
does, by the driver's figures for single processes (one a second, so that is as near as it can
be told). What the work cost is not told: at most what the compute spans lost. A neighbour
whose work is not told either may work unseen, so with one resident the answer is never
*absent*.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from mgtop.analysis.channels import Channels
from mgtop.analysis.devices import Device
from mgtop.analysis.evidence import Claim, Finding, TailWindow, matters, strongest
from mgtop.analysis.memory_log import MIB
from mgtop.analysis.recent import Recent
from mgtop.analysis.symptoms import memory_period_ns
from mgtop.wire.records import GpuProcessWork, TorchMemory

NAME = "neighbour"
LETTER = "N"
SUMMARY = "another program on the GPU"
REMEDY = "Stop the other program, or give each its own GPU."
ORDER = 65

SOURCE = "nvml processes"
PERIOD_NS = 100_000_000
"""How often the list is read where the source does not say."""
MEMORY_SOURCE = "nvml memory"
MEMORY_PERIOD_NS = 20_000_000
NOTHING = Finding(state="not_resolved")
WORK_SOURCE = "nvml process utilisation"
HISTORY = 240
RECENT_NS = 1_000_000_000
"""A program that came or grew so shortly before, and still holds it, is taken to be at work:
time on the GPU is shared as long as it works, not only in the frame in which it came."""


def measure(window: TailWindow, channels: Channels) -> Finding:
    """What other programs on the target's GPUs took or did, widened by each source's period."""
    profile = channels.profile(window)
    devices = [d for d in channels.devices.of_target() if d.processes]
    if not devices:
        return Finding(state="not_resolved")
    claims = (
        (Claim(profile.around_ns(), "upper", ("compute",)),) if profile.has_spans("compute") else ()
    )
    least = channels.settings.thresholds.vram_drop_mib * MIB
    grown, resident = _grown(window, channels, devices)
    if grown.bytes >= least:
        return Finding(
            state="present",
            value=grown.bytes / MIB,
            unit="MiB",
            source=grown.source,
            period_ns=grown.period_ns,
            began_ns=grown.began_ns,
            claims=claims,
        )
    worked = strongest(_worked(window, device) for device in devices) or NOTHING
    if worked.state == "present":
        return msgspec.structs.replace(worked, claims=claims)
    if resident and worked.value is not None:
        return worked
    return Finding(
        state="not_resolved" if resident else "absent",
        value=grown.bytes / MIB,
        unit="MiB",
        source=SOURCE,
        period_ns=PERIOD_NS,
    )


class Grown(NamedTuple):
    """Bytes that neighbours gained, since when, and who says so."""

    bytes: int
    began_ns: int | None
    source: str
    period_ns: int


def _grown(window: TailWindow, channels: Channels, devices: Sequence[Device]) -> tuple[Grown, bool]:
    """The largest growth, and whether any neighbour was there."""
    most, resident = Grown(0, None, SOURCE, PERIOD_NS), False
    for device in devices:
        its, at_ns, any_here = _growth(window, device)
        resident = resident or any_here
        found = [Grown(its, at_ns, SOURCE, PERIOD_NS)]
        if any_here:
            found.append(_rise(window, channels, device))
        # Readings of the whole device are the finer ones: they have the say where they tell.
        most = max([most, *found], key=lambda grown: (grown.bytes > 0, grown.bytes))
    return most, resident


def _rise(window: TailWindow, channels: Channels, device: Device) -> Grown:
    """How far memory used on the device rose while the target asked the driver for none."""
    nothing = Grown(0, None, MEMORY_SOURCE, MEMORY_PERIOD_NS)
    log = channels.profile(window).log
    begin_ns, end_ns = window.begin_ns - RECENT_NS, window.end_ns
    asked = [_asked(readings, begin_ns, end_ns) for readings in log.torch.values()]
    before = device.memory.at(begin_ns)
    if not asked or any(calls != 0 for calls in asked) or before is None:
        return nothing
    period_ns = memory_period_ns(channels, device) or MEMORY_PERIOD_NS
    rise, began_ns = 0, None
    first = device.memory.at(window.begin_ns - period_ns)
    inside = device.memory.between(window.begin_ns - period_ns, end_ns + period_ns)
    # Memory that came in the last second and is held counts; so does what comes now.
    for reading in [*([first] if first is not None else []), *inside]:
        if reading.used_bytes - before.used_bytes > rise:
            rise = reading.used_bytes - before.used_bytes
            began_ns = reading.t_ns if began_ns is None else min(began_ns, reading.t_ns)
    return Grown(rise, began_ns, MEMORY_SOURCE, period_ns)


def _asked(readings: Recent[TorchMemory], begin_ns: int, end_ns: int) -> int | None:
    """Calls by which the target's allocator got memory from the driver; None: not known."""
    before, after = readings.at(begin_ns), readings.after(end_ns)
    if before is None or after is None:
        return None
    return after.driver_allocs - before.driver_allocs


def _worked(window: TailWindow, device: Device) -> Finding:
    """Whether a neighbour's share of the GPU's time was beyond what is usual for it."""
    findings = []
    for log in device.process_work.values():
        last, after = log.last(), log.after(window.end_ns) or log.last()
        if last is None or after is None or last.relation != "neighbour":
            continue
        readings = [r for r in log.between(window.begin_ns, after.t_ns) if _overlaps(r, window)]
        if not readings:
            continue
        reading = max(readings, key=lambda r: r.sm_percent)
        usual = median(r.sm_percent for r in list(log)[-HISTORY:])
        beyond_ns = (reading.sm_percent - usual) / 100.0 * reading.period_ns
        findings.append(
            Finding(
                state="present" if matters(beyond_ns, window) else "absent",
                value=float(reading.sm_percent),
                unit="%",
                source=WORK_SOURCE,
                period_ns=reading.period_ns,
                began_ns=reading.t_ns - reading.period_ns,
            )
        )
    return strongest(findings) or Finding(state="not_resolved", source=WORK_SOURCE)


def _overlaps(reading: GpuProcessWork, window: TailWindow) -> bool:
    return reading.t_ns - reading.period_ns < window.end_ns and reading.t_ns > window.begin_ns


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
