"""The emitting thread neither ran nor waited for a core: a lock, I/O, the network, a sleep.

What is left of the interval without CPU time and run-queue delay, beyond its usual amount,
and outside spans of supply and output (a wait inside ``write`` is output). Waiting for the
GPU looks the same from the CPU. So with CUDA in use it takes evidence that the GPU had no
work; without any, only waiting outside compute spans counts, in a program that does not
usually wait there, and as an upper bound. And a thread that always waits, in a program that
names no step of its model, may be waiting for one that works: nothing is claimed then.

A process that a signal had stopped (SIGSTOP, Ctrl-Z) stood still whatever it was at, and said
nothing of it; the recorder saw it.
"""

from __future__ import annotations

from mgtop.analysis.channels import Channels
from mgtop.analysis.evidence import Bound, Claim, Finding, TailWindow, matters
from mgtop.analysis.profile import Profile
from mgtop.analysis.summary import EvidenceState
from mgtop.analysis.symptoms import gpu_idle

NAME = "blocked"
LETTER = "B"
SUMMARY = "waiting without working (a lock, I/O, the network, a sleep)"
REMEDY = (
    "Find the wait in the emitting thread: a lock, a network or disk call, a sleep. `py-spy "
    "dump` in a stall names the line."
)
ORDER = 75

SOURCE = "schedstat, thread CPU time"
STOPPED = "the process was stopped"
SELDOM = 0.1
"""A program that spends less than this share of its interval waiting (outside its compute
spans, where it has some) does not usually wait for the GPU or for another thread there."""


def measure(window: TailWindow, channels: Channels) -> Finding:
    """Time in which the process was stopped by a signal; then, off a core for no known reason."""
    profile = channels.profile(window)
    stopped = profile.beyond("stopped")
    if stopped is None or not matters(stopped, window):
        return _waiting(window, channels, profile)
    waiting = _waiting(window, channels, profile)
    return Finding(
        state="present",
        value=((profile.get("stopped") or 0) + (profile.get("off") or 0)) / 1e6,
        unit="ms",
        source=STOPPED,
        claims=(Claim(stopped), *waiting.claims),
    )


def _waiting(window: TailWindow, channels: Channels, profile: Profile) -> Finding:
    off, beyond = profile.get("off"), profile.off_beyond()
    if off is None or beyond is None:
        return Finding(state="not_resolved", source=None if off is None else SOURCE)
    if not matters(beyond, window):
        return _finding("absent", off)
    if not profile.has_spans("compute") and not _seldom_waits(window, profile):
        # It may wait for another thread of the program, of which nobody says what it does.
        return _finding("not_resolved", off)
    bound: Bound = "exact"
    if channels.uses_gpu(window.proc):
        idle_ns = _gpu_idle_ns(window, channels, profile)
        if idle_ns is not None:
            beyond = min(beyond, idle_ns)
        else:
            bound = "upper"
            allowed = _outside_compute(window, profile)
            if allowed is None or not matters(allowed, window):
                return _finding("not_resolved", off)
            beyond = min(beyond, allowed)
    if not matters(beyond, window):
        return _finding("absent", off)
    return _finding("present", off, Claim(beyond, bound, ("off",)))


def _finding(state: EvidenceState, off_ns: int, *claims: Claim) -> Finding:
    return Finding(state=state, value=off_ns / 1e6, unit="ms", source=SOURCE, claims=claims)


def _gpu_idle_ns(window: TailWindow, channels: Channels, profile: Profile) -> float | None:
    """How long the GPU had no work, beyond the usual; None: nothing tells."""
    if profile.get("gpu_gap") is not None:
        return profile.beyond("gpu_gap")
    idle = gpu_idle(window, channels)
    if idle.state == "absent":
        return 0.0
    return idle.value * 1e6 if idle.state == "present" and idle.value is not None else None


def _seldom_waits(window: TailWindow, profile: Profile) -> bool:
    return (profile.usual("off") or 0.0) <= SELDOM * window.median_ns


def _outside_compute(window: TailWindow, profile: Profile) -> float | None:
    """Waiting outside compute spans beyond the usual; None: the GPU may be waited for there."""
    usual, inside = profile.usual("off"), profile.usual("off_compute")
    if usual is None or inside is None or not profile.has_spans("compute"):
        return None
    if usual - inside > SELDOM * window.median_ns:
        return None
    now = (profile.get("off") or 0) - (profile.get("off_compute") or 0)
    return max(0.0, now - (usual - inside))
