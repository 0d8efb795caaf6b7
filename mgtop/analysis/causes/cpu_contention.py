"""The emitting thread, or the one that ran the model, waited for a core.

The kernel counts the time for which a thread was ready and had no core (run-queue delay);
a throttled cgroup shows there too. Major faults stop a thread until a page is read from
disk: they are counted, not timed, and bounded by what a read can cost. On the CPU a step may
also wait for worker threads, as it then usually does for a moment; their delay is read from
outside, and is a bound. In a virtual machine the host can take the core itself away (steal
time): the thread then seems to stand still, which is bounded by what was stolen around it.
"""

from __future__ import annotations

import msgspec

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Claim, Finding, TailWindow, matters
from mgtop.analysis.profile import Profile
from mgtop.wire.records import pid_of

NAME = "cpu_contention"
LETTER = "P"
SUMMARY = "waiting for a CPU core"
REMEDY = (
    "Give the program cores of its own: fewer worker threads (OMP_NUM_THREADS), no other load "
    "on the machine, a larger CPU quota of its container."
)
ORDER = 40

WAITS = 0.02
"""A step that shares its work with other threads always waits a little for the last of them:
at least this share of its time."""
FAULT_NS = 40_000_000
"""The longest that one major fault is believed to take. A seek of a busy disk takes 20 ms; under
memory pressure, with pages to be freed first and others read ahead, single ones took 85."""


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Run-queue delay beyond the usual; then faults, worker threads and throttling."""
    profile = channels.profile(window)
    delay, beyond = profile.get("delay"), profile.beyond("delay")
    faults = profile.beyond("faults") or 0.0
    workers = _workers(window, channels, profile)
    stolen, period = channels.host.stolen_ns(window.begin_ns, window.end_ns) or (None, None)
    found = [
        (Claim(beyond or 0.0), _timed(delay, "schedstat")),
        (
            Claim(faults * FAULT_NS, "upper", ("off",)),
            Finding(
                state="present",
                value=profile.get("faults"),
                unit="major faults",
                source="rusage",
            ),
        ),
        (Claim(workers or 0.0, "upper", ("off", "off_compute")), _timed(workers, "schedstat")),
        (Claim(stolen or 0.0, "upper", ("off",)), _timed(stolen, "steal time", period)),
    ]
    found = [(claim, finding) for claim, finding in found if matters(claim.ns, window)]
    if found:
        off = profile.off_beyond()
        # The row shows what explains most; bounds of what waited no longer than it did.
        _, most = max(found, key=lambda item: _at_most(item[0], off))
        return msgspec.structs.replace(most, claims=tuple(claim for claim, _ in found))
    if beyond is not None:
        return Finding(state="absent", value=(delay or 0) / 1e6, unit="ms", source="schedstat")
    return _throttled(window, channels)


def _timed(ns: float | None, source: str, period_ns: int | None = None) -> Finding:
    return Finding(
        state="present",
        value=(ns or 0.0) / 1e6,
        unit="ms",
        source=source,
        period_ns=period_ns,
    )


def _at_most(claim: Claim, off_ns: float | None) -> float:
    return min(claim.ns, off_ns) if claim.within and off_ns is not None else claim.ns


def _workers(window: TailWindow, channels: Channels, profile: Profile) -> float | None:
    """What another thread of the process waited for a core, where steps wait for threads."""
    if channels.uses_gpu(window.proc) or not profile.off_compute_beyond():
        return None
    usually = profile.usual("off_compute") or 0.0
    if usually < WAITS * (profile.usual("compute") or 0.0):
        return None
    # A thread with spans or frames of its own has work of its own.
    busy_otherwise = {window.tid, *profile.log.threads}
    return channels.host.others_delay_ns(
        pid_of(window.proc), busy_otherwise, window.begin_ns, window.end_ns
    )


def _throttled(window: TailWindow, channels: Channels) -> Finding:
    """Without the thread's own delay: whether the cgroup's quota was used up."""
    before = channels.host.cgroup.at(window.begin_ns)
    after = channels.host.cgroup.after(window.end_ns)
    if before is None or after is None:
        return Finding(state="not_resolved")
    step = after.throttled_ns - before.throttled_ns
    period = after.t_ns - before.t_ns
    if not matters(step, window):
        # The quota left the thread alone, but whom else it waited for is not known.
        return Finding(state="not_resolved", source="cgroup", period_ns=period)
    return Finding(
        state="present",
        value=step / 1e6,
        unit="ms",
        source="cgroup",
        period_ns=period,
        claims=(Claim(step, "upper", ("off",)),),
    )
